"""Trimaran: nodes are scored by what they are measured to use, not by what pods request.

load_source       where measurements come from: a load watcher, metrics-server or Prometheus
node_load         measurements of nodes, in columns
pod_usage         what a pod is expected to use
target_load_packing            fill nodes up to a target, and then spread
load_variation_risk_balancing  nodes with little load, and little variation of it
low_risk_overcommitment        nodes where limits above the capacity are least likely to be used
risk_by_load                   how likely pods use more than they request, by node
beta_distribution              how load is distributed that has this average and deviation
peaks                          nodes whose power draw would grow least
"""
