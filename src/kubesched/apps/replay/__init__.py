"""`kubesched replay` and `kubesched compare`: what a cluster's pods would have got from other configurations.

    workload   from a trace to what happens by itself: objects, and the life of every pod
    replay     runs it on the virtual clock, under one configuration with one seed
    moved      pods that two configurations place differently, and the plugin that makes the difference

The rules (who arrives when, who runs how long, who comes back) are one page: docs/replay.md.
"""
