"""Plugins that people run besides the in-tree ones: on `kubesched.framework` only, as anybody's are.

    gpu_sharing                 several pods on one GPU, and policies that choose node and device

    coscheduling                the pods of a group get their nodes together, or none does
    capacity_scheduling         quotas of namespaces that may be lent
    trimaran                    nodes by what they are measured to use
    node_resource_topology      nodes whose NUMA zones have room for a pod
    node_resources_allocatable  nodes with little, or with much, to offer first
    preemption_toleration       pods that tolerate being preempted for a while, or for good
    pod_state                   nodes that pods are leaving first
    qos_sort                    among pods of equal priority the better quality of service first

All but the first have the names, the arguments and the decisions of kubernetes-sigs/scheduler-plugins v0.34: a
configuration file of theirs works unchanged (docs/contrib/). What does not belong here: anything that the scheduler
itself needs, and plugins that kube-scheduler has.
"""
