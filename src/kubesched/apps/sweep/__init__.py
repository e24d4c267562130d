"""`kubesched sweep` and `kubesched tune`: many replays, on the cores of this machine or on a Dask cluster.

    spec         what an experiment file says
    policies     configurations with other weights and arguments
    plan         from an experiment to its runs
    run          one run, and what came of it
    shipping     modules of plugins, to processes that do not have them
    worker       does runs, wherever it is
    engines/     where runs are done: this process, local processes, a Dask cluster
    store        results in a folder: what is finished is never repeated
    sweep        drives all of it

An experiment is a grid (or a sample) of traces × policies × node counts × seeds. docs/sweeps.md is the guide.
"""
