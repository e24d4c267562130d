"""Pods that do not exist yet: those that manifests ask for, also by way of Deployments, StatefulSets and Jobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from kubesched.apps.inputs.objects import documents_of
from kubesched.errors import InvalidObjectError
from kubesched.objects import Pod, PriorityClass, convert
from kubesched.objects.completion import completed
from kubesched.objects.kinds import KINDS
from kubesched.objects.manifests import decode_all, split_foreign
from kubesched.objects.meta import ObjectMeta, OwnerReference

REPLICAS: Final = {
    "Deployment": "replicas",
    "ReplicaSet": "replicas",
    "ReplicationController": "replicas",
    "StatefulSet": "replicas",
    "Job": "parallelism",
}
"""The kinds that make pods from a template, and the field that says how many."""
SYSTEM_PRIORITIES: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


class WorkloadManifest(NamedTuple):
    """A pod, or something that makes as many pods from a `template` as it has `replicas`."""

    kind: str
    name: str
    template: Pod
    replicas: int

    def pods(self, count: int | None = None, first: int = 0) -> list[Pod]:
        """Its pods, or as many as are asked for, numbered from `first`."""
        if self.kind == "Pod" and count is None:
            return [self.template]
        numbers = range(first, first + (self.replicas if count is None else count))
        return [_numbered(self, number) for number in numbers]


class LoadedWorkloads(NamedTuple):
    workloads: list[WorkloadManifest]
    objects: list[Any]
    """Everything else that scheduling reads: claims, budgets, pod groups."""
    left_out: list[str]

    def all_objects(self) -> list[Any]:
        return [*self.objects, *(pod for workload in self.workloads for pod in workload.pods())]


def load_workloads(paths: Sequence[Path]) -> LoadedWorkloads:
    """What these files (`-` is standard input) or folders ask for. InvalidObjectError names the file and document."""
    making: list[tuple[str, Any]] = []
    others: list[tuple[str, Any]] = []
    for where, manifest in (found for path in paths for found in documents_of(path)):
        kind = manifest.get("kind") if isinstance(manifest, dict) else None
        (making if kind in REPLICAS or kind == "Pod" else others).append((where, manifest))
        if kind in REPLICAS and kind in KINDS:
            others.append((where, manifest))
    known, foreign = split_foreign(others)
    workloads = [_workload(where, manifest) for where, manifest in making]
    return LoadedWorkloads(workloads, list(decode_all(known)), foreign)


def with_priorities(pods: Iterable[Pod], classes: Iterable[PriorityClass]) -> tuple[list[Pod], list[str]]:
    """The pods with the priorities of their classes, as an API server fills them in, and the classes nobody knows."""
    by_name = {one.metadata.name: one for one in classes}
    default = next((one.value for one in by_name.values() if one.global_default), 0)
    values = {**SYSTEM_PRIORITIES, **{name: one.value for name, one in by_name.items()}}
    done, unknown = [], []
    for pod in pods:
        wanted = pod.spec.priority_class_name
        if pod.spec.priority is None:
            if wanted and wanted not in values:
                unknown.append(wanted)
            known = by_name.get(wanted)
            policy = pod.spec.preemption_policy or (known.preemption_policy if known is not None else "")
            priority = values.get(wanted, default)
            pod = replace(pod, spec=replace(pod.spec, priority=priority, preemption_policy=policy))
        done.append(pod)
    return done, sorted(set(unknown))


def _workload(where: str, manifest: Mapping[str, Any]) -> WorkloadManifest:
    kind = manifest["kind"]
    spec = manifest.get("spec") or {}
    try:
        if kind == "Pod":
            pod = completed(convert(manifest, Pod))
            if not (pod.metadata.name or pod.metadata.generate_name):
                raise InvalidObjectError("it has no name", kind=kind, path="metadata.name")
            return WorkloadManifest(kind, pod.metadata.name, pod, 1)
        metadata = convert(manifest.get("metadata") or {}, ObjectMeta)
        if not metadata.name:
            raise InvalidObjectError("it has no name", kind=kind, path="metadata.name")
        if not isinstance(spec, Mapping) or not isinstance(spec.get("template"), Mapping):
            raise InvalidObjectError("it has no pod template", kind=kind, name=metadata.name, path="spec.template")
        replicas = spec.get(REPLICAS[kind], 1)
        if not isinstance(replicas, int) or isinstance(replicas, bool) or replicas < 0:
            raise InvalidObjectError("expected a number", kind=kind, name=metadata.name, path=f"spec.{REPLICAS[kind]}")
        template = convert({**spec["template"], "kind": "Pod"}, Pod)
    except InvalidObjectError as error:
        raise InvalidObjectError(f"{where}: {error}") from error
    owner = OwnerReference(kind=kind, name=metadata.name, uid=metadata.uid or f"{kind}/{metadata.key}", controller=True)
    of_template = replace(
        template.metadata,
        name=metadata.name,
        namespace=metadata.namespace or "default",
        owner_references=(owner,),
    )
    return WorkloadManifest(kind, metadata.name, completed(replace(template, metadata=of_template)), replicas)


def _numbered(workload: WorkloadManifest, number: int) -> Pod:
    template = workload.template
    name = f"{template.metadata.name or template.metadata.generate_name.rstrip('-')}-{number}"
    uid = f"Pod/{template.metadata.namespace}/{name}"
    return replace(template, metadata=replace(template.metadata, name=name, uid=uid))
