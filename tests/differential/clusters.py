"""Small random clusters: nodes, pods on them, and all that a decision about one more pod may depend on.

Every object is one that an API server would take. The same `Random` gives the same cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from tests.differential.devices import claims_and_devices
from tests.differential.recent import add_recent
from tests.differential.volumes import claims_and_volumes

from kubesched.objects.base import Json

ZONE, REGION, HOST = "topology.kubernetes.io/zone", "topology.kubernetes.io/region", "kubernetes.io/hostname"
TOPOLOGIES = (ZONE, ZONE, HOST, REGION, "rack")
NODE_LABELS = {"disk": ("ssd", "hdd"), "tier": ("a", "b"), "cores": ("2", "8", "16", "many")}
POD_LABELS = {"app": ("web", "db", "cache"), "tier": ("a", "b"), "version": ("v1", "v2")}
NAMESPACES = ("default", "team-a", "team-b")
PRIORITIES = (-10, 0, 0, 5, 100)
TAINTS = ("dedicated", "gpu", "flaky", "node.kubernetes.io/unschedulable")
GPU = "example.com/gpu"


def random_case(seed: int) -> Json:
    """A cluster and a pod to decide about, as docs/conformance.md describes a case."""
    rng = Random(seed)
    names = [f"node-{k:02}" for k in range(rng.randint(2, 8))]
    nodes = [_node(rng, name) for name in names]
    objects = [*nodes, *_namespaces(rng), *_budgets(rng), *_services(rng)]
    placed = [_pod(rng, f"placed-{k:02}", names, node=rng.choice(names)) for k in range(rng.randrange(3 * len(names)))]
    waiting = [_pod(rng, f"nominated-{k}", names, nominated=rng.choice(names)) for k in range(rng.choice((0, 0, 1, 2)))]
    subject = _pod(rng, "subject", names, nominated=rng.choice(names) if _happens(rng, 0.1) else "")
    if _happens(rng, 0.5):
        subject["spec"]["priority"] = max(PRIORITIES)
    if _happens(rng, 0.3):
        objects += claims_and_volumes(rng, names, [*placed, subject])
    if _happens(rng, 0.3):
        objects += claims_and_devices(rng, names, [*placed, subject])
    config = _config(rng, names) if _happens(rng, 0.4) else None
    objects += [*placed, *waiting]
    add_recent(Random(~seed), names, objects, subject)
    return {"name": f"seed {seed}", "config": config, "objects": objects, "pod": subject}


def _happens(rng: Random, probability: float) -> bool:
    return rng.random() < probability


def _perhaps(rng: Random, fields: Json) -> Json:
    return fields if _happens(rng, 0.5) else {}


def _some(rng: Random, values: Sequence[Any], least: int = 1) -> list[Any]:
    return rng.sample(values, rng.randint(least, len(values)))


# ---- nodes ------------------------------------------------------------------------------------------------------


def _node(rng: Random, name: str) -> Json:
    places = {HOST: (name,), ZONE: ("z1", "z2", "z3"), REGION: ("r1", "r2"), "rack": ("k1", "k2")}
    labels = {key: rng.choice(values) for key, values in (places | NODE_LABELS).items() if _happens(rng, 0.75)}
    size = {"cpu": rng.choice(("1", "2", "4", "3500m")), "memory": rng.choice(("2Gi", "4Gi", "4000M"))}
    size |= {"pods": rng.choice(("3", "5", "110", "110"))}
    if _happens(rng, 0.3):
        size |= {GPU: rng.choice(("0", "1", "4"))}
    node: Json = {"spec": {}, "status": {"allocatable": size, "capacity": size}}
    if _happens(rng, 0.3):
        effects = ("NoSchedule", "PreferNoSchedule", "NoExecute")
        keys = rng.sample(TAINTS, rng.randint(1, 2))
        node["spec"]["taints"] = [{"key": key, "value": "x", "effect": rng.choice(effects)} for key in keys]
    if _happens(rng, 0.05):
        node["spec"]["unschedulable"] = True
    if _happens(rng, 0.3):
        sizes = (10 << 20, 300 << 20, 900 << 20)
        node["status"]["images"] = [
            {"names": [f"image-{k}:v1"], "sizeBytes": rng.choice(sizes)} for k in _some(rng, range(4))
        ]
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name, "labels": labels}, **node}


def _namespaces(rng: Random) -> list[Json]:
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"team": rng.choice("ab")}}}
        for name in _some(rng, NAMESPACES)
    ]


def _budgets(rng: Random) -> list[Json]:
    return [
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": f"budget-{k}", "namespace": rng.choice(NAMESPACES), "uid": f"budget-{k}"},
            "spec": {"minAvailable": 1, "selector": _selector(rng)},
            "status": {"disruptionsAllowed": rng.choice((0, 0, 1)), "currentHealthy": 1, "desiredHealthy": 1},
        }
        for k in range(rng.choice((0, 0, 1, 3)))
    ]


def _services(rng: Random) -> list[Json]:
    metadata = {"name": "service", "namespace": rng.choice(NAMESPACES), "uid": "service"}
    spec = {"selector": {"app": rng.choice(POD_LABELS["app"])}}
    return [{"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}] * _happens(rng, 0.3)


# ---- pods -------------------------------------------------------------------------------------------------------


def _pod(rng: Random, name: str, nodes: Sequence[str], *, node: str = "", nominated: str = "") -> Json:
    labels = {key: rng.choice(values) for key, values in POD_LABELS.items() if _happens(rng, 0.6)}
    metadata = {"name": name, "namespace": rng.choice(NAMESPACES), "uid": name, "labels": labels}
    containers = [_container(rng, f"c{k}") for k in range(rng.choice((1, 1, 2)))]
    spec: Json = {"schedulerName": "default-scheduler", "containers": containers, "priority": rng.choice(PRIORITIES)}
    if _happens(rng, 0.2):
        spec["initContainers"] = [_container(rng, "init") | _perhaps(rng, {"restartPolicy": "Always"})]
    if _happens(rng, 0.1):
        spec["overhead"] = {"cpu": "100m"}
    if _happens(rng, 0.1):
        spec["resources"] = {"requests": {"cpu": rng.choice(("3", "4500m")), "memory": "3Gi"}}
    if _happens(rng, 0.1):
        spec["preemptionPolicy"] = "Never"
    if _happens(rng, 0.3):
        spec["tolerations"] = [_toleration(rng) for _ in range(rng.randint(1, 2))]
    if _happens(rng, 0.5):
        spec["affinity"] = _affinity(rng, nodes)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    if node:
        spec["nodeName"] = node
        return pod | {"status": {"phase": "Running", "startTime": f"2026-03-01T10:00:{rng.randint(10, 59)}Z"}}
    if _happens(rng, 0.4):
        constraints = [_spread(rng) for _ in range(rng.randint(1, 2))]
        by_key = {(each["topologyKey"], each["whenUnsatisfiable"]): each for each in constraints}
        spec["topologySpreadConstraints"] = list(by_key.values())
    return pod | {"status": {"phase": "Pending", "nominatedNodeName": nominated}}


def _container(rng: Random, name: str) -> Json:
    container: Json = {"name": name, "image": f"image-{rng.randrange(5)}:v1"}
    requests = {}
    if _happens(rng, 0.8):
        requests["cpu"] = rng.choice(("0", "100m", "333m", "500m", "1", "1.500"))
    if _happens(rng, 0.7):
        requests["memory"] = rng.choice(("64Mi", "100M", "512Mi", "1Gi"))
    container["resources"] = {"requests": requests}
    if _happens(rng, 0.1):
        container["resources"] = {"requests": requests | {GPU: "1"}, "limits": {GPU: "1"}}
    if _happens(rng, 0.1):
        port = rng.choice((80, 443))
        address = rng.choice(("", "0.0.0.0", "127.0.0.1"))
        container["ports"] = [{"containerPort": port, "hostPort": port, "protocol": "TCP", "hostIP": address}]
    return container


def _toleration(rng: Random) -> Json:
    toleration = {"key": rng.choice(TAINTS), "operator": rng.choice(("Exists", "Equal"))}
    if toleration["operator"] == "Equal":
        toleration["value"] = rng.choice("xy")
    return toleration | _perhaps(rng, {"effect": rng.choice(("NoSchedule", "PreferNoSchedule"))})


def _spread(rng: Random) -> Json:
    hard = {"whenUnsatisfiable": "DoNotSchedule", "minDomains": rng.randint(1, 4)}
    constraint = hard if _happens(rng, 0.5) else {"whenUnsatisfiable": "ScheduleAnyway"}
    constraint |= {"maxSkew": rng.randint(1, 2), "topologyKey": rng.choice(TOPOLOGIES), "labelSelector": _selector(rng)}
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if _happens(rng, 0.3):
            constraint[policy] = rng.choice(("Honor", "Ignore"))
    return constraint


def _selector(rng: Random) -> Json:
    key = rng.choice(list(POD_LABELS))
    if _happens(rng, 0.5):
        return {"matchLabels": {key: rng.choice(POD_LABELS[key])}}
    operator = rng.choice(("In", "NotIn", "Exists", "DoesNotExist"))
    requirement: Json = {"key": key, "operator": operator}
    if operator.endswith("In"):
        requirement["values"] = _some(rng, POD_LABELS[key])
    return {"matchExpressions": [requirement]}


def _affinity(rng: Random, nodes: Sequence[str]) -> Json:
    affinity: Json = {}
    if _happens(rng, 0.4):
        affinity["nodeAffinity"] = _node_affinity(rng, nodes)
    for kind in ("podAffinity", "podAntiAffinity"):
        if _happens(rng, 0.4):
            weighted = {"weight": rng.randint(1, 100), "podAffinityTerm": _pod_term(rng)}
            affinity[kind] = rng.choice(
                (
                    {"requiredDuringSchedulingIgnoredDuringExecution": [_pod_term(rng)]},
                    {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]},
                )
            )
    return affinity


def _pod_term(rng: Random) -> Json:
    term = {"topologyKey": rng.choice(TOPOLOGIES), "labelSelector": _selector(rng)}
    if _happens(rng, 0.3):
        term["namespaces"] = _some(rng, NAMESPACES)
    if _happens(rng, 0.3):
        term["namespaceSelector"] = rng.choice(({}, {"matchLabels": {"team": "a"}}))
    return term


def _node_affinity(rng: Random, nodes: Sequence[str]) -> Json:
    terms = [_node_term(rng, nodes) for _ in range(rng.randint(1, 2))]
    if _happens(rng, 0.5):
        return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    weighted = [{"weight": rng.randint(1, 100), "preference": term} for term in terms]
    return {"preferredDuringSchedulingIgnoredDuringExecution": weighted}


def _node_term(rng: Random, nodes: Sequence[str]) -> Json:
    if _happens(rng, 0.2):
        return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [rng.choice(nodes)]}]}
    key = rng.choice(list(NODE_LABELS))
    operator = rng.choice(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
    requirement: Json = {"key": key, "operator": operator}
    if operator.endswith("In"):
        requirement["values"] = _some(rng, NODE_LABELS[key])
    elif operator in ("Gt", "Lt"):
        requirement |= {"key": "cores", "values": [rng.choice(("2", "8"))]}
    return {"matchExpressions": [requirement]}


# ---- configuration ----------------------------------------------------------------------------------------------


def _config(rng: Random, nodes: Sequence[str]) -> Json:
    resources = [{"name": name, "weight": rng.randint(1, 5)} for name in _some(rng, ("cpu", "memory", GPU))]
    shape = [{"utilization": at, "score": rng.randint(0, 10)} for at in (0, rng.randint(1, 99), 100)]
    strategies: list[Json] = [
        {"type": "LeastAllocated", "resources": resources},
        {"type": "MostAllocated", "resources": resources},
        {"type": "RequestedToCapacityRatio", "resources": resources, "requestedToCapacityRatio": {"shape": shape}},
    ]
    defaults = [
        {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": rng.choice(("DoNotSchedule", "ScheduleAnyway"))}
    ]
    args: dict[str, Json] = {
        "NodeResourcesFit": {"scoringStrategy": rng.choice(strategies)},
        "InterPodAffinity": {"hardPodAffinityWeight": rng.randint(0, 100)},
        "NodeAffinity": {"addedAffinity": _node_affinity(rng, nodes)},
        "PodTopologySpread": {"defaultingType": "List", "defaultConstraints": defaults},
    }
    version = "kubescheduler.config.k8s.io/v1"
    chosen = [
        {"name": name, "args": {"apiVersion": version, "kind": f"{name}Args", **args[name]}}
        for name in _some(rng, list(args))
    ]
    weighed = [{"name": name, "weight": rng.randint(1, 9)} for name in ("ImageLocality", "TaintToleration")]
    plugins = {"score": {"disabled": [{"name": each["name"]} for each in weighed], "enabled": weighed}}
    profile = {"schedulerName": "default-scheduler", "pluginConfig": chosen, "plugins": plugins}
    return {"apiVersion": version, "kind": "KubeSchedulerConfiguration", "profiles": [profile]}
