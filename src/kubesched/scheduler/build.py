"""From a configuration to a scheduler: the one place where its parts are put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kubesched.config import FeatureGates, KubeSchedulerConfiguration
from kubesched.config.behaviours import POD_WIDE_RESIZE
from kubesched.errors import ConfigurationError
from kubesched.objects import Pod
from kubesched.objects.pod_resources import ResourceFeatures
from kubesched.scheduler.columns import ClusterTables
from kubesched.scheduler.engine import BYTES_FOR_EVALUATIONS, Evaluator, ProfilePlugins
from kubesched.scheduler.framework import (
    EventHint,
    ObjectStores,
    PluginFactory,
    Stopwatch,
)
from kubesched.scheduler.framework.events import ANY_EVENT
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
from kubesched.scheduler.scheduling.observer import AttemptObserver, PodGroupObserver, SilentAttempts, SilentPodGroups
from kubesched.scheduler.scheduling.pod_group_condition import PodGroupConditions
from kubesched.scheduler.scheduling.pod_group_cycle import PodGroupCycle
from kubesched.scheduler.scheduling.pod_group_preemption import PodGroupPreemption
from kubesched.scheduler.scheduling.pod_group_trial import GroupTrial
from kubesched.scheduler.scheduling.sampling import Sampler
from kubesched.scheduler.scheduling.scheduler import Scheduler
from kubesched.scheduler.scheduling.scheduling_cycle import NodeChoice, SchedulingCycle
from kubesched.scheduler.state.cache import Cache
from kubesched.scheduler.state.nominator import PodNominator
from kubesched.scheduler.state.queue import SILENT, QueueObserver, QueueSettings, SchedulingQueue


@dataclass(frozen=True, kw_only=True)
class Dependencies(ExternalServices):
    """What a scheduler needs from outside: the API server, time, randomness, and observers of what it does."""

    choose: NodeChoice | None = None
    """Which of the best nodes a pod gets, instead of a random one."""
    extenders: Sequence[CyclingExtender] = ()
    plugins: Mapping[str, PluginFactory] | None = None
    """Out-of-tree plugins by name."""
    attempt_observer: AttemptObserver = field(default_factory=SilentAttempts)
    queue_observer: QueueObserver = SILENT
    plugin_observer: PluginObserver | None = None
    """None: no calls of plugins are timed."""
    pod_group_observer: PodGroupObserver = field(default_factory=SilentPodGroups)
    assumed_ttl: float | None = None
    max_unschedulable: float = 300.0


@dataclass(frozen=True, kw_only=True)
class Assembled:
    """A scheduler and the parts that those around it talk to."""

    scheduler: Scheduler
    handlers: EventHandlers
    cache: Cache
    queue: SchedulingQueue
    objects: ObjectStores
    profiles: Mapping[str, Profile]
    evaluators: Mapping[str, Evaluator]


def build_scheduler(config: KubeSchedulerConfiguration, gates: FeatureGates, dependencies: Dependencies) -> Assembled:
    """Raises ConfigurationError with everything that is wrong in the configuration's profiles."""
    clock, attempts, tasks = dependencies.clock, dependencies.attempt_observer, BackgroundTasks()
    cluster, objects = ClusterTables(resource_features(gates)), ObjectStores()
    cache = Cache(cluster, clock, ttl=dependencies.assumed_ttl)
    nominator = PodNominator(objects.of(Pod))
    services = SharedServices(
        **services_of(dependencies, ExternalServices),
        cluster=cluster,
        objects=objects,
        gates=gates,
        nominator=nominator,
        pod_groups=cache.pod_groups,
    )
    # The queue needs the plugins' hints, and is therefore built after them.
    actions = SchedulerActions(activate=lambda pods: queue.activate(pods), start_task=tasks.start)
    profiles = _profiles(config, services, actions, dependencies)
    queue = _queue(config, profiles, nominator, gates, dependencies)

    memory = BYTES_FOR_EVALUATIONS // len(profiles)
    evaluators = {
        name: _evaluator(profile, cluster, nominator, dependencies, memory) for name, profile in profiles.items()
    }
    failure = FailureHandler(queue, objects, cluster.templates.info, tasks.start, clock, attempts)
    chain, sampler = ExtenderChain(dependencies.extenders), Sampler(cache, config.percentage_of_nodes_to_score)
    cycles = {
        n: SchedulingCycle(profile, evaluators[n], cache, chain, sampler, dependencies.choose)
        for n, profile in profiles.items()
    }
    announces = gates.enabled("NominatedNodeNameForExpectation")
    bindings = {
        n: BindingCycle(profile, cache, queue, chain, failure, clock, attempts, announces=announces)
        for n, profile in profiles.items()
    }
    pod_groups = PodGroupCycle(
        profiles,
        cycles,
        bindings,
        _group_trials(profiles, cycles, cluster, gates, dependencies, attempts),
        queue=queue,
        pod_groups=cache.pod_groups,
        failure=failure,
        conditions=PodGroupConditions(objects, clock),
        start_task=tasks.start,
        clock=clock,
        observer=dependencies.pod_group_observer,
        preemption=PodGroupPreemption(cache, objects) if gates.enabled("WorkloadAwarePreemption") else None,
    )
    scheduler = Scheduler(
        profiles,
        cycles,
        bindings,
        cache=cache,
        queue=queue,
        failure=failure,
        tasks=tasks,
        clock=clock,
        observer=attempts,
        pod_groups=pod_groups if gates.enabled("GenericWorkload") else None,
    )
    handlers = EventHandlers(
        cache,
        queue,
        objects,
        profiles.keys(),
        rejects_waiting=lambda pod: actions.waiting.reject(pod.metadata.uid),
        wakes_on_new_pods=gates.enabled("GangScheduling"),
        tainted_slices=TaintedSlices(objects) if gates.enabled("DRADeviceTaintRules") else None,
    )
    return Assembled(
        scheduler=scheduler,
        handlers=handlers,
        cache=cache,
        queue=queue,
        objects=objects,
        profiles=profiles,
        evaluators=evaluators,
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


def _profiles(
    config: KubeSchedulerConfiguration, services: SharedServices, actions: SchedulerActions, dependencies: Dependencies
) -> dict[str, Profile]:
    registry = merged_registry(IN_TREE, dependencies.plugins or {})
    observer = dependencies.plugin_observer or SilentObserver()
    profiles: dict[str, Profile] = {}
    problems: list[str] = []
    for profile_config in config.profiles:
        try:
            profile = Profile(profile_config, registry, services, actions, observer)
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


def _queue(
    config: KubeSchedulerConfiguration,
    profiles: Mapping[str, Profile],
    nominator: PodNominator,
    gates: FeatureGates,
    dependencies: Dependencies,
) -> SchedulingQueue:
    settings = QueueSettings(
        initial_backoff=config.pod_initial_backoff_seconds,
        max_backoff=config.pod_max_backoff_seconds,
        max_unschedulable=dependencies.max_unschedulable,
        pop_from_backoff=gates.enabled("SchedulerPopFromBackoffQ"),
        pod_groups=gates.enabled("GenericWorkload"),
        resource_features=resource_features(gates),
    )
    return SchedulingQueue(
        next(iter(profiles.values())).queue_sort,
        dependencies.clock,
        pre_enqueue={name: profile.pre_enqueues for name, profile in profiles.items()},
        hints={name: _hints(profile, dependencies) for name, profile in profiles.items()},
        settings=settings,
        nominator=nominator,
        observer=dependencies.queue_observer,
    )


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
    evaluator = Evaluator(plugins, cluster, nominator, dependencies.random, _stopwatch(profile, dependencies), memory)
    profile.handle.engine = evaluator
    return evaluator


def _group_trials(
    profiles: Mapping[str, Profile],
    cycles: Mapping[str, SchedulingCycle],
    cluster: ClusterTables,
    gates: FeatureGates,
    dependencies: Dependencies,
    attempts: AttemptObserver,
) -> dict[str, GroupTrial]:
    topology_aware = gates.enabled("TopologyAwareWorkloadScheduling")
    return {
        name: GroupTrial(
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
