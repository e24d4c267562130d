"""Who owns a pod, and what its owner does when the pod goes."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

from msgspec.structs import replace

from kubesched.apps.inputs.new_nodes import stays_with_node
from kubesched.apps.simulate.simulation import Simulation
from kubesched.errors import ConfigurationError
from kubesched.objects import Pod, ReplicaSet, ResourceClaim
from kubesched.objects.meta import OwnerReference
from kubesched.objects.pod import PodStatus

TEMPLATE_HASH: Final = "pod-template-hash"
DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
SHORT_NAMES: Final = {
    "Deployment": "deploy",
    "ReplicaSet": "rs",
    "StatefulSet": "sts",
    "DaemonSet": "ds",
    "Job": "job",
    "ReplicationController": "rc",
    "PodGroup": "podgroup",
    "Pod": "pod",
    "Node": "node",
}
_KINDS: Final = {
    **{short: kind for kind, short in SHORT_NAMES.items()},
    **{kind.lower(): kind for kind in SHORT_NAMES},
    **{f"{kind.lower()}s": kind for kind in SHORT_NAMES},
    "po": "Pod",
    "no": "Node",
}


class Workload(NamedTuple):
    """What a user scales or deletes; `str` is how kubectl would be told of it."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        what = f"{SHORT_NAMES.get(self.kind, self.kind.lower())}/{self.name}"
        return what if self.namespace in ("", "default") else f"{self.namespace}/{what}"


def parse_workload(text: str) -> Workload:
    """From `kind/name` or `namespace/kind/name`; ConfigurationError."""
    parts = text.split("/")
    namespace, kind, name = ("", *parts) if len(parts) == 2 else parts if len(parts) == 3 else ("", "", "")
    known = _KINDS.get(kind.lower())
    if known is None or not name:
        raise ConfigurationError(
            [f"{text!r} is no workload: write deploy/NAME, sts/NAME, job/NAME or pod/NAME, after NAMESPACE/ if need be"]
        )
    return Workload(known, namespace or ("" if known == "Node" else "default"), name)


def workload_of(pod: Pod, simulation: Simulation) -> Workload | None:
    """The topmost owner that manages the pod; None for a pod that nobody manages."""
    owner = pod.metadata.controller_of
    if owner is None:
        return None
    namespace = pod.metadata.namespace
    if owner.kind == "ReplicaSet":
        above = _deployment(owner, pod, simulation)
        if above:
            return Workload("Deployment", namespace, above)
    return Workload(owner.kind, namespace, owner.name)


def pods_of(workload: Workload, simulation: Simulation) -> list[Pod]:
    """Its pods, sorted by name; a pod is its own."""
    if workload.kind == "Pod":
        pod = simulation.get(Pod, workload.name, workload.namespace)
        return [pod] if pod is not None else []
    pods = (pod for pod in simulation.objects(Pod) if pod.metadata.namespace == workload.namespace)
    if workload.kind == "PodGroup":
        found = [pod for pod in pods if (g := pod.spec.scheduling_group) and g.pod_group_name == workload.name]
    else:
        found = [
            pod
            for pod in pods
            if workload_of(pod, simulation) == workload
            or ((owner := pod.metadata.controller_of) and (owner.kind, owner.name) == (workload.kind, workload.name))
        ]
    return sorted(found, key=lambda pod: pod.key)


def is_recreated(pod: Pod) -> bool:
    """Whether somebody makes the pod again when it goes. Any controller is taken to do so."""
    return pod.metadata.controller_of is not None and not stays_with_node(pod)


def replacement(pod: Pod, now: datetime, *, name: str = "") -> Pod:
    """The pod that takes this one's place: without a node yet. It keeps its name unless it gets another one."""
    uid, _, generation = pod.metadata.uid.partition("~")
    metadata = replace(
        pod.metadata,
        name=name or pod.metadata.name,
        uid=f"{pod.metadata.namespace}/{name}" if name else f"{uid}~{int(generation or 0) + 1}",
        resource_version="",
        creation_timestamp=now,
        deletion_timestamp=None,
    )
    status = PodStatus(
        phase="Pending",
        resource_claim_statuses=() if name else pod.status.resource_claim_statuses,
    )
    return replace(pod, metadata=metadata, spec=replace(pod.spec, node_name=""), status=status)


def release_claims(pod: Pod, successor: Pod | None, simulation: Simulation) -> None:
    """Give back what a pod that goes had reserved; a claim that was made for it alone is its successor's."""
    named = [claim.resource_claim_name for claim in pod.spec.resource_claims]
    made = [claim.resource_claim_name for claim in pod.status.resource_claim_statuses]
    for name in (*named, *made):
        claim = simulation.get(ResourceClaim, name, pod.metadata.namespace) if name else None
        if claim is None:
            continue
        users = tuple(user for user in claim.status.reserved_for if user.uid != pod.metadata.uid)
        status = replace(claim.status, reserved_for=users)
        if not users:
            status = replace(status, allocation=None)
        owners = claim.metadata.owner_references
        if successor is not None:
            uid = successor.metadata.uid
            owners = tuple(replace(one, uid=uid) if one.uid == pod.metadata.uid else one for one in owners)
        simulation.add(replace(claim, metadata=replace(claim.metadata, owner_references=owners), status=status))


def _deployment(owner: OwnerReference, pod: Pod, simulation: Simulation) -> str:
    """The name of the Deployment behind a ReplicaSet, which need not be known itself; empty if there is none."""
    replica_set = simulation.get(ReplicaSet, owner.name, pod.metadata.namespace)
    above = replica_set.metadata.controller_of if replica_set is not None else None
    if above is not None:
        return above.name if above.kind == "Deployment" else ""
    suffix = f"-{pod.metadata.labels.get(TEMPLATE_HASH, '')}"
    return owner.name.removesuffix(suffix) if len(suffix) > 1 and owner.name.endswith(suffix) else ""


def deletion_order(pod: Pod, neighbours: int) -> tuple[int, int, int, float, str]:
    """Which pod a controller that scales down takes first (ActivePodsWithRanks): the lowest.

    `neighbours` is the number of the workload's pods on its node. A StatefulSet takes its highest ordinal instead.
    """
    try:
        cost = int(pod.metadata.annotations.get(DELETION_COST, "0"))
    except ValueError:
        cost = 0
    created = pod.metadata.creation_timestamp
    return bool(pod.spec.node_name), cost, -neighbours, -(created.timestamp() if created else 0.0), pod.key
