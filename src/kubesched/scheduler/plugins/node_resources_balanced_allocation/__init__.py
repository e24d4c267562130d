"""NodeResourcesBalancedAllocation: prefer nodes whose resources are used evenly with the pod on them."""

from kubesched.scheduler.plugins.node_resources_balanced_allocation.plugin import NodeResourcesBalancedAllocation

__all__ = ["NodeResourcesBalancedAllocation"]
