"""A plan carried out on a cluster: one step at a time, each landing checked. The first surprise ends it.

Steps that are done already are recognised and left out, so that a plan that was interrupted can be continued. Nodes
that are cordoned for a while only are uncordoned whatever happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from kubesched.apps.plan.defrag.plan import DefragPlan
from kubesched.apps.plan.defrag.sequence import Step
from kubesched.apps.plan.defrag.text import step_text
from kubesched.apps.plan.reporting import ReportPart
from kubesched.client.paths import object_path
from kubesched.client.rest import RestClient
from kubesched.clock import Clock
from kubesched.errors import ApiStatusError, KubeschedError
from kubesched.objects import KIND_OF, Node, Pod, encode

POLL_SECONDS: Final = 0.5
PATIENCE: Final = 600.0
"""Seconds to wait for a budget to allow an eviction, for a pod to go, and for its successor to get a node."""


class Execution(ReportPart):
    """What was done. With a `surprise`, the plan was left at that point."""

    done: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    surprise: str = ""


class SurpriseError(KubeschedError):
    """The cluster is not as the plan expects it."""


async def execute(
    plan: DefragPlan,
    rest: RestClient,
    clock: Clock,
    tell: Callable[[str], None] = lambda line: None,
    patience: float = PATIENCE,
) -> Execution:
    """Take every step. ClientError if the API server fails; the temporary cordons are gone then, too."""
    run = _Run(plan, rest, clock, tell, patience)
    try:
        for step in plan.steps:
            await run.take(step)
    except SurpriseError as surprise:
        return Execution(done=tuple(run.done), skipped=tuple(run.skipped), surprise=str(surprise))
    finally:
        await run.uncordon_leftovers()
    return Execution(done=tuple(run.done), skipped=tuple(run.skipped))


class _Run:
    def __init__(
        self, plan: DefragPlan, rest: RestClient, clock: Clock, tell: Callable[[str], None], patience: float
    ) -> None:
        self._rest = rest
        self._clock = clock
        self._tell = tell
        self._patience = patience
        self._for_a_while = {name for step in plan.steps if step.action == "uncordon" for name in step.nodes}
        self._cordoned: set[str] = set()  # by us, and only for a while
        self._closed = {name for step in plan.steps if step.action == "cordon" for name in step.nodes}
        self._has_diverged = False
        """A tie has gone another way than the plan supposed: later landings may, too."""
        self.done: list[str] = []
        self.skipped: list[str] = []

    async def take(self, step: Step) -> None:
        if step.action == "evict":
            happened = await self._evict(step)
        else:
            happened = await self._set_unschedulable(step.nodes, step.action == "cordon")
        (self.done if happened else self.skipped).append(step_text(step))
        self._tell(f"{'done' if happened else 'was done already'}: {step_text(step)}")

    async def uncordon_leftovers(self) -> None:
        if self._cordoned:
            await self._set_unschedulable(sorted(self._cordoned), False)

    async def _set_unschedulable(self, names: Iterable[str], value: bool) -> bool:
        """Whether that changed anything."""
        changed = False
        for name in names:
            node = await self._node(name)
            if node.spec.unschedulable != value:
                await self._rest.patch(Node, name, {"spec": {"unschedulable": value or None}})
                changed = True
                if value and name in self._for_a_while:
                    self._cordoned.add(name)
            if not value:
                self._cordoned.discard(name)
        return changed

    async def _evict(self, step: Step) -> bool:
        """Whether the pod was still there to be evicted."""
        namespace, _, name = step.pod.rpartition("/")
        pod = await self._pod(namespace, name)
        if pod is None or pod.metadata.uid != step.uid:
            return False
        if pod.spec.node_name != step.on:
            raise SurpriseError(f"{step.pod} is on {pod.spec.node_name or 'no node'}, not on {step.on}")
        before = {one.metadata.uid for one in await self._siblings(namespace, step.owner)}
        helpers = [name for name in step.meanwhile_cordoned if not (await self._node(name)).spec.unschedulable]
        self._for_a_while |= set(helpers)
        await self._set_unschedulable(helpers, True)
        try:
            await self._ask_to_evict(step, namespace, name)
            await self._until(lambda: self._is_gone(namespace, name, step.uid), f"{step.pod} to stop")
            landed = await self._successor(step, namespace, before)
        finally:
            await self._set_unschedulable(helpers, False)
        self._check_landing(step, landed)
        return True

    def _check_landing(self, step: Step, landed: Pod) -> None:
        node, good = landed.spec.node_name, {step.lands_on, *step.tied}
        is_open = step.tied_nodes > len(step.tied) or (self._has_diverged and not step.meanwhile_cordoned)
        if node != step.lands_on:
            self._has_diverged = True
        if node not in good and (not is_open or node in self._closed):
            wanted = step.lands_on if len(good) == 1 else f"one of {', '.join(sorted(good))}"
            raise SurpriseError(f"{landed.key}, for {step.pod}, is on {node}, not on {wanted}")

    async def _ask_to_evict(self, step: Step, namespace: str, name: str) -> None:
        path = object_path(KIND_OF[Pod], name, namespace, "eviction")
        eviction: dict[str, Any] = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": {"preconditions": {"uid": step.uid}},
        }
        deadline = self._clock.monotonic() + self._patience
        while True:
            try:
                await self._rest.call("POST", path, body=encode(eviction), retries=0)
                return
            except ApiStatusError as error:
                if error.code == 404:
                    return
                if error.code != 429 or self._clock.monotonic() > deadline:
                    raise SurpriseError(f"{step.pod} cannot be evicted: {error.server_message}") from error
            await self._clock.sleep(POLL_SECONDS)

    async def _successor(self, step: Step, namespace: str, before: set[str]) -> Pod:
        """The pod that has taken the place of the evicted one, with its node."""
        found: list[Pod] = []

        async def is_there() -> bool:
            siblings = await self._siblings(namespace, step.owner)
            found[:] = [pod for pod in siblings if pod.metadata.uid not in before and pod.spec.node_name]
            return bool(found)

        await self._until(is_there, f"the successor of {step.pod} to get a node")
        return found[0]

    async def _siblings(self, namespace: str, owner: str) -> Sequence[Pod]:
        pods = await self._rest.list_all(Pod, namespace)
        return [pod for pod in pods if (own := pod.metadata.controller_of) is not None and own.uid == owner]

    async def _is_gone(self, namespace: str, name: str, uid: str) -> bool:
        pod = await self._pod(namespace, name)
        return pod is None or pod.metadata.uid != uid

    async def _node(self, name: str) -> Node:
        try:
            return await self._rest.get(Node, name)
        except ApiStatusError as error:
            if error.code != 404:
                raise
            raise SurpriseError(f"node {name} is gone") from error

    async def _pod(self, namespace: str, name: str) -> Pod | None:
        try:
            return await self._rest.get(Pod, name, namespace)
        except ApiStatusError as error:
            if error.code != 404:
                raise
            return None

    async def _until(self, is_true: Callable[[], Any], what: str) -> None:
        deadline = self._clock.monotonic() + self._patience
        while not await is_true():
            if self._clock.monotonic() > deadline:
                raise SurpriseError(f"waited {self._patience:g} s for {what}")
            await self._clock.sleep(POLL_SECONDS)
