"""Devices of benchmark nodes, and claims of benchmark pods (what a driver and the claim controller would make)."""

from __future__ import annotations

from msgspec.structs import replace

from kubesched.assembly.bench.target import Target
from kubesched.objects import (
    ObjectMeta,
    OwnerReference,
    Pod,
    PodResourceClaimStatus,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
    convert,
)


def device_slice(driver: str, node_name: str, devices: int) -> ResourceSlice:
    """A node's devices, with the attributes that scheduler_perf's test driver gives them."""
    return convert(
        {
            "metadata": {"name": node_name},
            "spec": {
                "driver": driver,
                "nodeName": node_name,
                "pool": {"name": node_name, "resourceSliceCount": 1},
                "devices": [
                    {
                        "name": f"instance-{index}",
                        "attributes": {
                            "model": {"string": "A100"},
                            "family": {"string": "GPU"},
                            "driverVersion": {"version": "1.2.3"},
                            "dra.example.com/numa": {"int": index},
                        },
                        "capacity": {"memory": {"value": "1Gi"}},
                    }
                    for index in range(devices)
                ],
            },
        },
        ResourceSlice,
    )


def claims_for(pod: Pod, target: Target) -> tuple[list[ResourceClaim], Pod]:
    """The claims made from a pod's claim templates, and the pod with their names in its status."""
    templates = {t.metadata.key: t for t in target.listed(ResourceClaimTemplate)}
    claims, statuses = [], []
    owner = OwnerReference(api_version="v1", kind="Pod", name=pod.metadata.name, uid=pod.metadata.uid, controller=True)
    for claim in pod.spec.resource_claims:
        if not claim.resource_claim_template_name:
            continue
        source = templates[f"{pod.metadata.namespace}/{claim.resource_claim_template_name}"]
        name = f"{pod.metadata.name}-{claim.name}"
        metadata = ObjectMeta(name=name, namespace=pod.metadata.namespace, owner_references=(owner,))
        claims.append(ResourceClaim(metadata=metadata, spec=source.spec.spec))
        statuses.append(PodResourceClaimStatus(name=claim.name, resource_claim_name=name))
    status = replace(pod.status, resource_claim_statuses=tuple(statuses))
    return claims, replace(pod, status=status)
