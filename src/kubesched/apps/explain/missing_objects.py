"""Objects that a pod or its claims name that do not exist or cannot be used yet, each as an instruction."""

from __future__ import annotations

from collections.abc import Iterator

from kubesched.objects import DeviceClass, PersistentVolume, PersistentVolumeClaim, Pod, ResourceClaim, StorageClass
from kubesched.scheduler.framework.listers import ObjectStores


def missing_objects(objects: ObjectStores, pod: Pod) -> Iterator[str]:
    """What to create, bind or remove before any node can take the pod; nothing if it waits for none of these."""
    for gate in pod.spec.scheduling_gates:
        yield f"remove its scheduling gate {gate.name}, as whoever set it does when the pod may be scheduled"
    for volume in pod.spec.volumes:
        if (source := volume.persistent_volume_claim) is not None:
            yield from _of_claim(objects, f"{pod.metadata.namespace}/{source.claim_name}")
    for claim in pod.spec.resource_claims:
        if claim.resource_claim_name is not None:
            yield from _of_resource_claim(objects, f"{pod.metadata.namespace}/{claim.resource_claim_name}")
        elif claim.resource_claim_template_name is not None:
            made = {status.name for status in pod.status.resource_claim_statuses}
            if claim.name not in made:
                template = f"{pod.metadata.namespace}/{claim.resource_claim_template_name}"
                yield f"see that the ResourceClaimTemplate {template} exists: its claim for the pod is not created yet"


def _of_claim(objects: ObjectStores, key: str) -> Iterator[str]:
    claim = objects.of(PersistentVolumeClaim).get(key)
    if claim is None:
        yield f"create the PersistentVolumeClaim {key}: it does not exist"
        return
    if claim.metadata.deletion_timestamp is not None:
        yield f"create the PersistentVolumeClaim {key} again: it is being deleted"
        return
    if name := claim.spec.volume_name:
        if objects.of(PersistentVolume).get(name) is None:
            yield f"restore the PersistentVolume {name}, which the claim {key} is bound to: it does not exist"
        return
    wanted = claim.spec.storage_class_name
    storage_class = objects.of(StorageClass).get(wanted) if wanted else None
    if wanted and storage_class is None:
        yield f"create the StorageClass {wanted}, which the PersistentVolumeClaim {key} names: it does not exist"
    elif storage_class is None or storage_class.volume_binding_mode != "WaitForFirstConsumer":
        yield f"bind the PersistentVolumeClaim {key}: it has no volume yet (kubectl describe pvc says why)"


def _of_resource_claim(objects: ObjectStores, key: str) -> Iterator[str]:
    claim = objects.of(ResourceClaim).get(key)
    if claim is None:
        yield f"create the ResourceClaim {key}: it does not exist"
        return
    for request in claim.spec.devices.requests:
        name = request.exactly.device_class_name if request.exactly is not None else ""
        if name and objects.of(DeviceClass).get(name) is None:
            yield f"create the DeviceClass {name}, which the ResourceClaim {key} names: it does not exist"
