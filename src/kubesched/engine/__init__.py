"""One pod against all nodes: filters and scores over columns, reuse of what did not change, host selection."""
