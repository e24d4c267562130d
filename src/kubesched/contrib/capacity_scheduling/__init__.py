"""CapacityScheduling: elastic quotas of namespaces. What one does not use, others may borrow, until it wants it back.

elastic_quota   the custom resource
amounts         resources as quotas count them, and what a pod asks for
quotas          min, max and usage of every namespace that has a quota
giving_back     whom to evict so that a pod gets what its quota guarantees
plugin          the extension points
"""

from kubesched.contrib.capacity_scheduling.elastic_quota import ElasticQuota
from kubesched.contrib.capacity_scheduling.plugin import CapacityScheduling

__all__ = ["CapacityScheduling", "ElasticQuota"]
