"""The scheduler itself: a pod's way from the queue to its node. Nothing here knows an API server or a terminal.

    scheduling   the way of a pod: event handlers, the loop, scheduling and binding cycles, failures
    engine       one pod against all nodes: filters and scores over columns, and what is remembered of them
    runtime      a profile: its plugins, and the calling of every extension point after Score
    plugins      the in-tree plugins
    state        the cache (what is where), the queue (what waits), nominations
    framework    the contract that plugins are written against; its public names are `kubesched.framework`
    columns      nodes and placed pods as arrays

`build` wires these into a scheduler, and nothing else does; `plugin_loading` finds the plugins that a configuration
names. What is made of a scheduler (a process, a simulation, an explanation) is in `kubesched.apps`.
"""
