"""Bind a pod to a node (`BindingREST` upstream)."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.apiserver import status
from kubesched.cluster.apiserver.problems import Problem, required, unsupported
from kubesched.cluster.apiserver.resource import Resource
from kubesched.cluster.apiserver.schema import conform
from kubesched.cluster.apiserver.storage import Entry
from kubesched.cluster.apiserver.verbs.writing import Writer
from kubesched.errors import RequestRefusedError
from kubesched.objects.base import Json

TOPOLOGY_LABELS: Final = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


class Binder:
    def __init__(self, writer: Writer, pods: Resource, nodes: Resource) -> None:
        self._writer = writer
        self._pods = pods
        self._nodes = writer.bucket(nodes)

    def bind(self, binding: Json, name: str, namespace: str, *, dry_run: bool = False) -> Entry:
        """Assign the pod to the binding's target. A pod is bound once: everything else is a conflict."""
        if wrong := conform("core.v1.Binding", binding).wrong:
            raise status.bad_request(f'Binding in version "v1" cannot be handled as a Binding: {wrong}')
        metadata, target = binding.get("metadata") or {}, binding.get("target") or {}
        if metadata.get("name") != name:
            raise status.bad_request("name in URL does not match name in Binding object")
        if problems := _problems(target):
            listed = str(problems[0]) if len(problems) == 1 else f"[{', '.join(map(str, problems))}]"
            raise RequestRefusedError(500, "", listed)
        found = self._writer.bucket(self._pods).get(namespace, name)
        if found is None:
            raise status.not_found(self._pods, name)
        pod = found.decode()
        self._check(pod, metadata)
        pod["spec"]["nodeName"] = target["name"]
        self._annotate(pod["metadata"], metadata, target["name"])
        pod_status = pod.setdefault("status", {})
        pod_status.pop("nominatedNodeName", None)
        _set_scheduled(pod_status, self._writer.now())
        return self._writer.replace(self._pods, found, {}, pod, dry_run=dry_run)

    def _check(self, pod: Json, binding: Json) -> None:
        metadata, spec = pod["metadata"], pod["spec"]
        name = metadata["name"]
        for key, label in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
            if binding.get(key) and binding[key] != metadata[key]:
                given, stored = binding[key], metadata[key]
                why = f"Precondition failed: {label} in precondition: {given}, {label} in object meta: {stored}"
                raise status.conflict(self._pods, name, why)
        why = ""
        if metadata.get("deletionTimestamp"):
            why = f"pod {name} is being deleted, cannot be assigned to a host"
        elif spec.get("nodeName"):
            why = f'pod {name} is already assigned to node "{spec["nodeName"]}"'
        elif spec.get("schedulingGates"):
            why = f"pod {name} has non-empty .spec.schedulingGates"
        if why:
            raise status.conflict(_PODS_BINDING, name, why)

    def _annotate(self, pod: Json, binding: Json, node_name: str) -> None:
        if annotations := binding.get("annotations"):
            pod.setdefault("annotations", {}).update(annotations)
        labels = (binding.get("labels") or {}) | self._topology_labels(node_name)
        if labels:
            pod.setdefault("labels", {}).update(labels)

    def _topology_labels(self, node_name: str) -> dict[str, str]:
        """What a pod learns of where its node is (`PodTopologyLabels` upstream)."""
        node = self._nodes.get("", node_name)
        return {} if node is None else {key: node.labels[key] for key in TOPOLOGY_LABELS if key in node.labels}


class _PodsBinding:
    group, kind, plural = "", "Pod", "pods/binding"


_PODS_BINDING = _PodsBinding()


def _problems(target: Json) -> list[Problem]:
    problems = []
    if target.get("kind") not in (None, "", "Node"):
        problems.append(unsupported("target.kind", target["kind"], ("Node", "<empty>")))
    if not target.get("name"):
        problems.append(required("target.name"))
    return problems


def _set_scheduled(pod_status: Json, now: str) -> None:
    conditions = pod_status.setdefault("conditions", [])
    scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
    for index, condition in enumerate(conditions):
        if condition.get("type") == "PodScheduled":
            if condition.get("status") == "True":
                scheduled["lastTransitionTime"] = condition.get("lastTransitionTime")
            conditions[index] = scheduled
            return
    conditions.append(scheduled)
