"""What happens in a random cluster, step by step: nodes and pods come, change and go, and pods are asked about.

A step knows how to be said in words, and which simpler steps might do as well: an example that shows a mistake is made
as small as possible before it is printed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

Labels = Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Step(ABC):
    """Something that happens."""

    @abstractmethod
    def words(self) -> str: ...

    def simpler(self) -> Iterator[Step]:
        """Steps that say less, the simplest first."""
        return iter(())


@dataclass(frozen=True, kw_only=True)
class SetNode(Step):
    """A node comes, or is as described from now on."""

    name: str
    labels: Labels = field(default_factory=dict)
    taints: tuple[str, ...] = ()
    resources: Labels = field(default_factory=dict)

    def words(self) -> str:
        facts = [f"labels {_listed(self.labels)}"] if self.labels else []
        facts += [f"taints {', '.join(self.taints)}"] if self.taints else []
        facts += [f"offers {_listed(self.resources)}"] if self.resources else []
        return f"node {self.name}" + (f" has {'; '.join(facts)}" if facts else " is there, without labels")

    def simpler(self) -> Iterator[Step]:
        for labels in _without_one(self.labels):
            yield replace(self, labels=labels)
        if self.taints:
            yield replace(self, taints=())
        for resources in _without_one(self.resources):
            yield replace(self, resources=resources)

    def manifest(self) -> dict[str, Any]:
        offered = {"cpu": "4", "memory": "8Gi", "pods": "20", **self.resources}
        taints = [{"key": taint, "effect": "NoSchedule"} for taint in self.taints]
        return {
            "metadata": {"name": self.name, "labels": dict(self.labels)},
            "spec": {"taints": taints},
            "status": {"allocatable": offered, "capacity": offered},
        }


@dataclass(frozen=True, kw_only=True)
class RemoveNode(Step):
    name: str

    def words(self) -> str:
        return f"node {self.name} is gone"


@dataclass(frozen=True, kw_only=True)
class PodSpec:
    """What pods of one kind have in common."""

    labels: Labels = field(default_factory=dict)
    annotations: Labels = field(default_factory=dict)
    namespace: str = "default"
    requests: Labels = field(default_factory=dict)
    tolerations: tuple[str, ...] = ()
    priority: int = 0

    def words(self) -> str:
        facts = [f"labels {_listed(self.labels)}"] if self.labels else []
        facts += [f"annotations {_listed(self.annotations)}"] if self.annotations else []
        facts += [f"namespace {self.namespace}"] if self.namespace != "default" else []
        facts += [f"requests {_listed(self.requests)}"] if self.requests else []
        facts += [f"tolerates {', '.join(self.tolerations)}"] if self.tolerations else []
        facts += [f"priority {self.priority}"] if self.priority else []
        return f" ({'; '.join(facts)})" if facts else ""

    def simpler(self) -> Iterator[PodSpec]:
        yield from (replace(self, labels=fewer) for fewer in _without_one(self.labels))
        yield from (replace(self, annotations=fewer) for fewer in _without_one(self.annotations))
        yield from (replace(self, requests=fewer) for fewer in _without_one(self.requests))
        if self.tolerations:
            yield replace(self, tolerations=())
        if self.namespace != "default":
            yield replace(self, namespace="default")
        if self.priority:
            yield replace(self, priority=0)

    def manifest(self, name: str, node: str = "") -> dict[str, Any]:
        metadata = {
            "name": name,
            "namespace": self.namespace,
            "uid": name,
            "labels": dict(self.labels),
            "annotations": dict(self.annotations),
        }
        spec = {
            "nodeName": node,
            "schedulerName": "default-scheduler",
            "priority": self.priority,
            "tolerations": [{"key": key, "operator": "Exists"} for key in self.tolerations],
            "containers": [{"name": "c", "image": "pause", "resources": {"requests": dict(self.requests)}}],
        }
        return {"metadata": metadata, "spec": spec}


@dataclass(frozen=True, kw_only=True)
class PlacePod(Step):
    """A pod runs on a node from now on."""

    name: str
    node: str
    pod: PodSpec

    def words(self) -> str:
        return f"pod {self.name}{self.pod.words()} runs on {self.node}"

    def simpler(self) -> Iterator[Step]:
        for pod in self.pod.simpler():
            yield replace(self, pod=pod)


@dataclass(frozen=True, kw_only=True)
class RemovePod(Step):
    name: str

    def words(self) -> str:
        return f"pod {self.name} has ended"


@dataclass(frozen=True, kw_only=True)
class SetObject(Step):
    """An object of a kind that the plugin has an informer of is as described from now on."""

    kind: str
    name: str
    namespace: str
    content: Mapping[str, Any]

    def words(self) -> str:
        facts = ", ".join(f"{key}: {value}" for key, value in self.content.items())
        return f"{self.kind} {self.name} is {{{facts}}}"


@dataclass(frozen=True, kw_only=True)
class Publish(Step):
    """An address says something else."""

    url: str
    content: Any

    def words(self) -> str:
        return f"{self.url} says {self.content}"


@dataclass(frozen=True, kw_only=True)
class Ask(Step):
    """The plugin is asked about a pod and all nodes."""

    name: str
    pod: PodSpec

    def words(self) -> str:
        return f"asked about pod {self.name}{self.pod.words()}"

    def simpler(self) -> Iterator[Step]:
        for pod in self.pod.simpler():
            yield replace(self, pod=pod)


def _listed(pairs: Labels) -> str:
    return ", ".join(f"{key}={value}" for key, value in pairs.items())


def _without_one(pairs: Labels) -> Iterator[Labels]:
    for left_out in pairs:
        yield {key: value for key, value in pairs.items() if key != left_out}
