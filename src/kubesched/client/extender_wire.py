"""What goes over the wire to an HTTP extender and back (k8s.io/kube-scheduler/extender/v1).

Go's structs there carry no JSON tags: names are sent capitalised, and read without regard to case.
Pods and nodes are sent with the fields that our structs hold, not with all that the API server knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from kubesched.objects import Node, Pod, encode, to_builtins
from kubesched.scheduler.framework import Victims

T = TypeVar("T")


class FilterResult(msgspec.Struct, frozen=True, kw_only=True):
    """Names of nodes that fit, and messages for those that do not (and that no eviction would help)."""

    fitting: tuple[str, ...] = ()
    failed: dict[str, str] = {}
    failed_unresolvable: dict[str, str] = {}
    error: str = ""


class MetaVictims(msgspec.Struct, frozen=True):
    """The UIDs of the pods to evict from a node, and how many budgets that breaks."""

    pod_uids: tuple[str, ...]
    pdb_violations: int = 0


def node_args(pod: Pod, nodes: Sequence[Node], *, names_only: bool) -> bytes:
    """ExtenderArgs: the pod, and the candidates as names or whole."""
    args: dict[str, Any] = {"Pod": pod, "Nodes": None, "NodeNames": None}
    if names_only:
        args["NodeNames"] = [node.metadata.name for node in nodes]
    else:
        args["Nodes"] = {"metadata": {}, "items": nodes}
    return encode(args)


def preemption_args(pod: Pod, victims: Mapping[str, Victims], *, names_only: bool) -> bytes:
    """ExtenderPreemptionArgs: the preemptor, and the candidates' victims as UIDs or whole."""
    args: dict[str, Any] = {"Pod": pod, "NodeNameToVictims": None, "NodeNameToMetaVictims": None}
    if names_only:
        args["NodeNameToMetaVictims"] = {
            node: {
                "Pods": [{"UID": victim.metadata.uid} for victim in chosen.pods],
                "NumPDBViolations": chosen.pdb_violations,
            }
            for node, chosen in victims.items()
        }
    else:
        args["NodeNameToVictims"] = {
            node: {"Pods": to_builtins(chosen.pods), "NumPDBViolations": chosen.pdb_violations}
            for node, chosen in victims.items()
        }
    return encode(args)


def binding_args(pod: Pod, node_name: str) -> bytes:
    """ExtenderBindingArgs."""
    metadata = pod.metadata
    return encode(
        {"PodName": metadata.name, "PodNamespace": metadata.namespace, "PodUID": metadata.uid, "Node": node_name}
    )


def parse_filter_result(body: bytes, *, prefer_names: bool) -> FilterResult:
    """Names win over nodes only with an extender that caches nodes, as upstream's Filter reads it."""
    answer = _fields(_parse(body))
    names, nodes = answer.get("nodenames"), answer.get("nodes")
    remaining: list[str] = []
    if prefer_names and names is not None:
        remaining = _typed(names, list[str])
    elif nodes is not None:
        remaining = [_node_name(node) for node in _typed(_fields(nodes).get("items") or [], list[Any])]
    return FilterResult(
        fitting=tuple(remaining),
        failed=_typed(answer.get("failednodes") or {}, dict[str, str]),
        failed_unresolvable=_typed(answer.get("failedandunresolvablenodes") or {}, dict[str, str]),
        error=_typed(answer.get("error") or "", str),
    )


def parse_priorities(body: bytes) -> dict[str, int]:
    """A HostPriorityList, as scores by node name."""
    entries = [_fields(entry) for entry in _typed(_parse(body) or [], list[Any])]
    return {_typed(entry.get("host", ""), str): _typed(entry.get("score", 0), int) for entry in entries}


def parse_preemption_result(body: bytes) -> dict[str, MetaVictims]:
    """ExtenderPreemptionResult: always as UIDs."""
    result = {}
    for node, entry in _typed(_fields(_parse(body)).get("nodenametometavictims") or {}, dict[str, Any]).items():
        chosen = _fields(entry)
        pods = _typed(chosen.get("pods") or [], list[Any])
        uids = tuple(_typed(_fields(pod).get("uid", ""), str) for pod in pods)
        result[node] = MetaVictims(uids, _typed(chosen.get("numpdbviolations", 0), int))
    return result


def parse_binding_error(body: bytes) -> str:
    """The error in an ExtenderBindingResult; empty for success."""
    return _typed(_fields(_parse(body)).get("error") or "", str)


def _parse(body: bytes) -> Any:
    return msgspec.json.decode(body)


def _fields(value: Any) -> dict[str, Any]:
    return {name.lower(): item for name, item in _typed({} if value is None else value, dict[str, Any]).items()}


def _node_name(node: Any) -> str:
    return _typed(_fields(_fields(node).get("metadata")).get("name", ""), str)


def _typed(value: Any, into: type[T]) -> T:
    return msgspec.convert(value, into)
