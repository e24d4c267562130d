"""The way of a pod: event handlers, the loop, the scheduling cycle, the binding cycle, and what follows a failure.

Here the steps stand in their order (docs/way-of-a-pod.md), and each is taken by somebody else: `state` remembers,
`engine` compares, `runtime` calls plugins. Nothing here knows where objects come from or how they are written.
"""
