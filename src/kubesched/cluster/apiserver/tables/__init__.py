"""What `kubectl get` shows of each kind: columns and one row per object (`printers/internalversion` upstream)."""
