"""What other stored objects have to say about a written one: admission plugins, one class per resource that has any.

The catalog names them (`Rules.admission`); `chain` calls them.
"""
