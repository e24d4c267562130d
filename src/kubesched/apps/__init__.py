"""What is made of a scheduler: one package per product, each a thin layer over `scheduler`, `client` and `cluster`.

    run/         schedules the pods of a real cluster, in the place of kube-scheduler or beside it
    up/          a whole cluster on this machine, with its scheduler
    simulate/    a scheduler as a library: virtual clock, memory in the API server's place
    page/        a cluster in a browser: map, queue, decisions, what-if
    explain/     why a pod is where it is, or nowhere, and what would help
    inputs/      where the objects that a command works on come from: a cluster, files, standard input
    bench/       measured          conformance   compared with recorded decisions

No rule of scheduling is here, nor how anything looks on a terminal: that is `cli`'s.
"""
