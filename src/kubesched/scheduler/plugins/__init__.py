"""The in-tree plugins, one module or folder each; `registry` names them all.

They do not import each other. What several of them need is in `support/`, and what every plugin could need is in
`columns` or `framework`. A plugin knows the scheduler through its `Handle` only, so that one from elsewhere can do
whatever these can.
"""
