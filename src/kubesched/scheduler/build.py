"""From a configuration to a scheduler: the one place where its parts are put together."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypedDict

from kubesched.config import FeatureGates, KubeSchedulerConfiguration
from kubesched.config.behaviours import GROUPS_ARE_DECIDED_AS_ONE, POD_WIDE_RESIZE, RULES_NEED_A_SELECTOR
from kubesched.errors import ConfigurationError
from kubesched.objects import Pod, PodGroup
from kubesched.objects.pod_resources import ResourceFeatures
from kubesched.scheduler.columns import ClusterTables
from kubesched.scheduler.engine import BYTES_FOR_EVALUATIONS, Evaluator, ProfilePlugins
from kubesched.scheduler.framework import (
    EventHint,
    ObjectStores,
    PluginFactory,
    PodInfo,
    Stopwatch,
)
from kubesched.scheduler.framework.events import ANY_EVENT
from kubesched.scheduler.framework.fetches import Fetches
from kubesched.scheduler.framework.handle import ExternalServices, SharedServices, services_of
from kubesched.scheduler.plugins.registry import IN_TREE
from kubesched.scheduler.runtime.handle import SchedulerActions
from kubesched.scheduler.runtime.observer import PluginObserver, SilentObserver
from kubesched.scheduler.runtime.plugin_building import merged_registry
from kubesched.scheduler.runtime.profile import Profile
from kubesched.scheduler.scheduling.background_tasks import BackgroundTasks
from kubesched.scheduler.scheduling.binding_cycle import BindingCycle
from kubesched.scheduler.scheduling.device_taint_rules import TaintedSlices
from kubesched.scheduler.scheduling.event_handlers import EventHandlers
from kubesched.scheduler.scheduling.extenders import EXTENDER, CyclingExtender, ExtenderChain
from kubesched.scheduler.scheduling.failure import FailureHandler
from kubesched.scheduler.scheduling.observer import (
    AttemptObserver,
    DecisionObserver,
    PodGroupObserver,
    SilentAttempts,
    SilentPodGroups,
)
from kubesched.scheduler.scheduling.pod_group_as_one import GroupRules, TrialAsOne
from kubesched.scheduler.scheduling.pod_group_condition import INITIALLY_SCHEDULED, SCHEDULED, PodGroupConditions
from kubesched.scheduler.scheduling.pod_group_cycle import PodGroupCycle
from kubesched.scheduler.scheduling.pod_group_preemption import PodGroupPostFilters, PodGroupPreemption
from kubesched.scheduler.scheduling.pod_group_trial import GroupTrial
from kubesched.scheduler.scheduling.sampling import Sampler
from kubesched.scheduler.scheduling.scheduler import Scheduler
from kubesched.scheduler.scheduling.scheduling_cycle import NodeChoice, SchedulingCycle
from kubesched.scheduler.state.cache import Cache
from kubesched.scheduler.state.nominator import PodNominator
from kubesched.scheduler.state.queue import SILENT, QueueObserver, QueueSettings, SchedulingQueue
from kubesched.scheduler.state.queue.gate import PreEnqueuePerProfile
from kubesched.scheduler.state.queue.hints import HintsPerProfile


@dataclass(frozen=True, kw_only=True)
class Dependencies(ExternalServices):
    """What a scheduler needs from outside: the API server, time, randomness, and observers of what it does."""

    choose: NodeChoice | None = None
    """Which of the best nodes a pod gets, instead of a random one."""
    extenders: Sequence[CyclingExtender] = ()
    plugins: Mapping[str, PluginFactory] | None = None
    """Out-of-tree plugins by name."""
    attempt_observer: AttemptObserver = field(default_factory=SilentAttempts)
    decision_observer: DecisionObserver | None = None
    queue_observer: QueueObserver = SILENT
    plugin_observer: PluginObserver | None = None
    """None: no calls of plugins are timed."""
    pod_group_observer: PodGroupObserver = field(default_factory=SilentPodGroups)
    plugin_failed: Callable[[str, str], None] = lambda plugin, problem: None
    """Called with the name of a plugin that raised, and with what."""
    assumed_ttl: float | None = None
    max_unschedulable: float = 300.0


@dataclass(kw_only=True)
class Policy:
    """All that follows from a configuration and its plugins, by scheduler name: what a reload replaces."""

    config: KubeSchedulerConfiguration
    profiles: dict[str, Profile]
    evaluators: dict[str, Evaluator] = field(default_factory=dict)
    cycles: dict[str, SchedulingCycle] = field(default_factory=dict)
    bindings: dict[str, BindingCycle] = field(default_factory=dict)
    group_trials: dict[str, GroupTrial] = field(default_factory=dict)
    extenders: Sequence[CyclingExtender] = ()
    plugins: Mapping[str, PluginFactory] = field(default_factory=dict)
    """Out-of-tree ones, by name."""

    def become(self, other: Policy) -> None:
        """Whoever holds one of these mappings sees the other's entries from now on."""
        for name in ("profiles", "evaluators", "cycles", "bindings", "group_trials"):
            mine, theirs = getattr(self, name), dict(getattr(other, name))
            mine.clear()
            mine.update(theirs)
        self.config, self.extenders, self.plugins = other.config, other.extenders, other.plugins


@dataclass(frozen=True, kw_only=True)
class Foundation:
    """What lives as long as the process, whatever the configuration."""

    gates: FeatureGates
    dependencies: Dependencies
    services: SharedServices
    actions: SchedulerActions
    cache: Cache
    nominator: PodNominator
    tasks: BackgroundTasks
    extenders: list[CyclingExtender]
    """Of the configuration of now: plugins hold the list."""


@dataclass(frozen=True, kw_only=True)
class Assembled:
    """A scheduler and the parts that those around it talk to."""

    scheduler: Scheduler
    handlers: EventHandlers
    cache: Cache
    queue: SchedulingQueue
    objects: ObjectStores
    fetches: Fetches
    profiles: Mapping[str, Profile]
    evaluators: Mapping[str, Evaluator]
    foundation: Foundation
    policy: Policy
    failure: FailureHandler


def build_scheduler(config: KubeSchedulerConfiguration, gates: FeatureGates, dependencies: Dependencies) -> Assembled:
    """Raises ConfigurationError with everything that is wrong in the configuration's profiles."""
    # The queue needs the plugins' hints, and is therefore built after them.
    foundation = _foundation(gates, dependencies, activate=lambda pods: queue.activate(pods))
    services, cache, tasks, clock = foundation.services, foundation.cache, foundation.tasks, dependencies.clock
    objects = services.objects
    profiles = build_profiles(config, foundation, dependencies)
    queue = SchedulingQueue(
        next(iter(profiles.values())).queue_sort,
        clock,
        nominator=foundation.nominator,
        observer=dependencies.queue_observer,
        **queue_parts(config, profiles, foundation, dependencies),
    )
    services.fetches.changed = lambda event: queue.move_all(event, None, None)
    attempts = dependencies.attempt_observer
    info_of, plugin_failed = cache.cluster.templates.info, dependencies.plugin_failed
    failure = FailureHandler(queue, objects, info_of, tasks.start, clock, attempts, plugin_failed)
    policy = build_policy(config, profiles, foundation, dependencies, queue, failure)
    for name, evaluator in policy.evaluators.items():
        profiles[name].handle.engine = evaluator
    pod_groups = PodGroupCycle(
        policy.profiles,
        policy.cycles,
        policy.bindings,
        policy.group_trials,
        queue=queue,
        pod_groups=cache.pod_groups,
        failure=failure,
        conditions=PodGroupConditions(
            objects, clock, INITIALLY_SCHEDULED if gates.follows(GROUPS_ARE_DECIDED_AS_ONE) else SCHEDULED
        ),
        start_task=tasks.start,
        clock=clock,
        observer=dependencies.pod_group_observer,
        preemption=_group_preemption(cache, objects, gates),
        as_one=_group_rules(cache, objects, gates),
    )
    scheduler = Scheduler(
        policy.profiles,
        policy.cycles,
        policy.bindings,
        cache=cache,
        queue=queue,
        failure=failure,
        tasks=tasks,
        clock=clock,
        observer=attempts,
        pod_groups=pod_groups if gates.enabled("GenericWorkload") else None,
    )
    return Assembled(
        scheduler=scheduler,
        handlers=_handlers(foundation, queue, tuple(profiles)),
        cache=cache,
        queue=queue,
        objects=objects,
        fetches=services.fetches,
        profiles=policy.profiles,
        evaluators=policy.evaluators,
        foundation=foundation,
        policy=policy,
        failure=failure,
    )


def build_policy(
    config: KubeSchedulerConfiguration,
    profiles: dict[str, Profile],
    foundation: Foundation,
    dependencies: Dependencies,
    queue: SchedulingQueue,
    failure: FailureHandler,
) -> Policy:
    """What decides and binds by these profiles. Nothing of a running scheduler is touched."""
    cache, gates, clock = foundation.cache, foundation.gates, dependencies.clock
    attempts, cluster = dependencies.attempt_observer, foundation.cache.cluster
    memory = BYTES_FOR_EVALUATIONS // len(profiles)
    evaluators = {
        name: _evaluator(profile, cluster, foundation.nominator, dependencies, memory)
        for name, profile in profiles.items()
    }
    chain, sampler = ExtenderChain(dependencies.extenders), Sampler(cache, config.percentage_of_nodes_to_score)
    cycles = {
        n: SchedulingCycle(
            profile, evaluators[n], cache, chain, sampler, dependencies.choose, dependencies.decision_observer
        )
        for n, profile in profiles.items()
    }
    announces = gates.enabled("NominatedNodeNameForExpectation")
    return Policy(
        config=config,
        profiles=profiles,
        evaluators=evaluators,
        cycles=cycles,
        bindings={
            n: BindingCycle(profile, cache, queue, chain, failure, clock, attempts, announces=announces)
            for n, profile in profiles.items()
        },
        group_trials=_group_trials(profiles, cycles, cluster, gates, dependencies, attempts),
        extenders=dependencies.extenders,
        plugins=dependencies.plugins or {},
    )


def _foundation(
    gates: FeatureGates, dependencies: Dependencies, activate: Callable[[Iterable[PodInfo]], None]
) -> Foundation:
    cluster, objects, tasks = ClusterTables(resource_features(gates)), ObjectStores(), BackgroundTasks()
    cache, nominator = Cache(cluster, dependencies.clock, ttl=dependencies.assumed_ttl), PodNominator(objects.of(Pod))
    extenders = list(dependencies.extenders)
    services = SharedServices(
        **{**services_of(dependencies, ExternalServices), "extenders": extenders},
        cluster=cluster,
        objects=objects,
        gates=gates,
        nominator=nominator,
        pod_groups=cache.pod_groups,
        fetches=Fetches(dependencies.clock),
    )
    return Foundation(
        gates=gates,
        dependencies=dependencies,
        services=services,
        actions=SchedulerActions(activate=activate, start_task=tasks.start),
        cache=cache,
        nominator=nominator,
        tasks=tasks,
        extenders=extenders,
    )


def _handlers(foundation: Foundation, queue: SchedulingQueue, names: Container[str]) -> EventHandlers:
    gates, objects, waiting = foundation.gates, foundation.services.objects, foundation.actions.waiting
    return EventHandlers(
        foundation.cache,
        queue,
        objects,
        names,
        rejects_waiting=lambda pod: waiting.reject(pod.metadata.uid),
        wakes_on_new_pods=gates.enabled("GangScheduling"),
        tainted_slices=TaintedSlices(objects, need_selector=gates.follows(RULES_NEED_A_SELECTOR))
        if gates.enabled("DRADeviceTaintRules")
        else None,
    )


def resource_features(gates: FeatureGates) -> ResourceFeatures:
    """The gates that change how a pod's requests are computed."""
    return ResourceFeatures(
        in_place_resize=gates.enabled("InPlacePodVerticalScaling"),
        in_place_pod_level_resize=gates.enabled("InPlacePodLevelResourcesVerticalScaling"),
        pod_level_resources=gates.enabled("PodLevelResources"),
        node_allocatable_claims=gates.enabled("DRANodeAllocatableResources"),
        pod_wide_resize=gates.follows(POD_WIDE_RESIZE),
    )


def build_profiles(
    config: KubeSchedulerConfiguration,
    foundation: Foundation,
    dependencies: Dependencies,
    previous: Mapping[str, Profile] = MappingProxyType({}),
) -> dict[str, Profile]:
    """The profiles with their plugins; what they share with `previous` ones is not made again. ConfigurationError."""
    registry = merged_registry(IN_TREE, dependencies.plugins or {})
    observer = dependencies.plugin_observer or SilentObserver()
    profiles: dict[str, Profile] = {}
    problems: list[str] = []
    for one in config.profiles:
        before = previous.get(one.scheduler_name)
        try:
            profile = Profile(one, registry, foundation.services, foundation.actions, observer, before)
        except ConfigurationError as error:
            problems += error.problems
        else:
            profiles[profile.name] = profile
    sorts = {type(profile.queue_sort).name for profile in profiles.values()}
    if len(sorts) > 1:
        problems.append(f"all profiles must use the same queue sort plugin, not {', '.join(sorted(sorts))}")
    if problems:
        raise ConfigurationError(problems)
    return profiles


class QueueParts(TypedDict):
    """What the queue takes from a configuration and its plugins, besides the order of pods."""

    pre_enqueue: PreEnqueuePerProfile
    hints: HintsPerProfile
    settings: QueueSettings


def queue_parts(
    config: KubeSchedulerConfiguration,
    profiles: Mapping[str, Profile],
    foundation: Foundation,
    dependencies: Dependencies,
) -> QueueParts:
    gates = foundation.gates
    settings = QueueSettings(
        initial_backoff=config.pod_initial_backoff_seconds,
        max_backoff=config.pod_max_backoff_seconds,
        max_unschedulable=dependencies.max_unschedulable,
        pop_from_backoff=gates.enabled("SchedulerPopFromBackoffQ"),
        pod_groups=gates.enabled("GenericWorkload"),
        resource_features=resource_features(gates),
    )
    return {
        "pre_enqueue": {name: profile.pre_enqueues for name, profile in profiles.items()},
        "hints": {name: _hints(profile, dependencies) for name, profile in profiles.items()},
        "settings": settings,
    }


def _hints(profile: Profile, dependencies: Dependencies) -> Mapping[str, Sequence[EventHint]]:
    """Any event wakes a pod that an extender rejected: nobody knows what extenders look at."""
    return {**profile.event_hints(), EXTENDER: (ANY_EVENT,)} if dependencies.extenders else profile.event_hints()


def _stopwatch(profile: Profile, dependencies: Dependencies) -> Stopwatch | None:
    observer = dependencies.plugin_observer
    return Stopwatch(observer, dependencies.clock, profile.name) if observer is not None else None


def _evaluator(
    profile: Profile, cluster: ClusterTables, nominator: PodNominator, dependencies: Dependencies, memory: int
) -> Evaluator:
    plugins = ProfilePlugins(
        pre_filters=profile.pre_filters,
        filters=profile.filters,
        pre_scores=profile.pre_scores,
        scores=[(plugin, profile.score_weights[plugin.name]) for plugin in profile.scores],
    )
    return Evaluator(plugins, cluster, nominator, dependencies.random, _stopwatch(profile, dependencies), memory)


def _group_trials(
    profiles: Mapping[str, Profile],
    cycles: Mapping[str, SchedulingCycle],
    cluster: ClusterTables,
    gates: FeatureGates,
    dependencies: Dependencies,
    attempts: AttemptObserver,
) -> dict[str, GroupTrial]:
    topology_aware = gates.enabled("TopologyAwareWorkloadScheduling")
    trial = TrialAsOne if gates.follows(GROUPS_ARE_DECIDED_AS_ONE) else GroupTrial
    return {
        name: trial(
            profile,
            cycles[name],
            cluster,
            dependencies.random,
            dependencies.clock,
            attempts,
            topology_aware=topology_aware,
        )
        for name, profile in profiles.items()
    }


def _group_preemption(cache: Cache, objects: ObjectStores, gates: FeatureGates) -> PodGroupPreemption | None:
    if gates.follows(GROUPS_ARE_DECIDED_AS_ONE):
        return PodGroupPostFilters(cache, objects)
    return PodGroupPreemption(cache, objects) if gates.enabled("WorkloadAwarePreemption") else None


def _group_rules(cache: Cache, objects: ObjectStores, gates: FeatureGates) -> GroupRules | None:
    if not gates.follows(GROUPS_ARE_DECIDED_AS_ONE):
        return None
    own_policy = gates.enabled("PodGroupPreemptionPolicy")
    return GroupRules(objects.of(PodGroup), cache.pod_groups, own_policy=own_policy)
