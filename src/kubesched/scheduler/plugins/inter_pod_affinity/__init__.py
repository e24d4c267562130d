"""InterPodAffinity: keep pods near to, or away from, other pods.

terms       an incoming pod's terms, with their namespaces resolved
plan        what must be counted for a pod template, and the counts
filtering   required terms: of the pod, and required anti-affinity of placed pods
scoring     preferred terms of both, and required affinity of placed pods
changes     which nodes' answers change with a few pods more or less
hints       events that may help a rejected pod
"""

from kubesched.scheduler.plugins.inter_pod_affinity.plugin import InterPodAffinity

__all__ = ["InterPodAffinity"]
