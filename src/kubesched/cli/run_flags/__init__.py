"""kube-scheduler's flags: `values` (how each type is read and shown), `table` (all flags), `parsing`, `usage` (--help),
`options` (the typed result). `kubesched.cli.flags` is the way in.
"""
