"""What an object gets on creation that its creator may not choose: first status, phases, finalizers, selectors.

`PrepareForCreate` of the registry strategies upstream. All in place, after defaulting and before validation.
"""

from __future__ import annotations

from typing import Final

from kubesched.cluster.apiserver.validation.services import WITH_NODE_PORTS, is_open, needs_health_check
from kubesched.objects.base import Json
from kubesched.objects.quantity import Quantity

TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
_COMPUTE: Final = ("cpu", "memory")


def prepare_pod(pod: Json) -> None:
    pod["status"] = {"phase": "Pending", "qosClass": qos_class(pod.get("spec") or {})}
    _merge_match_label_keys(pod)
    if (pod.get("spec") or {}).get("schedulingGates"):
        pod["status"]["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
                "lastProbeTime": None,
                "lastTransitionTime": pod["metadata"]["creationTimestamp"],
            }
        ]


def prepare_namespace(namespace: Json) -> None:
    namespace.setdefault("spec", {})["finalizers"] = ["kubernetes"]
    namespace["status"] = {"phase": "Active"}


def prepare_node(node: Json) -> None:
    """A node reports its own status, also when it is created; Go always writes the kubelet's port."""
    endpoint = node.setdefault("status", {}).setdefault("daemonEndpoints", {}).setdefault("kubeletEndpoint", {})
    endpoint.setdefault("Port", 0)


def prepare_stateful_set(stateful_set: Json) -> None:
    stateful_set["status"]["availableReplicas"] = 0


def prepare_daemon_set(daemon_set: Json) -> None:
    daemon_set["metadata"].setdefault("annotations", {})[TEMPLATE_GENERATION] = "1"


def count_daemon_templates(daemon_set: Json, old: Json) -> None:
    """The template's generation lives on in an annotation, for clients of the first version of the API."""
    count = int((old["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "1"))
    if daemon_set["spec"]["template"] != old["spec"]["template"]:
        count += 1
    daemon_set["metadata"].setdefault("annotations", {})[TEMPLATE_GENERATION] = str(count)


def prepare_disruption_budget(budget: Json) -> None:
    budget["status"] = dict.fromkeys(("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"), 0)


def prepare_claim(claim: Json) -> None:
    claim["status"] = {"phase": "Pending"}


def prepare_volume(volume: Json) -> None:
    volume["status"] = {"phase": "Pending", "lastPhaseTransitionTime": volume["metadata"]["creationTimestamp"]}


def prepare_job(job: Json) -> None:
    """Without `manualSelector`, a job selects its pods by its own uid (`generateSelector`)."""
    spec, metadata = job["spec"], job["metadata"]
    if spec.get("manualSelector"):
        return
    uid, name = metadata["uid"], metadata.get("name", "")
    template_labels = spec["template"].setdefault("metadata", {}).setdefault("labels", {})
    template_labels |= {
        "controller-uid": uid,
        "batch.kubernetes.io/controller-uid": uid,
        "job-name": name,
        "batch.kubernetes.io/job-name": name,
    }
    selector = spec.setdefault("selector", {})
    selector.setdefault("matchLabels", {}).setdefault("batch.kubernetes.io/controller-uid", uid)
    if not metadata.get("labels"):  # SetDefaults_Job, when upstream reads what it has stored
        metadata["labels"] = dict(template_labels)


def prepare_service(service: Json) -> None:
    service["status"] = {"loadBalancer": {}}


def drop_by_type(service: Json, old: Json) -> None:
    """What only a service's old type needs goes, unless the writer changed it (`dropTypeDependentFields`)."""
    spec, before = service["spec"], old["spec"]
    if spec["type"] == "ExternalName" != before["type"]:
        if (spec.get("clusterIP"), spec.get("clusterIPs")) == (before.get("clusterIP"), before.get("clusterIPs")):
            spec.pop("clusterIP", None)
            spec.pop("clusterIPs", None)
        _drop_same(spec, before, "ipFamilies", "ipFamilyPolicy")
    if spec["type"] not in WITH_NODE_PORTS and before["type"] in WITH_NODE_PORTS and _opened(spec) <= _opened(before):
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)
    if needs_health_check(before) and not needs_health_check(spec):
        _drop_same(spec, before, "healthCheckNodePort")
    if before["type"] == "LoadBalancer" != spec["type"]:
        _drop_same(spec, before, "allocateLoadBalancerNodePorts", "loadBalancerClass")
        service["status"] = {**(old.get("status") or {}), "loadBalancer": {}}
    if is_open(before) and not is_open(spec):
        _drop_same(spec, before, "externalTrafficPolicy")


def _opened(spec: Json) -> set[int]:
    return {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}


def _drop_same(spec: Json, before: Json, *keys: str) -> None:
    for key in keys:
        if spec.get(key) == before.get(key):
            spec.pop(key, None)


def prepare_ingress(ingress: Json) -> None:
    ingress["status"] = {"loadBalancer": {}}


def qos_class(spec: Json) -> str:
    """Guaranteed, Burstable or BestEffort (`ComputePodQOS`)."""
    if spec.get("resources"):
        return _qos_of([spec["resources"]])
    lasting = [item for key in ("containers", "initContainers") for item in spec.get(key) or ()]
    return _qos_of([item.get("resources") or {} for item in lasting])


def _qos_of(resources: list[Json]) -> str:
    requested = any(_positive(item, kind, name) for item in resources for kind in _KINDS for name in _COMPUTE)
    if not requested:
        return "BestEffort"
    for item in resources:
        limits, requests = item.get("limits") or {}, item.get("requests") or {}
        for name in _COMPUTE:
            if not _positive(item, "limits", name):
                return "Burstable"
            if Quantity.parse(requests.get(name, limits[name])) != Quantity.parse(limits[name]):
                return "Burstable"
    return "Guaranteed"


_KINDS: Final = ("requests", "limits")


def _positive(resources: Json, kind: str, name: str) -> bool:
    amount = (resources.get(kind) or {}).get(name)
    return amount is not None and Quantity.parse(amount) > Quantity.ZERO


def _merge_match_label_keys(pod: Json) -> None:
    """Label keys of spread constraints and affinity terms become requirements on their selectors.

    `applyMatchLabelKeysAndMismatchLabelKeys` upstream: the scheduler sees ordinary selectors.
    """
    spec, labels = pod.get("spec") or {}, pod["metadata"].get("labels") or {}
    for constraint in spec.get("topologySpreadConstraints") or ():
        if constraint.get("labelSelector") is not None:
            _add_requirements(constraint, constraint.get("matchLabelKeys"), labels, "In")
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        required = list(terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ())
        preferred = terms.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        for term in required + [item["podAffinityTerm"] for item in preferred if "podAffinityTerm" in item]:
            if term.get("labelSelector") is not None:
                _add_requirements(term, term.get("matchLabelKeys"), labels, "In")
                _add_requirements(term, term.get("mismatchLabelKeys"), labels, "NotIn")


def _add_requirements(term: Json, keys: list[str] | None, labels: dict[str, str], operator: str) -> None:
    for key in keys or ():
        if key in labels:
            expressions = term["labelSelector"].setdefault("matchExpressions", [])
            expressions.append({"key": key, "operator": operator, "values": [labels[key]]})
