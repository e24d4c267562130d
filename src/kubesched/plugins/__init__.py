"""The in-tree plugins, one module or folder each. They do not import each other."""
