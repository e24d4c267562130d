"""Everybody else in the cluster: people and programs that create, change and delete objects meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

from tests.world.history import History

from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.apiserver.options import DeleteOptions
from kubesched.cluster.kubelet.node_status import DOWN
from kubesched.errors import RequestRefusedError
from kubesched.objects.base import Json

NAMESPACE: Final = "default"
ZONE: Final = "topology.kubernetes.io/zone"
HOSTNAME: Final = "kubernetes.io/hostname"
CPUS: Final = (500, 1000, 1500, 2000, 3000)


class Users:
    """They act on the API server itself: what a user's own network does to a request is not what is tried here."""

    def __init__(self, random: Random, history: History, nodes: int, most_pods: int) -> None:
        self._random = random
        self._history = history
        self._serial = 0
        self._first_nodes = nodes
        self._most_pods = most_pods
        self._acts: tuple[tuple[int, Callable[[Api], str | None]], ...] = (
            (10, self._create_pod),
            (4, self._delete_pod),
            (2, self._label_pod),
            (1, self._ungate_pod),
            (2, self._scale),
            (2, self._cordon),
            (2, self._grow_node),
            (1, self._delete_node),
            (2, self._create_node),
            (1, self._down),
        )

    def begin(self, api: Api) -> None:
        """Nodes, priorities and a deployment."""
        for _ in range(self._first_nodes):
            self._create_node(api)
        _create(api, "priorityclasses.scheduling.k8s.io", {"metadata": {"name": "high"}, "value": 1000}, "")
        _create(api, "deployments.apps", _deployment(replicas=3))

    def act(self, api: Api) -> None:
        acts, weights = [act for _, act in self._acts], [weight for weight, _ in self._acts]
        try:
            what = self._random.choices(acts, weights)[0](api)
        except RequestRefusedError as refusal:
            what = f"was refused: {refusal}"
        if what:
            self._history.add("user", what)

    def end(self, api: Api) -> None:
        """Nodes that are down come back: what waits for them could wait for ever."""
        for node in _all(api, "nodes"):
            _change(api, "nodes", node["metadata"]["name"], "", lambda value: _set_down(value, down=False))

    # ---- pods ----

    def _create_pod(self, api: Api) -> str | None:
        if len(_all(api, "pods")) >= self._most_pods:
            return None
        self._serial += 1
        random = self._random
        # Names come back: what is said about one pod must never reach its namesake.
        name = f"pod-{random.randrange(12)}" if random.random() < 0.3 else f"p{self._serial}"
        spec: Json = {"containers": [_container(random.choice(CPUS))]}
        labels = {"app": random.choice(("web", "db"))}
        trait = random.randrange(8)
        if trait == 0:
            spec["priorityClassName"] = "high"
        elif trait == 1:
            spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 8080}]
        elif trait == 2:
            spec["topologySpreadConstraints"] = [_spread()]
        elif trait == 3:
            labels["app"] = "alone"
            spec["affinity"] = _alone()
        elif trait == 4:
            spec["schedulingGates"] = [{"name": "example.com/wait"}]
        _create(api, "pods", {"metadata": {"name": name, "labels": labels}, "spec": spec})
        return f"creates pod {name}: {spec['containers'][0]['resources']['requests']['cpu']} {trait}"

    def _delete_pod(self, api: Api) -> str | None:
        if (pod := self._any(api, "pods")) is None:
            return None
        grace = self._random.choice((0, None))
        api.delete(api.catalog.named("pods"), _name(pod), NAMESPACE, DeleteOptions(grace_period=grace))
        return f"deletes pod {_name(pod)} grace {grace}"

    def _label_pod(self, api: Api) -> str | None:
        if (pod := self._any(api, "pods")) is None:
            return None
        app = self._random.choice(("web", "db"))
        _change(api, "pods", _name(pod), NAMESPACE, lambda value: value["metadata"]["labels"].update(app=app))
        return f"labels pod {_name(pod)} {app}"

    def _ungate_pod(self, api: Api) -> str | None:
        gated = [pod for pod in _all(api, "pods") if pod["spec"].get("schedulingGates")]
        if not gated:
            return None
        name = _name(self._random.choice(gated))
        _change(api, "pods", name, NAMESPACE, lambda value: value["spec"].pop("schedulingGates"))
        return f"opens the gate of pod {name}"

    def _scale(self, api: Api) -> str:
        replicas = self._random.randrange(8)
        _change(api, "deployments.apps", "app", NAMESPACE, lambda value: value["spec"].update(replicas=replicas))
        return f"scales the deployment to {replicas}"

    # ---- nodes ----

    def _create_node(self, api: Api) -> str | None:
        if len(_all(api, "nodes")) >= self._first_nodes + 2:
            return None
        taken = {_name(node) for node in _all(api, "nodes")}
        free = [name for number in range(self._first_nodes + 3) if (name := f"node-{number}") not in taken]
        name, cpu = self._random.choice(free), self._random.choice((2, 4, 6))
        offers = {"cpu": str(cpu), "memory": "16Gi", "pods": "8", "ephemeral-storage": "100Gi"}
        labels = {ZONE: self._random.choice("ab"), HOSTNAME: name}
        status = {"capacity": offers, "allocatable": dict(offers)}
        _create(api, "nodes", {"metadata": {"name": name, "labels": labels}, "status": status}, "")
        return f"creates node {name}: {cpu} cpu"

    def _delete_node(self, api: Api) -> str | None:
        if len(_all(api, "nodes")) <= 2 or (node := self._any(api, "nodes")) is None:
            return None
        api.delete(api.catalog.named("nodes"), _name(node))
        return f"deletes node {_name(node)}"

    def _cordon(self, api: Api) -> str | None:
        if (node := self._any(api, "nodes")) is None:
            return None
        cordoned = self._random.random() < 0.4
        _change(
            api, "nodes", _name(node), "", lambda value: value.setdefault("spec", {}).update(unschedulable=cordoned)
        )
        return f"sets node {_name(node)} unschedulable: {cordoned}"

    def _grow_node(self, api: Api) -> str | None:
        if (node := self._any(api, "nodes")) is None:
            return None
        cpu = int(node["status"]["allocatable"]["cpu"]) + 1

        def grow(value: Json) -> None:
            value["status"]["allocatable"]["cpu"] = value["status"]["capacity"]["cpu"] = str(cpu)

        _change(api, "nodes", _name(node), "", grow, subresource="status")
        return f"grows node {_name(node)} to {cpu} cpu"

    def _down(self, api: Api) -> str | None:
        if (node := self._any(api, "nodes")) is None:
            return None
        down = self._random.random() < 0.5
        _change(api, "nodes", _name(node), "", lambda value: _set_down(value, down=down))
        return f"switches node {_name(node)} {'off' if down else 'on'}"

    def _any(self, api: Api, resource: str) -> Json | None:
        found = _all(api, resource)
        return self._random.choice(found) if found else None


def _all(api: Api, resource: str) -> list[Json]:
    return [entry.decode() for entry in api.reader.bucket(api.catalog.named(resource)).in_order()]


def _name(value: Json) -> str:
    return str(value["metadata"]["name"])


def _create(api: Api, resource: str, value: Json, namespace: str = NAMESPACE) -> None:
    api.create(api.catalog.named(resource), value, namespace)


def _change(
    api: Api, resource: str, name: str, namespace: str, change: Callable[[Json], Any], *, subresource: str = ""
) -> None:
    def changed(value: Json) -> Json:
        change(value)
        return value

    api.change(api.catalog.named(resource), name, namespace, changed, subresource=subresource)


def _set_down(node: Json, *, down: bool) -> None:
    annotations = node["metadata"].setdefault("annotations", {})
    annotations[DOWN] = "true" if down else "false"


def _container(millis: int) -> Json:
    return {"name": "main", "image": "app:1", "resources": {"requests": {"cpu": f"{millis}m", "memory": "64Mi"}}}


def _spread() -> Json:
    selector = {"matchLabels": {"app": "web"}}
    return {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}


def _alone() -> Json:
    term = {"labelSelector": {"matchLabels": {"app": "alone"}}, "topologyKey": HOSTNAME}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _deployment(replicas: int) -> Json:
    labels = {"app": "app"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [_container(250)]}}
    return {
        "metadata": {"name": "app"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }
