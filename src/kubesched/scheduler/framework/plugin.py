"""The extension points. A plugin is a class that inherits from the points it serves.

    class PreferGreen(ScorePlugin):
        name = "PreferGreen"
        def score(self, state, pod, node):
            return 100 if node.labels.get("color") == "green" else 0

Filter and Score come in two forms. Per node (`filter`, `score`) is the simple one; over rows (`filter_nodes`,
`score_nodes`) is the fast one, which every in-tree plugin uses. Override one of the two.

Everything up to Permit runs synchronously in the scheduling cycle, so it must not block. A plugin that raises fails
the attempt of that pod with a clear error, never the process.
"""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, ClassVar, Final

import numpy as np

from kubesched.config.behaviours import Behaviour
from kubesched.objects import Pod, PodGroup
from kubesched.scheduler.columns import Integers, LabelColumn, NodeView, PodInfo, PodTemplate, Positions
from kubesched.scheduler.framework.cycle_state import CycleState
from kubesched.scheduler.framework.diagnosis import Diagnosis
from kubesched.scheduler.framework.events import ANY_EVENT, EventHint
from kubesched.scheduler.framework.handle import Handle, NominatingInfo
from kubesched.scheduler.framework.node_info import NodeInfo, node_info_at
from kubesched.scheduler.framework.pod_changes import PodChange
from kubesched.scheduler.framework.pod_group import (
    Nominations,
    Placement,
    PlacementProgress,
    PodGroupAssignments,
    PodGroupDryRun,
    PodGroupInfo,
)
from kubesched.scheduler.framework.queued_pod import QueuedPod
from kubesched.scheduler.framework.status import SUCCESS, Status
from kubesched.scheduler.framework.verdict import Verdict

MAX_SCORE: Final = 100
"""A score after normalisation lies between 0 and this, before its weight is applied."""

FIXED: Final = "fixed"
"""The `external_version` of answers that follow from the pod's template and the nodes alone, and always will."""


class DependsOn(enum.Enum):
    """What an answer about one node depends on, besides the pod's template and the plugin's `external_version`.

    NODE            the node's own facts: labels, spec, allocatable, images, declared features. Not its annotations
                    or conditions: they change with every heartbeat, and nothing is reported
    NODE_RESOURCES  the node's allocatable resources, how many pods it has, and what they request together
    NODE_AND_PODS   everything about the node and the pods on it
    ANYTHING        anything: never reused. Always right, and slower
    """

    NODE = enum.auto()
    NODE_RESOURCES = enum.auto()
    NODE_AND_PODS = enum.auto()
    ANYTHING = enum.auto()

    __hash__ = object.__hash__  # that of enumerations is a call; these are part of many keys


@dataclass(frozen=True, slots=True)
class Permission:
    """Something that a plugin writes to the API server: `Permission(PodGroup, "patch", subresource="status")`."""

    kind: type
    verb: str
    """As in RBAC: create, update, patch, delete, get."""
    subresource: str = ""


class Plugin:
    """Base of all plugins. `name` must be unique; it is what configuration files say."""

    name: ClassVar[str]

    permissions: ClassVar[Sequence[Permission]] = ()
    """What the plugin does to the API server besides reading by informers: `kubesched config rbac` prints it."""

    points_since: ClassVar[Mapping[str, Behaviour]] = {}
    """Extension points that the plugin serves only where Kubernetes' version has this behaviour."""

    depends_on: ClassVar[DependsOn] = DependsOn.ANYTHING
    """How long answers of PreFilter and Filter (and of Score, unless `score_depends_on` says otherwise) stay true."""

    time_limit: ClassVar[float] = 600.0
    """Seconds that one call of `post_filter`, `pre_bind` or `bind` may take: then the pod's attempt fails."""

    def __init__(self, args: Any = None, handle: Handle | None = None) -> None:
        """As a `PluginFactory` is called, for plugins that need neither."""

    def take_over(self, previous: Plugin) -> None:
        """The configuration was reloaded, and this plugin takes the place of `previous`, which has its name.

        Called between two decisions, before the first question. Take over here what must not be forgotten: what was
        reserved for pods that are not bound yet. Pods that are being bound stay with `previous` to the end. A plugin
        whose class and arguments have not changed is not replaced. An exception refuses the reload.
        """

    def depends_on_for(self, pod: PodTemplate) -> DependsOn:
        """`depends_on` for pods of this template: a plugin may be ANYTHING only for pods that concern it.

        It is asked again when the external version has changed.
        """
        return self.depends_on

    def external_version(self, pod: PodTemplate) -> Hashable:
        """A value that changes whenever anything outside a node's row changes that the answers for `pod` depend on.

        Only asked if `depends_on` is not ANYTHING. While it stays equal, kept answers are reused, PreFilter's included;
        when it differs, the plugin is asked again, for all nodes unless it says which (`filter_changes`,
        `score_changes`). It is called for every pod: it must be cheap. Where it is FIXED for a template, it is not
        called again.
        """
        return None

    def signature(self, pod: PodTemplate) -> Hashable:
        """All that answers from PreFilter to Score depend on of a pod: templates that agree in it share them.

        None: on anything. It is asked once per template, and again when the external version has changed. What is
        written to the state, the words of a rejection and `depends_on_for` must follow from it, too; and so must the
        external version, as far as it depends on the pod.
        """
        return None

    def concerns(self, pod: PodTemplate) -> bool:
        """Whether Reserve, Permit and PreBind have anything to do for pods of this template.

        If not, they are not called. It is asked once per template.
        """
        return True

    def events_to_register(self) -> Sequence[EventHint]:
        """Events that may make a pod schedulable which this plugin rejected. Not overridden: any event may.

        If there are none, no event does: the pod waits for other plugins that rejected it, or for the time-out. Asked
        of plugins at the points that reject pods: PreEnqueue, PreFilter, Filter, Reserve and Permit.
        """
        return (ANY_EVENT,)


PluginFactory = Callable[[Any, Handle], Plugin]
"""(typed arguments, or the mapping of an out-of-tree plugin's configuration, or None; handle) -> plugin."""


class PreEnqueuePlugin(Plugin):
    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Whether the pod may enter the active queue. Anything but success gates it until an event lifts the gate."""
        raise NotImplementedError


class QueueSortPlugin(Plugin):
    def sort_key(self, pod: QueuedPod) -> Any:
        """Pods are scheduled in ascending order of this key; it must be comparable and must not change while queued."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class PreFilterResult:
    """`node_names` limits the pod to these nodes (which need not exist); None: all nodes."""

    node_names: frozenset[str] | None = None


ALL_NODES: Final = PreFilterResult()


class PreFilterPlugin(Plugin):
    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | tuple[PreFilterResult, Status]:
        """Look at the pod once before nodes are filtered. SKIP: this plugin's Filter has nothing to say.

        Unless it depends on ANYTHING it may read only `pod.template`: the result is reused for equal pods.
        """
        raise NotImplementedError

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> Status:
        """Update `state` as if `added` ran on the node. Only for per-node filters with state of their own.

        `state` is a copy for this one node: replace what PreFilter wrote, don't change it in place.
        """
        return SUCCESS

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo) -> Status:
        """Update `state` as if `removed` no longer ran on the node."""
        return SUCCESS

    @classmethod
    def has_pre_filter_extensions(cls) -> bool:
        """Whether the plugin keeps its state up to date as pods are added and removed hypothetically."""
        return cls.add_pod is not PreFilterPlugin.add_pod or cls.remove_pod is not PreFilterPlugin.remove_pod


class FilterPlugin(Plugin):
    def filter_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Verdict:
        """Which of the nodes take the pod, and why the others do not."""
        statuses: dict[int, Status] = {}
        exists = nodes.exists
        for position in range(len(nodes)):
            if exists[position]:
                status = self._filter_one(state, nodes, position)
                if status is not None and not status.is_success:
                    statuses[position] = status
        return Verdict.of_statuses(nodes, statuses)

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        """The per-node form: None or success if the node takes the pod."""
        raise NotImplementedError

    def filter_changes(self, pod: PodTemplate, since: Hashable) -> Positions | None:
        """Rows of the node table whose answer may differ from that at the external version `since`; None: any."""
        return None

    def pod_changes(self, pod: Pod) -> Iterable[PodChange]:
        """Changes of the pod, each of which takes away a reason for which this plugin may reject it.

        They need not be enough, nor be needed: `kubesched explain` tries them, alone and in pairs.
        """
        return ()

    def _filter_one(self, state: CycleState, nodes: NodeView, position: int) -> Status | None:
        """Asks about one node; a "what if" is applied to the plugin's state first."""
        node = node_info_at(nodes, position)
        if nodes.what_if is not None and isinstance(self, PreFilterPlugin) and self.has_pre_filter_extensions():
            gone, come = nodes.what_if.changes_at(position)
            changes = [(self.remove_pod, info) for info in gone] + [(self.add_pod, info) for info in come]
            pod, state = state.pod, state.clone()
            for change, info in changes:
                status = change(state, pod, info, node)
                if not status.is_success:
                    return status
        answer: object = self.filter(state, state.pod.pod, node)
        if answer is None or isinstance(answer, Status):
            return answer
        raise TypeError(f"filter must answer with a Status or None, not {answer!r}")


@dataclass(frozen=True, slots=True)
class PostFilterResult:
    nominating: NominatingInfo | None = None


class PostFilterPlugin(Plugin):
    async def post_filter(
        self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis
    ) -> tuple[PostFilterResult | None, Status]:
        """No node fits: do something that may make one fit. Success stops the chain and may nominate a node."""
        raise NotImplementedError


class PodGroupPostFilterPlugin(Plugin):
    """What PostFilter is for a pod. Up to Kubernetes 1.36, DefaultPreemption alone served it."""

    async def pod_group_post_filter(
        self, group: PodGroup, pods: Sequence[PodInfo], dry_run: PodGroupDryRun
    ) -> tuple[Nominations, Status]:
        """The group, of which these pods have no node yet, does not fit: do something that may make it fit.

        With a success, pods wait for the nodes that are named for them.
        """
        raise NotImplementedError


class PreScorePlugin(Plugin):
    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        """Look at the feasible nodes once before they are scored. SKIP: this plugin's Score is not called.

        Unless it depends on ANYTHING, the answer, and what was written to `state`, are reused while the external
        version stays equal: they must not depend on which nodes are feasible, and of the pod on nothing but its
        template.
        """
        raise NotImplementedError


class ScorePlugin(Plugin):
    score_depends_on: ClassVar[DependsOn | None] = None
    """What PreScore and Score depend on, where it differs from the filter."""

    normalizes_by_value: ClassVar[bool] = False
    """What a raw score is normalised to follows from it and from which other raw scores there are, not from where they
    are, nor how often. Then totals are kept in which normalised scores count."""

    def score_depends_on_for(self, pod: PodTemplate) -> DependsOn:
        return self.score_depends_on or self.depends_on_for(pod)

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        """One raw score per node of the view."""
        scores = np.zeros(len(nodes), dtype=np.int64)
        exists = nodes.exists
        for position in range(len(nodes)):
            if exists[position]:
                answer: Any = self.score(state, state.pod.pod, node_info_at(nodes, position))
                try:
                    scores[position] = index(answer)  # a fraction would be cut off without a word: 0.9 would be 0
                except (TypeError, OverflowError):
                    raise TypeError(f"score must answer with an integer, not {answer!r}") from None
        return scores

    def score_by_domain(self, state: CycleState, pod: PodTemplate) -> tuple[LabelColumn, Integers] | None:
        """A label, and raw scores by the ids of its values (the last is for nodes without it), if nothing else matters.

        It is asked after PreScore, of a plugin whose scores depend on ANYTHING and that normalises by value: it then
        need not be asked about each node. None: it must.
        """
        return None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        """The per-node form."""
        raise NotImplementedError

    def score_changes(self, pod: PodTemplate, since: Hashable) -> Positions | None:
        """Rows of the node table whose raw score may differ from that at the external version `since`; None: any.

        Score is asked about them before PreScore: only for plugins whose PreScore writes nothing.
        """
        return None

    def normalize_scores(self, state: CycleState, pod: PodTemplate, scores: Integers) -> Integers:
        """Bring the raw scores of all feasible nodes to 0..100. Not overridden: they are there already."""
        return scores

    @classmethod
    def normalizes(cls) -> bool:
        return cls.normalize_scores is not ScorePlugin.normalize_scores


class ReservePlugin(Plugin):
    changes_assumed_pod: bool = False
    """Whether `assumed_pod` may return a pod other than the given one; else it is not called."""

    def assumed_pod(self, state: CycleState, pod: Pod, node_name: str) -> Pod:
        """The pod as the cache is to assume it: with what follows from its node. Called before `reserve`."""
        return pod

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Set aside what the pod needs on its node. A refusal undoes the reservations of all plugins."""
        raise NotImplementedError

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Undo. Idempotent: it also runs for plugins whose `reserve` never ran. It must not fail."""
        raise NotImplementedError


class PermitPlugin(Plugin):
    def permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, float]:
        """Approve (success), refuse, or WAIT for at most so many seconds."""
        raise NotImplementedError


class PreBindPlugin(Plugin):
    pre_binds_in_parallel: ClassVar[bool] = False
    """Whether `pre_bind` may run beside that of other plugins which say so, too (AllowParallel)."""

    def pre_bind_preflight(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """SKIP if `pre_bind` has nothing to do for this pod. Cheap: it only decides whether to nominate the node."""
        return SUCCESS

    async def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Do what must be done before the pod is bound (volumes, devices)."""
        raise NotImplementedError


class BindPlugin(Plugin):
    def bind(self, state: CycleState, pod: Pod, node_name: str) -> Awaitable[Status]:
        """Bind the pod, or SKIP to leave it to the next plugin."""
        raise NotImplementedError


class PostBindPlugin(Plugin):
    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """The pod is bound; clean up."""
        raise NotImplementedError


class PlacementGeneratePlugin(Plugin):
    def generate_placements(self, group: PodGroupInfo, within: Placement) -> tuple[Sequence[Placement], Status]:
        """Sets of nodes in each of which the whole group is tried."""
        raise NotImplementedError


class PlacementFeasiblePlugin(Plugin):
    """Not in configurations: every plugin of a profile that serves it is asked."""

    def placement_feasible(self, group: PodGroupInfo, progress: PlacementProgress) -> Status:
        """Asked before the first pod of a group is tried in a placement, and after each.

        Success: what is placed by now will do. WAIT: it may, once others are tried. Unschedulable: it never will.
        """
        raise NotImplementedError


class PlacementScorePlugin(Plugin):
    def score_placement(self, group: PodGroupInfo, assignments: PodGroupAssignments) -> int:
        """How good a placement is in which the group fits; higher is better."""
        raise NotImplementedError

    def normalize_placement_scores(self, group: PodGroupInfo, scores: Sequence[int]) -> Sequence[int]:
        """Bring the raw scores of all placements to 0..100. Not overridden: they are there already."""
        return scores


EXTENSION_POINTS: Final[Mapping[str, type[Plugin]]] = {
    "preEnqueue": PreEnqueuePlugin,
    "queueSort": QueueSortPlugin,
    "preFilter": PreFilterPlugin,
    "filter": FilterPlugin,
    "postFilter": PostFilterPlugin,
    "preScore": PreScorePlugin,
    "score": ScorePlugin,
    "reserve": ReservePlugin,
    "permit": PermitPlugin,
    "preBind": PreBindPlugin,
    "bind": BindPlugin,
    "postBind": PostBindPlugin,
    "podGroupPostFilter": PodGroupPostFilterPlugin,
    "placementGenerate": PlacementGeneratePlugin,
    "placementScore": PlacementScorePlugin,
}
"""The points of a profile's configuration, in the order of a pod's way."""


def points_served(plugin: type[Plugin]) -> tuple[str, ...]:
    """The extension points that a plugin class implements."""
    return tuple(point for point, base in EXTENSION_POINTS.items() if issubclass(plugin, base))
