"""The old Policy format (`kind: Policy`, `apiVersion: v1`), translated to a configuration with one profile.

What kube-scheduler 1.22 built from a Policy (`legacy_registry.go`) is expressed as changes to today's default profile:
a plugin that no predicate names does not filter, one that no priority names does not score, and plugins that are
younger than policies (scheduling gates, dynamic resources, …) stay. Filters run in today's order; that can change which
reason is named first, not whether a node fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kubesched.config.decode import StrictDecoder
from kubesched.config.document import Document
from kubesched.config.legacy_names import (
    CUSTOM_PREDICATES,
    DEFAULT_PREDICATES,
    DEFAULT_PRIORITIES,
    FILTER_PLUGINS,
    GONE_PRIORITIES,
    MANDATORY_PREDICATES,
    PREDICATE_ALIASES,
    PREDICATES,
    PRIORITIES,
    PRIORITY_ALIASES,
    RESOURCE_STRATEGIES,
    SCORE_PLUGINS,
)
from kubesched.config.model import (
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    Plugin,
    PluginConfig,
    Plugins,
    PluginSet,
)
from kubesched.config.plugin_args import (
    LEAST_ALLOCATED,
    LIST_DEFAULTING,
    REQUESTED_TO_CAPACITY_RATIO,
    SYSTEM_DEFAULTING,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    RequestedToCapacityRatioParam,
    ScoringStrategy,
)
from kubesched.config.policy_model import LabelsPresence, Policy, PredicatePolicy, PriorityPolicy
from kubesched.errors import ConfigurationError
from kubesched.objects.affinity import NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm


@dataclass(frozen=True, kw_only=True, slots=True)
class Translation:
    """A configuration made from an old format, and what its author should know about the translation."""

    config: KubeSchedulerConfiguration
    notes: tuple[str, ...] = ()


def is_policy(document: Mapping[str, Any]) -> bool:
    """Whether a document claims to be a Policy."""
    return document.get("kind") == "Policy"


def translate_policy(document: Document) -> Translation:
    """Translate a Policy; ConfigurationError with everything in it that is wrong or has no counterpart today."""
    decoder = StrictDecoder(lenient=True)  # kube-scheduler's own example has an unknown field in an extender
    policy = decoder.struct(document, Policy, ignore=("apiVersion", "kind"))
    problems = list(decoder.problems)
    if document.get("apiVersion") not in ("v1", "kubescheduler.config.k8s.io/v1"):
        problems.append(f'no kind "Policy" is registered for version "{document.get("apiVersion") or ""}": expected v1')
    if problems:
        raise ConfigurationError(problems)
    wanted = _Wanted()
    wanted.read(policy)
    if wanted.problems:
        raise ConfigurationError(wanted.problems)
    profile = KubeSchedulerProfile(plugins=wanted.plugins(), plugin_config=tuple(wanted.plugin_config(policy)))
    extenders = tuple(extender.upgraded() for extender in policy.extenders)
    return Translation(
        config=KubeSchedulerConfiguration(profiles=(profile,), extenders=extenders),
        notes=(*decoder.notes, *wanted.notes),
    )


@dataclass(slots=True)
class _Wanted:
    """What a policy asks for, collected name by name."""

    filters: set[str] = field(default_factory=set)
    weights: dict[str, int] = field(default_factory=dict)
    strategy: ScoringStrategy | None = None
    strategy_of: str = ""
    spread: str = ""
    node_labels: list[NodeSelectorRequirement] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def read(self, policy: Policy) -> None:
        for name in MANDATORY_PREDICATES if policy.predicates is not None else DEFAULT_PREDICATES:
            self.filters.update(PREDICATES[name])
        for index, predicate in enumerate(policy.predicates or ()):
            self._predicate(predicate, f"predicates[{index}]")
        if policy.priorities is None:
            for name, weight in sorted(DEFAULT_PRIORITIES.items()):
                self._named_priority(name, weight, "priorities")
        # Sorted by name, as AppendPriorityConfigs does: of two priorities for one plugin, the first one's weight holds.
        for index, priority in sorted(enumerate(policy.priorities or ()), key=lambda entry: entry[1].name):
            self._priority(priority, f"priorities[{index}]")

    def _predicate(self, predicate: PredicatePolicy, path: str) -> None:
        name = PREDICATE_ALIASES.get(predicate.name, predicate.name)
        argument = predicate.argument
        given = [] if argument is None else [a for a in (argument.service_affinity, argument.labels_presence) if a]
        if argument is not None and len(given) != 1:
            self.problems.append(
                f"{path}: exactly 1 predicate argument is required, numArgs: {len(given)}, predicate: {predicate.name}"
            )
        elif name in PREDICATES:
            self.filters.update(PREDICATES[name])
        elif argument is not None and argument.labels_presence is not None:
            self._labels_presence(argument.labels_presence, path)
        elif argument is not None:
            self.problems.append(
                f"{path}: serviceAffinity is not supported: no plugin keeps the pods of a service on nodes with equal "
                "labels; use pod affinity with a topologyKey"
            )
        elif name not in CUSTOM_PREDICATES:
            self.problems.append(f'{path}: predicate type not found for "{predicate.name}"')

    def _labels_presence(self, labels: LabelsPresence, path: str) -> None:
        operator = "Exists" if labels.presence else "DoesNotExist"
        self.node_labels.extend(NodeSelectorRequirement(key=key, operator=operator) for key in labels.labels)
        self.filters.add("NodeAffinity")
        self.notes.append(f"{path}: labelsPresence became NodeAffinity's addedAffinity")

    def _priority(self, priority: PriorityPolicy, path: str) -> None:
        name = PRIORITY_ALIASES.get(priority.name, priority.name)
        if not 0 < priority.weight < 2**31:
            self.problems.append(
                f"{path}: priority {priority.name} should have a positive weight applied to it or it has overflown"
            )
        elif name in GONE_PRIORITIES:
            self.notes.append(f"{path}: {priority.name} is ignored: {GONE_PRIORITIES[name]}")
        elif name in PRIORITIES:
            self._named_priority(name, priority.weight, path)
        else:
            self._priority_with_argument(priority, path)

    def _named_priority(self, name: str, weight: int, path: str) -> None:
        if name in RESOURCE_STRATEGIES:
            self._score_resources(name, ScoringStrategy(type=RESOURCE_STRATEGIES[name]), path)
        if name == "SelectorSpreadPriority":
            self.spread = SYSTEM_DEFAULTING
        elif name == "EvenPodsSpreadPriority":
            self.spread = self.spread or LIST_DEFAULTING
        self.weights.setdefault(PRIORITIES[name], weight)

    def _priority_with_argument(self, priority: PriorityPolicy, path: str) -> None:
        argument = priority.argument
        if argument is None:
            self.problems.append(f'{path}: priority type not found for "{priority.name}"')
            return
        ratio = argument.requested_to_capacity_ratio_arguments
        given = [one for one in (argument.service_anti_affinity, argument.label_preference, ratio) if one is not None]
        if len(given) != 1:
            self.problems.append(
                f"{path}: exactly 1 priority argument is required, numArgs: {len(given)}, priority: {priority.name}"
            )
        elif argument.service_anti_affinity is not None:
            self.problems.append(f"{path}: serviceAntiAffinity is not supported: use topologySpreadConstraints")
        elif argument.label_preference is not None:
            self.problems.append(
                f"{path}: labelPreference is not supported: use preferred terms in NodeAffinity's addedAffinity"
            )
        elif ratio is not None:
            strategy = ScoringStrategy(
                type=REQUESTED_TO_CAPACITY_RATIO,
                resources=ratio.resources,
                requested_to_capacity_ratio=RequestedToCapacityRatioParam(shape=ratio.shape),
            )
            self._score_resources(priority.name, strategy, path)
            self.weights.setdefault("NodeResourcesFit", priority.weight)

    def _score_resources(self, name: str, strategy: ScoringStrategy, path: str) -> None:
        if self.strategy is not None:
            self.problems.append(
                f"{path}: {name} cannot be combined with {self.strategy_of}: NodeResourcesFit scores by one strategy"
            )
        self.strategy, self.strategy_of = strategy, name

    def plugins(self) -> Plugins:
        """The default plugins with what is not wanted taken away, and with the wanted weights."""
        unused = _disabled((FILTER_PLUGINS | SCORE_PLUGINS) - self.filters - self.weights.keys())
        only_score = _disabled((FILTER_PLUGINS & self.weights.keys()) - self.filters)
        only_filter = _disabled((SCORE_PLUGINS & self.filters) - self.weights.keys())
        weighted = tuple(Plugin(name=name, weight=weight) for name, weight in sorted(self.weights.items()))
        return Plugins(
            multi_point=PluginSet(enabled=weighted, disabled=unused),
            pre_filter=PluginSet(disabled=only_score),
            filter=PluginSet(disabled=only_score),
            pre_score=PluginSet(disabled=only_filter),
            score=PluginSet(disabled=only_filter),
        )

    def plugin_config(self, policy: Policy) -> Iterator[PluginConfig]:
        """Arguments where the policy's meaning differs from the defaults."""
        if policy.hard_pod_affinity_symmetric_weight:
            weight = policy.hard_pod_affinity_symmetric_weight
            yield PluginConfig(name="InterPodAffinity", args=InterPodAffinityArgs(hard_pod_affinity_weight=weight))
        if self.node_labels:
            term = NodeSelectorTerm(match_expressions=tuple(self.node_labels))
            affinity = NodeAffinity(
                required_during_scheduling_ignored_during_execution=NodeSelector(node_selector_terms=(term,))
            )
            yield PluginConfig(name="NodeAffinity", args=NodeAffinityArgs(added_affinity=affinity))
        if self.strategy is not None and self.strategy.type != LEAST_ALLOCATED:
            yield PluginConfig(name="NodeResourcesFit", args=NodeResourcesFitArgs(scoring_strategy=self.strategy))
        if self.spread == LIST_DEFAULTING:
            yield PluginConfig(name="PodTopologySpread", args=PodTopologySpreadArgs(defaulting_type=LIST_DEFAULTING))


def _disabled(names: set[str] | frozenset[str]) -> tuple[Plugin, ...]:
    return tuple(Plugin(name=name) for name in sorted(names))
