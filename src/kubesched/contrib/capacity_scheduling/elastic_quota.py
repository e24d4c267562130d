"""ElasticQuota of scheduling.x-k8s.io/v1alpha1. A namespace has one; of several the first counts."""

from __future__ import annotations

from kubesched.framework import CustomObject, CustomResource, KubeStruct, Quantity


class ElasticQuotaSpec(KubeStruct):
    """`min` is guaranteed and `max` the limit, of every resource that they name; of others there is nothing."""

    min: dict[str, Quantity] | None = None
    max: dict[str, Quantity] | None = None


class ElasticQuotaStatus(KubeStruct):
    used: dict[str, Quantity] = {}


class ElasticQuota(CustomObject):
    resource = CustomResource("scheduling.x-k8s.io/v1alpha1", "elasticquotas")

    spec: ElasticQuotaSpec = ElasticQuotaSpec()
    status: ElasticQuotaStatus = ElasticQuotaStatus()
