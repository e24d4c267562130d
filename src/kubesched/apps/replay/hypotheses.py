"""A workload made different: faster arrivals, other nodes, every pod placed afresh."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from kubesched.apps.replay.workload import PodLife, Workload, pending
from kubesched.errors import ConfigurationError
from kubesched.objects import Node
from kubesched.objects.manifests import decode_all, read_documents, split_foreign

HOSTNAME = "kubernetes.io/hostname"


def at_speed(workload: Workload, factor: float) -> Workload:
    """Everything that happens by itself comes `factor` times as fast; pods run as long as before."""
    if not factor > 0:
        raise ConfigurationError([f"a speed must be greater than 0, not {factor:g}"])
    started = workload.started

    def moved(time: float) -> float:
        return started + (time - started) / factor

    shifted = {life.uid: _shifted(life, moved(life.arrives) - life.arrives) for life in workload.lives}
    for life in workload.lives:
        if life.replacement is not None:
            shifted[life.uid].replacement = shifted[life.replacement.uid]
    return replace(
        workload,
        ended=moved(workload.ended),
        changes=[replace(change, time=moved(change.time)) for change in workload.changes],
        pod_changes=[replace(change, time=moved(change.time)) for change in workload.pod_changes],
        lives=list(shifted.values()),
    )


def with_nodes(workload: Workload, nodes: str) -> Workload:
    """Other nodes than the trace has: so many of its own (copies, if these are not enough), or those of a file.

    Changes of nodes in the trace do not happen then, and pods that lose their node arrive at the start.
    """
    own = [obj for obj in workload.objects if isinstance(obj, Node)]
    chosen = _copies(own, int(nodes)) if nodes.isdecimal() else _nodes_in(Path(nodes))
    names = {node.metadata.name for node in chosen}
    lives = [
        life if not life.pod.spec.node_name or life.pod.spec.node_name in names else _unplaced(life)
        for life in workload.lives
    ]
    others = [obj for obj in workload.objects if not isinstance(obj, Node)]
    changes = [change for change in workload.changes if not isinstance(change.object, Node)]
    return replace(workload, objects=[*chosen, *others], changes=changes, lives=lives)


def placed_afresh(workload: Workload) -> Workload:
    """Pods that had a node at the start arrive there without one, oldest first; those of DaemonSets stay."""
    lives = [life if _is_tied(life) else _unplaced(life) for life in workload.lives]
    lives.sort(key=lambda life: (life.arrives, _created(life)))
    return replace(workload, lives=lives)


def _shifted(life: PodLife, seconds: float) -> PodLife:
    times = {
        name: time + seconds
        for name in ("arrives", "bound_at", "ends", "disrupted_at")
        if (time := getattr(life, name)) is not None
    }
    return replace(life, **times)


def _unplaced(life: PodLife) -> PodLife:
    return replace(life, pod=pending(life.pod))


def _is_tied(life: PodLife) -> bool:
    owner = life.pod.metadata.controller_of
    return not life.pod.spec.node_name or (owner is not None and owner.kind in ("DaemonSet", "Node"))


def _created(life: PodLife) -> Any:
    created = life.pod.metadata.creation_timestamp
    return (created is not None, created.timestamp() if created is not None else 0.0)


def _copies(own: list[Node], count: int) -> list[Node]:
    if not own:
        raise ConfigurationError(["the trace has no nodes at its start: name a file of nodes"])
    copies = []
    for number in range(count):
        original, turn = own[number % len(own)], number // len(own)
        copies.append(original if not turn else _copy(original, f"{original.metadata.name}-copy{turn}"))
    return copies


def _copy(node: Node, name: str) -> Node:
    labels = node.metadata.labels | ({HOSTNAME: name} if HOSTNAME in node.metadata.labels else {})
    return replace(node, metadata=replace(node.metadata, name=name, uid="", labels=labels))


def _nodes_in(path: Path) -> list[Node]:
    known, _ = split_foreign(read_documents(path))
    nodes = [obj for obj in decode_all(known) if isinstance(obj, Node)]
    if not nodes:
        raise ConfigurationError([f"{path}: there is no node in it"])
    return nodes
