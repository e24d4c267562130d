"""Extenders have a say: they may strike candidates and change their victims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubesched.errors import KubeschedError
from kubesched.objects import Pod
from kubesched.scheduler.framework import ClusterTables, Extender, Victims
from kubesched.telemetry.logging import log


class NoVictimsError(KubeschedError):
    """A candidate without victims makes no sense: the pod would have fitted there."""

    def __init__(self, node: str) -> None:
        self.node = node
        super().__init__(f'expected at least one victim pod on node "{node}"')


async def ask_extenders(
    extenders: Sequence[Extender], cluster: ClusterTables, pod: Pod, candidates: Mapping[str, Victims]
) -> dict[str, Victims]:
    """What the extenders leave of the candidates. Raises the error of one that fails and is not ignorable."""

    def pods_on_node(name: str) -> Sequence[Pod]:
        return [info.pod for info in cluster.pods.on_node(cluster.nodes.row_of[name])]

    left = dict(candidates)
    for extender in extenders:
        if not left:
            break
        if not extender.supports_preemption or not extender.is_interested(pod):
            continue
        try:
            answer = await extender.process_preemption(pod, left, pods_on_node)
        except KubeschedError as error:
            if not extender.is_ignorable:
                raise
            log.info("Skipping extender that failed and is ignorable", v=2, extender=extender.name, err=error)
            continue
        empty = next((node for node, victims in answer.items() if not victims.pods), None)
        if empty is not None and not extender.is_ignorable:
            raise NoVictimsError(empty)
        left = {node: victims for node, victims in answer.items() if victims.pods}
    return left
