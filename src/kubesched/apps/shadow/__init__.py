"""`kubesched shadow`: judges what another scheduler decides, binding by binding. Reads only.

decision_order   from the order in which bindings become known to the order in which they were decided
judge            what our scheduler says of a binding, on the state just before it
session          a live cluster, or a recorded trace, in front of a judge
summary          agreement, loss, and what would explain the difference: as text and as data
metrics          the same while it runs, for Prometheus
"""
