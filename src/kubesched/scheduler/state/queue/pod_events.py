"""What an update of a pod amounts to, as cluster events (PodSchedulingPropertiesChange)."""

from __future__ import annotations

from kubesched.objects import Pod
from kubesched.objects.pod_resources import ResourceFeatures, pod_requests
from kubesched.scheduler.framework import Action, ClusterEvent, Resource


def pod_events(old: Pod, new: Pod, features: ResourceFeatures) -> tuple[ClusterEvent, ...]:
    """At least one event: the general update, if nothing happened that has a name of its own."""
    resource = Resource.ASSIGNED_POD if new.spec.node_name else Resource.UNSCHEDULABLE_POD
    changes = (
        (Action.UPDATE_POD_LABEL, old.metadata.labels != new.metadata.labels),
        (Action.UPDATE_POD_SCALE_DOWN, _is_scaled_down(old, new, features)),
        (Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, old.spec.scheduling_gates and not new.spec.scheduling_gates),
        # The API server lets tolerations be added, but neither changed nor removed: comparing their number is enough.
        (Action.UPDATE_POD_TOLERATION, len(old.spec.tolerations) != len(new.spec.tolerations)),
        (Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM, _generated_claims(old) != _generated_claims(new)),
    )
    actions = [action for action, happened in changes if happened] or [Action.UPDATE]
    return tuple(ClusterEvent(resource, action) for action in actions)


def _is_scaled_down(old: Pod, new: Pod, features: ResourceFeatures) -> bool:
    """Whether the pod asks for less of any resource than before."""
    if _sizes(old) == _sizes(new):
        return False
    before = pod_requests(old, use_status=features.in_place_resize, features=features)
    after = pod_requests(new, use_status=features.in_place_resize, features=features)
    return any(name not in after or amount.milli_value() > after[name].milli_value() for name, amount in before.items())


def _sizes(pod: Pod) -> tuple[object, ...]:
    """All that requests are computed from: comparing it is much cheaper than computing them."""
    spec, status = pod.spec, pod.status
    return (
        spec.containers,
        spec.init_containers,
        spec.resources,
        spec.overhead,
        status.container_statuses,
        status.init_container_statuses,
        status.resources,
        status.allocated_resources,
        status.node_allocatable_resource_claim_statuses,
        status.conditions if status.container_statuses or status.resources else (),
    )


def _generated_claims(pod: Pod) -> tuple[object, ...]:
    return (pod.status.resource_claim_statuses, pod.status.extended_resource_claim_status)
