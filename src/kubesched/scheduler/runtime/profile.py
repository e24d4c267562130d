"""A profile: the plugins of one scheduler name in order, and the calling of all extension points after Score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar, cast

import msgspec

from kubesched.config.model import ExtensionPoint, KubeSchedulerProfile
from kubesched.config.plugin_sets import expand_plugins
from kubesched.errors import ConfigurationError, PluginError, what_and_where
from kubesched.objects import Pod
from kubesched.scheduler.columns import PodTemplate
from kubesched.scheduler.framework import (
    SKIP,
    SUCCESS,
    BindPlugin,
    Code,
    CycleState,
    Diagnosis,
    EventHint,
    FilterPlugin,
    NominatingMode,
    PermitPlugin,
    PlacementFeasiblePlugin,
    PlacementGeneratePlugin,
    PlacementScorePlugin,
    Plugin,
    PluginFactory,
    PodGroupPostFilterPlugin,
    PodInfo,
    PostBindPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
    SharedServices,
    Status,
)
from kubesched.scheduler.framework.stopwatch import timed_plugin, timed_plugin_async, timed_point
from kubesched.scheduler.runtime.calling import broken, call, call_async, checked, checked_pair, explained
from kubesched.scheduler.runtime.handle import ProfileHandle, SchedulerActions
from kubesched.scheduler.runtime.observer import PluginObserver, SilentObserver
from kubesched.scheduler.runtime.placements import Placements
from kubesched.scheduler.runtime.plugin_building import REJECTING, Registry, Wants, build, events_of, points_of
from kubesched.scheduler.runtime.pre_binding import PREFLIGHT, preflight
from kubesched.telemetry.logging import log

P = TypeVar("P", bound=Plugin)


class Concerned(msgspec.Struct, frozen=True, eq=False):
    """The plugins that have something to do for pods of one template, in order."""

    reserves: tuple[ReservePlugin, ...]
    permits: tuple[PermitPlugin, ...]
    pre_binds: tuple[PreBindPlugin, ...]


class Profile:
    """Built once from the configuration. Raises ConfigurationError with everything that is wrong in it."""

    def __init__(
        self,
        config: KubeSchedulerProfile,
        registry: Registry,
        services: SharedServices,
        actions: SchedulerActions | None = None,
        observer: PluginObserver | None = None,
        previous: Profile | None = None,
    ) -> None:
        """`previous`, whose place it is to take, shares its handle, and the plugins that have not changed."""
        self.config = config
        self.name = config.scheduler_name
        self.percentage_of_nodes_to_score = config.percentage_of_nodes_to_score
        self.handle: ProfileHandle = (
            ProfileHandle(self.name, services, actions or SchedulerActions()) if previous is None else previous.handle
        )
        self._clock = services.clock
        self._observer: PluginObserver = observer or SilentObserver()
        expanded = expand_plugins(config, points_of(registry, services.gates))
        self.plugins: dict[str, Plugin] = {}
        self.wants: dict[str, Wants] = {}
        """What each plugin asked its handle to watch and to fetch."""
        for name in expanded.names():
            kept = previous is not None and previous.keeps(name, registry[name], config)
            if previous is not None and kept:
                self.plugins[name], self.wants[name] = previous.plugins[name], previous.wants[name]
            else:
                self.plugins[name], self.wants[name] = build(name, registry, config, self.handle)
        self._at = {point: tuple(self.plugins[name] for name in names) for point, names in expanded.at.items()}
        self.score_weights = expanded.weights[ExtensionPoint.SCORE]
        self.pre_enqueues = self._all(ExtensionPoint.PRE_ENQUEUE, PreEnqueuePlugin)
        self.queue_sort = self._all(ExtensionPoint.QUEUE_SORT, QueueSortPlugin)[0]
        self.pre_filters = self._all(ExtensionPoint.PRE_FILTER, PreFilterPlugin)
        self.filters = self._all(ExtensionPoint.FILTER, FilterPlugin)
        self.post_filters = self._all(ExtensionPoint.POST_FILTER, PostFilterPlugin)
        self.pre_scores = self._all(ExtensionPoint.PRE_SCORE, PreScorePlugin)
        self.scores = self._all(ExtensionPoint.SCORE, ScorePlugin)
        self._reserves = self._all(ExtensionPoint.RESERVE, ReservePlugin)
        self._changing_assumed_pod = tuple(plugin for plugin in self._reserves if plugin.changes_assumed_pod)
        self._permits = self._all(ExtensionPoint.PERMIT, PermitPlugin)
        self._all_pre_binds = self._all(ExtensionPoint.PRE_BIND, PreBindPlugin)
        self._binds = self._all(ExtensionPoint.BIND, BindPlugin)
        self._post_binds = self._all(ExtensionPoint.POST_BIND, PostBindPlugin)
        generators = self._all(ExtensionPoint.PLACEMENT_GENERATE, PlacementGeneratePlugin)
        placement_weights = expanded.weights[ExtensionPoint.PLACEMENT_SCORE]
        self.placements = Placements(
            generators[0] if generators else None,
            [(p, placement_weights[p.name]) for p in self._all(ExtensionPoint.PLACEMENT_SCORE, PlacementScorePlugin)],
            [plugin for plugin in self.plugins.values() if isinstance(plugin, PlacementFeasiblePlugin)],
        )
        self.pod_group_post_filters = self._all(ExtensionPoint.POD_GROUP_POST_FILTER, PodGroupPostFilterPlugin)

    def keeps(self, name: str, factory: PluginFactory, config: KubeSchedulerProfile) -> bool:
        """Whether a plugin of this profile is what it would be in one of the given configuration."""
        plugin = self.plugins.get(name)
        return type(plugin) is factory and self.config.args_of(name) == config.args_of(name)

    def take_over(self, previous: Profile) -> None:
        """Let plugins that take the place of others of their name take over. ConfigurationError if one refuses."""
        for name, plugin in self.plugins.items():
            before = previous.plugins.get(name)
            if before is None or before is plugin:
                continue
            try:
                plugin.take_over(before)
            except ConfigurationError:
                raise
            except Exception as error:
                raise ConfigurationError([f"plugin {name}: take_over: {what_and_where(error)}"]) from error

    @property
    def permit_names(self) -> frozenset[str]:
        """The plugins that may hold pods back."""
        return frozenset(plugin.name for plugin in self._permits)

    def plugin_names(self) -> dict[str, list[str]]:
        """Per extension point, in running order: what `kubesched config show` and conformance print."""
        return {str(point): [plugin.name for plugin in plugins] for point, plugins in self._at.items() if plugins}

    def event_hints(self) -> dict[str, Sequence[EventHint]]:
        """Per plugin that can reject a pod: the events that may change its mind."""
        return {name: events_of(plugin) for name, plugin in self.plugins.items() if isinstance(plugin, REJECTING)}

    # ---- the scheduling cycle after Score -----------------------------------------------------------------------

    async def post_filter(
        self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis
    ) -> tuple[PostFilterResult | None, Status]:
        """The first success or hopeless answer ends the round; other rejections add their reasons up."""
        last: PostFilterResult | None = None
        reasons: list[str] = []
        rejector = ""
        for plugin in self.post_filters:
            try:
                ask = timed_plugin_async(
                    state.stopwatch, plugin.name, "PostFilter", plugin.post_filter, state, pod, diagnosis
                )
                result, status = checked_pair(await ask, "a result and a Status")
                checked(status)
            except Exception as error:
                return None, broken(plugin, "PostFilter", error)
            if status.is_success:
                return result, status
            if status.code is Code.UNRESOLVABLE:
                return result, status.by(plugin.name)
            if not status.is_rejection:
                return None, status.by(plugin.name)
            if result is not None and result.nominating and result.nominating.mode is not NominatingMode.NOOP:
                last = result
            reasons += status.reasons
            rejector = rejector or plugin.name
        return last, Status(Code.UNSCHEDULABLE, tuple(reasons), rejector)

    def assumed_pod(self, state: CycleState, info: PodInfo, node_name: str) -> PodInfo:
        """The pod as the cache is to assume it; mostly as it was. PluginError if a plugin raises."""
        pod = info.pod
        for plugin in self._changing_assumed_pod:
            try:
                pod = plugin.assumed_pod(state, pod, node_name)
            except Exception as error:
                raise PluginError.raised(plugin.name, "Reserve", error) from error
        return info if pod is info.pod else self.handle.cluster.templates.info(pod)

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        for plugin in self._concerned(state).reserves:
            status = call(plugin, "Reserve", plugin.reserve, state, pod, node_name)
            if not status.is_success:
                return status
        return SUCCESS

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """In reverse order, for every plugin: one that fails does not keep the others from undoing theirs."""
        for plugin in reversed(self._reserves):
            try:
                timed_plugin(state.stopwatch, plugin.name, "Unreserve", plugin.unreserve, state, pod, node_name)
            except Exception as error:
                _report(plugin, "Unreserve", error)

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Success, a refusal, or WAIT: then the pod is among the waiting pods until it is decided."""
        if not self._permits:
            return SUCCESS
        status, waits = self.ask_permit(state, pod, node_name)
        if waits:
            self.handle.waiting.add(pod, waits, self._clock)
        return status

    def ask_permit(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, Mapping[str, float]]:
        """What the Permit plugins say, and how many seconds each plugin that said WAIT wants to wait."""
        waits: dict[str, float] = {}
        reasons: tuple[str, ...] = ()
        for plugin in self._concerned(state).permits:
            try:
                answer = timed_plugin(state.stopwatch, plugin.name, "Permit", plugin.permit, state, pod, node_name)
                status, seconds = checked_pair(answer, "a Status and seconds")
                if checked(status).is_wait and not seconds > 0:
                    raise ValueError(f"must wait for more than 0 seconds, not {seconds}")
            except Exception as error:
                return broken(plugin, "Permit", error), {}
            if status.is_wait:
                waits[plugin.name] = seconds
                reasons = status.reasons
            elif not status.is_success:
                return explained(plugin, "Permit", status), {}
        if not waits:
            return SUCCESS, {}
        return Status(Code.WAIT, (*reasons, "one or more plugins asked to wait and no plugin rejected pod")), waits

    # ---- the binding cycle ---------------------------------------------------------------------------------------

    def will_wait(self, pod: Pod) -> bool:
        return bool(self._permits) and self.handle.waiting.get(pod.metadata.uid) is not None

    async def wait_on_permit(self, pod: Pod) -> Status:
        uid = pod.metadata.uid
        waiting = self.handle.waiting.get(uid)
        if waiting is None:
            return SUCCESS
        started = self._clock.monotonic()
        try:
            status = await waiting.decision()
        finally:
            self.handle.waiting.remove(uid)
        self._observer.permit_wait(str(status.code), self._clock.monotonic() - started)
        if status.is_success or status.is_rejection:
            return status
        return replace(status, reasons=(f"waiting on permit for pod: {status.message}",))

    def pre_bind_preflight(self, state: CycleState, pod: Pod, node_name: str) -> tuple[Status, list[PreBindPlugin]]:
        """SKIP if no PreBind plugin has anything to do; else success and those that have."""
        plugins = self.pre_binds(state)
        return timed_point(state.stopwatch, PREFLIGHT, preflight, plugins, state, pod, node_name)

    def pre_binds(self, state: CycleState) -> Sequence[PreBindPlugin]:
        """The plugins that may have something to do."""
        return self._concerned(state).pre_binds

    async def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """The first plugin that does not skip decides."""
        for plugin in self._binds:
            status = await call_async(plugin, "Bind", plugin.bind, state, pod, node_name)
            if not status.is_skip:
                return status
        return SKIP

    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        for plugin in self._post_binds:
            try:
                timed_plugin(state.stopwatch, plugin.name, "PostBind", plugin.post_bind, state, pod, node_name)
            except Exception as error:
                _report(plugin, "PostBind", error)

    # ---- calling ---------------------------------------------------------------------------------------------------

    def _concerned(self, state: CycleState) -> Concerned:
        template = state.pod.template
        concerned: Concerned | None = template.memo.get(self)
        if concerned is None:
            concerned = template.memo[self] = Concerned(
                _concerned_by(template, self._reserves),
                _concerned_by(template, self._permits),
                _concerned_by(template, self._all_pre_binds),
            )
        return concerned

    def _all(self, point: ExtensionPoint, kind: type[P]) -> tuple[P, ...]:
        return cast("tuple[P, ...]", self._at[point])


def _concerned_by(template: PodTemplate, plugins: Sequence[P]) -> tuple[P, ...]:
    concerned: list[P] = []
    for plugin in plugins:
        try:
            if plugin.concerns(template):
                concerned.append(plugin)
        except Exception as error:
            _report(plugin, "Concerns", error)
            concerned.append(plugin)
    return tuple(concerned)


def _report(plugin: Plugin, point: str, error: Exception) -> None:
    """A plugin failed where nothing can be refused any more: the log is all there is."""
    log.error("Plugin failed where it must not", PluginError.raised(plugin.name, point, error), plugin=plugin.name)
