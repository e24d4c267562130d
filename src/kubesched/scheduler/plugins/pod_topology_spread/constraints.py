"""Spread constraints, compiled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from kubesched.config.plugin_args import SYSTEM_DEFAULTING, PodTopologySpreadArgs
from kubesched.errors import InvalidObjectError
from kubesched.objects.affinity import TopologySpreadConstraint
from kubesched.objects.selectors import Selector, compile_label_selector, selector_from_labels
from kubesched.scheduler.columns import PodTemplate
from kubesched.scheduler.framework import Handle
from kubesched.scheduler.plugins.pod_topology_spread.default_selector import DefaultSelectors

HARD: Final = "DoNotSchedule"
SOFT: Final = "ScheduleAnyway"
HOSTNAME: Final = "kubernetes.io/hostname"
_ZONE: Final = "topology.kubernetes.io/zone"
_HONOR: Final = "Honor"

SYSTEM_DEFAULTS: Final = (
    TopologySpreadConstraint(topology_key=HOSTNAME, when_unsatisfiable=SOFT, max_skew=3),
    TopologySpreadConstraint(topology_key=_ZONE, when_unsatisfiable=SOFT, max_skew=5),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """One constraint with its selector compiled and its defaults filled in."""

    topology_key: str
    max_skew: int
    min_domains: int
    selector: Selector
    honors_node_affinity: bool
    honors_taints: bool

    def matches(self, pod: PodTemplate) -> int:
        return int(self.selector.matches(pod.labels))


class Constraints:
    """Which constraints hold for a pod: its own, or else the configured defaults."""

    def __init__(self, args: PodTopologySpreadArgs, handle: Handle) -> None:
        self.are_system_defaults = args.defaulting_type == SYSTEM_DEFAULTING
        self._defaults = SYSTEM_DEFAULTS if self.are_system_defaults else args.default_constraints
        self._selectors = DefaultSelectors(handle.objects)
        self._merges_label_keys = handle.gates.enabled("MatchLabelKeysInPodTopologySpread")

    def default_selector(self, pod: PodTemplate) -> Selector | None:
        """What decides over the defaults for a pod; None if there are none or it has constraints of its own."""
        if pod.spec.topology_spread_constraints or not self._defaults:
            return None
        return self._selectors.of(pod)

    def of(self, pod: PodTemplate, action: str) -> tuple[Constraint, ...]:
        """Raises InvalidObjectError for a selector that does not compile."""
        kind = "hard" if action == HARD else "soft"
        if own := pod.spec.topology_spread_constraints:
            try:
                return self._compile(own, pod.labels, action)
            except InvalidObjectError as error:
                raise InvalidObjectError(f"obtaining pod's {kind} topology spread constraints: {error}") from error
        selector = self.default_selector(pod)
        if selector is None:
            return ()
        try:
            defaults = self._compile(self._defaults, pod.labels, action)
        except InvalidObjectError as error:
            raise InvalidObjectError(f"setting default {kind} topology spread constraints: {error}") from error
        return tuple(replace(constraint, selector=selector) for constraint in defaults)

    def _compile(
        self, sources: Iterable[TopologySpreadConstraint], labels: Mapping[str, str], action: str
    ) -> tuple[Constraint, ...]:
        return tuple(
            Constraint(
                topology_key=source.topology_key,
                max_skew=source.max_skew,
                min_domains=1 if source.min_domains is None else source.min_domains,
                selector=self._selector(source, labels),
                honors_node_affinity=(source.node_affinity_policy or _HONOR) == _HONOR,
                honors_taints=source.node_taints_policy == _HONOR,
            )
            for source in sources
            if source.when_unsatisfiable == action
        )

    def _selector(self, source: TopologySpreadConstraint, labels: Mapping[str, str]) -> Selector:
        selector = compile_label_selector(source.label_selector)
        if not self._merges_label_keys or selector.selects_nothing:
            return selector
        own = selector_from_labels({key: labels[key] for key in source.match_label_keys if key in labels})
        return Selector.of((*own.requirements, *selector.requirements))
