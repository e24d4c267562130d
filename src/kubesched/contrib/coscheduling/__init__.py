"""Coscheduling: the pods of a PodGroup (scheduling.x-k8s.io) get their nodes together, or none does.

pod_group    the custom resource, and how a pod names its group
members      who belongs to a group, who has a node, and what is remembered of groups for a while
shortage     whether the cluster has what a group needs at least
plugin       the extension points
"""

from kubesched.contrib.coscheduling.plugin import Coscheduling
from kubesched.contrib.coscheduling.pod_group import POD_GROUP_LABEL, PodGroup

__all__ = ["POD_GROUP_LABEL", "Coscheduling", "PodGroup"]
