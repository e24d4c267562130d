"""Pods of all kinds go where kube-scheduler would put them."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from tests.e2e.conftest import StartScheduler
from tests.e2e.control_plane import RealControlPlane
from tests.e2e.manifests import condition, node, pod
from tests.e2e.processes import eventually
from tests.e2e.shadow import shadow_scheduler

from kubesched.objects.base import Json

PODS = 200
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
APPS = ("web", "db", "cache", "batch")


def test_two_hundred_mixed_pods(real_cluster: RealControlPlane, start_scheduler: StartScheduler) -> None:
    """Each pod goes to one of the nodes that kube-scheduler finds best right then, or waits for the same reasons."""
    program = real_cluster.program("kube-scheduler")
    if program is None:
        pytest.skip("kube-scheduler itself is not installed")
    admin, random = real_cluster.admin, Random(20)
    admin.create_all(mixed_nodes())
    start_scheduler()
    placed = waiting = 0
    with shadow_scheduler(program, real_cluster) as shadow:
        for number in range(PODS):
            manifest = mixed_pod(number, random)
            expected = shadow.decide(manifest)
            decided = decide(real_cluster, manifest)
            if expected.best:
                assert decided in expected.best, manifest
                placed += 1
            else:
                assert decided == expected.message, manifest
                admin.delete("Pod", manifest["metadata"]["name"])
                waiting += 1
    assert placed > PODS / 2
    assert waiting > PODS / 20


def decide(real_cluster: RealControlPlane, manifest: Json) -> str:
    """The node that our scheduler puts a pod on, or why it puts it on none."""
    name = manifest["metadata"]["name"]
    real_cluster.admin.create(manifest)

    def decision() -> str:
        found = real_cluster.admin.get("Pod", name)
        text: str = found["spec"].get("nodeName", "") or condition(found).get("message", "")
        return text

    return eventually(decision, f"a decision about {name}", every=0.002)


def mixed_nodes() -> list[Json]:
    """Twelve nodes in three zones: of three sizes, some tainted, one cordoned, some with images."""
    nodes = []
    for number in range(12):
        labels = {ZONE: f"zone-{number % 3}", "disk": ("ssd", "hdd")[number % 2], "size": str(number)}
        spec: dict[str, Any] = {}
        if number in (3, 7):
            spec["taints"] = [{"key": "dedicated", "value": "db", "effect": "NoSchedule"}]
        if number in (4, 5):
            spec["taints"] = [{"key": "spot", "effect": "PreferNoSchedule"}]
        made = node(
            f"n{number:02d}", cpu=str(2 + number % 3 * 3), memory=f"{4 + number}Gi", pods=24, labels=labels, **spec
        )
        if number == 11:
            made["spec"]["unschedulable"] = True
        if number % 4 == 0:
            made["status"]["images"] = [{"names": [f"example.com/app-{number % 3}:v1"], "sizeBytes": 400_000_000}]
        nodes.append(made)
    return nodes


def mixed_pod(number: int, random: Random) -> Json:
    """A pod with some requests and up to three of the things that scheduling looks at."""
    app = random.choice(APPS)
    features = random.sample(sorted(FEATURES), random.randint(0, 3))
    spec: dict[str, Any] = {}
    container: Json = {"image": f"example.com/app-{random.randrange(3)}:v1"}
    for feature in features:
        FEATURES[feature](app, spec, container, random)
    requests = {"cpu": f"{random.choice((50, 100, 250, 500, 2500))}m", "memory": f"{random.choice((64, 128, 512))}Mi"}
    container["resources"] = {"requests": requests} if random.random() < 0.9 else {}
    return pod(f"p{number:03d}", labels={"app": app}, container=container, **spec)


def _selector(app: str, spec: Json, container: Json, random: Random) -> None:
    spec["nodeSelector"] = {"disk": random.choice(("ssd", "hdd", "tape"))}


def _node_affinity(app: str, spec: Json, container: Json, random: Random) -> None:
    required = {"matchExpressions": [{"key": "size", "operator": "Gt", "values": [str(random.randrange(12))]}]}
    preferred = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [f"zone-{random.randrange(3)}"]}]}
    spec.setdefault("affinity", {})["nodeAffinity"] = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [required]},
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": random.randint(1, 100), "preference": preferred}
        ],
    }


def _pod_affinity(app: str, spec: Json, container: Json, random: Random) -> None:
    term = {"labelSelector": {"matchLabels": {"app": random.choice(APPS)}}, "topologyKey": ZONE}
    if random.random() < 0.5:
        affinity: Json = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    else:
        weighted = {"weight": random.randint(1, 100), "podAffinityTerm": term}
        affinity = {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}
    spec.setdefault("affinity", {})["podAffinity"] = affinity


def _pod_anti_affinity(app: str, spec: Json, container: Json, random: Random) -> None:
    term = {"labelSelector": {"matchLabels": {"app": random.choice(APPS)}}, "topologyKey": random.choice((ZONE, HOST))}
    if term["topologyKey"] == HOST and random.random() < 0.3:
        affinity: Json = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    else:
        weighted = {"weight": random.randint(1, 100), "podAffinityTerm": term}
        affinity = {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}
    spec.setdefault("affinity", {})["podAntiAffinity"] = affinity


def _spread(app: str, spec: Json, container: Json, random: Random) -> None:
    spec["topologySpreadConstraints"] = [
        {
            "maxSkew": random.randint(1, 3),
            "topologyKey": random.choice((ZONE, HOST)),
            "whenUnsatisfiable": random.choice(("DoNotSchedule", "ScheduleAnyway")),
            "labelSelector": {"matchLabels": {"app": app}},
        }
    ]


def _toleration(app: str, spec: Json, container: Json, random: Random) -> None:
    spec["tolerations"] = [{"key": "dedicated", "operator": "Equal", "value": random.choice(("db", "web"))}]


def _host_port(app: str, spec: Json, container: Json, random: Random) -> None:
    container["ports"] = [{"containerPort": 80, "hostPort": random.choice((8080, 8081))}]


def _too_large(app: str, spec: Json, container: Json, random: Random) -> None:
    huge = {"name": "huge", "image": "pause", "resources": {"requests": {"memory": f"{random.choice((10, 15, 64))}Gi"}}}
    spec["initContainers"] = [huge]


def _node_name_in_affinity(app: str, spec: Json, container: Json, random: Random) -> None:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [f"n{random.randrange(14):02d}"]}]}
    required = {"nodeSelectorTerms": [term]}
    spec.setdefault("affinity", {})["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": required}


FEATURES = {
    "node selector": _selector,
    "node affinity": _node_affinity,
    "node name in affinity": _node_name_in_affinity,
    "pod affinity": _pod_affinity,
    "pod anti-affinity": _pod_anti_affinity,
    "spreading": _spread,
    "toleration": _toleration,
    "host port": _host_port,
    "too large": _too_large,
}
