"""A simulated cluster that hypotheses act on, with what controllers and the Eviction API would do in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path

from msgspec.structs import replace

from kubesched.apps.inputs.new_nodes import stays_with_node
from kubesched.apps.plan.budgets import Budgets
from kubesched.apps.plan.workloads import is_recreated, release_claims, replacement
from kubesched.apps.simulate.simulation import Preemption, Simulation
from kubesched.clock import utc
from kubesched.errors import ConfigurationError, InvalidObjectError
from kubesched.objects import Node, Pod, PodDisruptionBudget
from kubesched.objects.label_query import parse_label_selector

BARE = "nothing recreates it"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
PodPair = tuple[Pod | None, Pod | None]


class Timing(StrEnum):
    """How pods that go at once are followed by their successors: nobody knows in which order controllers act."""

    TOGETHER = "together"
    REVERSED = "reversed"
    ONE_BY_ONE = "one by one"


class State:
    """A branch of a simulation: whatever is done to it is undone on leaving `with`.

    Pods that go are made again by their controllers at once, under their old names, so that one can follow them; those
    that were evicted for others, too. What cannot be seen in the pods afterwards is noted in the attributes.
    """

    def __init__(self, simulation: Simulation, *, notes_ties: bool = True, timing: Timing = Timing.TOGETHER) -> None:
        self._notes_ties = notes_ties
        self._timing = timing
        self.simulation = simulation
        self.gone: dict[str, str] = {}
        """Why a pod is gone for good."""
        self.blocked: dict[str, str] = {}
        """Why a pod could not be evicted."""
        self.preemptions: list[Preemption] = []
        self.lost: list[Node] = []
        self._before: dict[str, Pod | None] = {}  # of pods that changed before `configure`
        self._seen = 0
        self._exits = ExitStack()

    def __enter__(self) -> State:
        self._exits.enter_context(self.simulation.branch(notes_ties=self._notes_ties))
        self._seen = len(self.simulation.preemptions)
        return self

    def __exit__(self, *error: object) -> None:
        self._exits.close()

    # ---- looking ----------------------------------------------------------------------------------------------

    def nodes(self, which: str) -> list[Node]:
        """The node of this name, or all that a label selector selects, sorted by name. ConfigurationError if none."""
        named = self.simulation.get(Node, which)
        if named is not None:
            return [named]
        try:
            selector = parse_label_selector(which)
        except InvalidObjectError as error:
            raise ConfigurationError([f"no node is named {which!r}, and it is no label selector: {error}"]) from error
        found = [node for node in self.simulation.objects(Node) if selector.matches(node.metadata.labels)]
        if not found:
            raise ConfigurationError([f"no node is named {which!r}, and none has such labels"])
        return sorted(found, key=lambda node: node.metadata.name)

    def changed_pods(self) -> dict[str, PodPair]:
        """Before and now, of all pods that have changed, sorted by name."""
        changed = self.simulation.changed_pods()
        for key, before in self._before.items():
            now = changed[key][1] if key in changed else self.simulation.get(Pod, key)
            changed[key] = before, now
        return {key: changed[key] for key in sorted(changed)}

    # ---- pods come and go -------------------------------------------------------------------------------------

    def let_go(self, pods: Iterable[Pod], why: str) -> None:
        """These pods go, whatever budgets say. Their controllers make them again; those of none are gone for good."""
        successors = []
        for pod in pods:
            self.blocked.pop(pod.key, None)
            successor = self._successor(pod)
            self.simulation.remove(pod)
            if successor is None:
                self.gone[pod.key] = f"{why}: {BARE}"
            elif self._timing is Timing.ONE_BY_ONE:
                self.simulation.add(successor)
                self.simulation.settle()
            else:
                successors.append(successor)
        self.simulation.add(*(successors if self._timing is Timing.TOGETHER else reversed(successors)))

    def delete(self, pods: Iterable[Pod], why: str) -> None:
        """These pods go, and nobody makes them again."""
        for pod in pods:
            self.gone[pod.key] = why
            self.blocked.pop(pod.key, None)
            release_claims(pod, None, self.simulation)
            self.simulation.remove(pod)

    def evict(self, pods: Iterable[Pod], why: str) -> None:
        """Evict as `kubectl drain` does: all that budgets allow now, then again once their successors run elsewhere.

        Those that are left when nothing moves any more are `blocked`.
        """
        waiting = [pod for pod in pods if not stays_with_node(pod)]
        budgets = Budgets(self.simulation.objects(PodDisruptionBudget))
        while waiting:
            budgets.recount(self.simulation.objects(Pod) if budgets else ())
            evicted, refused = [], []
            for pod in waiting:
                if self.simulation.get(Pod, pod.metadata.name, pod.metadata.namespace) is not pod:
                    continue  # preempted meanwhile
                if problem := budgets.obstacle(pod):
                    refused.append(pod)
                    self.blocked[pod.key] = problem
                    continue
                budgets.spend(pod)
                evicted.append(pod)
            if not evicted:
                return
            self.let_go(evicted, why)
            self.settle()
            waiting = refused

    def settle(self, *, retry: bool = False) -> None:
        """Let the scheduler come to rest. Pods that it preempts are made again, and wait or find another place.

        `retry` as that of `Simulation.settle`: what comes then does not depend on what happened before.
        """
        simulation = self.simulation
        while True:
            simulation.settle(retry=retry)
            news = simulation.preemptions[self._seen :]
            self._seen = len(simulation.preemptions)
            self.preemptions += news
            victims = [one for one in news if not simulation.get(Pod, one.victim.key)]
            successors = []
            for one in victims:
                successor = self._successor(one.victim)
                if successor is None:
                    self.gone[one.victim.key] = f"preempted by {one.preemptor}: {BARE}"
                else:
                    successors.append(successor)
            if not successors:
                return
            simulation.add(*successors)

    # ---- nodes come, change and go ----------------------------------------------------------------------------

    def cordon(self, nodes: Iterable[Node]) -> None:
        self.simulation.add(*(replace(node, spec=replace(node.spec, unschedulable=True)) for node in nodes))

    def uncordon(self, nodes: Iterable[Node]) -> None:
        """Open the nodes again; the taint of a cordoned node goes with it."""
        for node in nodes:
            taints = tuple(taint for taint in node.spec.taints if taint.key != UNSCHEDULABLE)
            self.simulation.add(replace(node, spec=replace(node.spec, unschedulable=False, taints=taints)))

    def lose(self, nodes: Sequence[Node], why: str) -> None:
        """The nodes are gone, with what runs on them."""
        self.cordon(nodes)
        for node in nodes:
            pods = self.simulation.pods_on(node.metadata.name)
            staying = [pod for pod in pods if stays_with_node(pod) or pod.is_terminating]
            self.delete(staying, why)
            self.let_go([pod for pod in pods if pod not in staying], why)
        for node in nodes:
            self.simulation.remove(node)
        self.lost += nodes

    # ---- the scheduler changes --------------------------------------------------------------------------------

    def configure(self, config: str | Path) -> None:
        """From now on a scheduler with this configuration decides."""
        for key, (before, _) in self.simulation.changed_pods().items():
            self._before.setdefault(key, before)
        self.simulation = self._exits.enter_context(self.simulation.with_config(config))
        self._exits.enter_context(self.simulation.branch())
        self._seen = 0

    # ---- the steps that the above share -----------------------------------------------------------------------

    def _successor(self, pod: Pod) -> Pod | None:
        if not is_recreated(pod) or pod.is_terminating:
            return None
        successor = replacement(pod, utc(self.simulation.clock))
        release_claims(pod, successor, self.simulation)
        return successor
