"""Answers before you act: what would happen to a cluster, found out by the scheduler itself.

    state          a simulated cluster at a moment, with what controllers and the Eviction API would do in it
    hypotheses     what might be done to it: Drain, Remove, Cordon, AddNodes, Scale, …
    what_if        a run from a state with hypotheses, and its report
    each           the same for every node, zone or label value, ranked by damage
    capacity       how many more pods fit, and what that would need
    rollout        a node upgrade in virtual time
    defrag         the fewest moves that reach a goal, in an order that is legal at every moment

Nothing here changes a cluster, but for `defrag.execution`, which is asked to.
"""
