"""The only place that wires parts together: a scheduler (`build`), and what is made of one.

    run*        against a real cluster        simulation   as a library, with a virtual clock
    up*         with a cluster of its own     explain      why a pod is where it is, or is not
    bench/      measured                      conformance  compared with recorded decisions

No rule of scheduling is here, nor how anything is shown on a terminal: that is `cli`'s.
"""
