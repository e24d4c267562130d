"""What random clusters are made of: configurations, nodes, pods and what they ask for."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from kubesched.objects.base import Json

PROFILE = "default-scheduler"
PAST, FUTURE = "2001-01-01T00:00:00Z", "2099-01-01T00:00:00Z"
WATCHER = "http://watcher"


def config(plugins: Mapping[str, Any], args: Mapping[str, Json] | None = None) -> Json:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "schedulerName": PROFILE,
                "plugins": plugins,
                "pluginConfig": [{"name": name, "args": one} for name, one in (args or {}).items()],
            }
        ],
    }


def only_score(name: str, args: Json | None = None, weight: int = 1) -> Json:
    """A configuration whose nodes are scored by one plugin."""
    score = {"disabled": [{"name": "*"}], "enabled": [{"name": name, "weight": weight}]}
    return config({"score": score}, {name: args} if args is not None else {})


def node(name: str, cpu: str = "4", memory: str = "8Gi", **resources: str) -> Json:
    offered = {"cpu": cpu, "memory": memory, "pods": "110", **resources}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": {"kubernetes.io/hostname": name}},
        "status": {"capacity": dict(offered), "allocatable": dict(offered)},
    }


def pod(name: str, *containers: Json, namespace: str = "default", on: str = "", **spec: Any) -> Json:
    made: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}"},
        "spec": {
            "schedulerName": PROFILE,
            "containers": [{"name": f"c{i}", "image": "x", "resources": r} for i, r in enumerate(containers or ({},))],
            **spec,
        },
    }
    if on:
        made["spec"]["nodeName"] = on
        made["status"] = {"phase": "Running", "startTime": PAST}
    return made


def amounts(random: Random, *, cpu: tuple[str, ...], memory: tuple[str, ...]) -> Json:
    """What a container asks for of either resource, of one of them, or of none."""
    chosen = {"cpu": random.choice((*cpu, "")), "memory": random.choice((*memory, ""))}
    return {name: amount for name, amount in chosen.items() if amount}


def resources(random: Random) -> Json:
    asked = amounts(random, cpu=("0", "100m", "500m", "1"), memory=("0", "64Mi", "200Mi", "1Gi"))
    limit = random.choice((asked, {}, amounts(random, cpu=("1", "2"), memory=("1Gi", "2Gi"))))
    return {key: value for key, value in (("requests", asked), ("limits", limit)) if value}


def nodes(random: Random, least: int = 3, most: int = 8) -> list[Json]:
    return [
        node(f"n{i}", random.choice(("2", "4", "8", "3500m")), random.choice(("4Gi", "8Gi", "16Gi", "9000M")))
        for i in range(random.randint(least, most))
    ]


def names(found: list[Json]) -> list[str]:
    return [one["metadata"]["name"] for one in found]
