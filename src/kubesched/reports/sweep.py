"""A report of many runs: per trace and number of nodes, each policy's means, and their differences to the first's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from kubesched.errors import ConfigurationError
from kubesched.reports.statistics import Interval, PairedDifference, interval, paired_difference

HEADLINE: Final = (
    "without a node at the end",
    "pending time, mean",
    "pending time, p90",
    "preempted",
    "nodes in use, mean",
    "cpu requested, mean",
)
"""What a terminal shows unless asked for other metrics."""


class MetricFacts(msgspec.Struct, frozen=True, rename="camel"):
    """What is known of a metric besides its values."""

    column: str
    unit: str = ""
    better: int = 0


class Result(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """One finished run."""

    scenario: str
    """The trace, with the number of nodes where that was varied."""
    policy: str
    """With what is varied of it."""
    seed: int
    nodes: int | None = None
    parameters: dict[str, Any] = {}
    metrics: dict[str, float] = {}
    """By full name."""
    error: str = ""


class Line(msgspec.Struct, frozen=True, rename="camel"):
    """A policy's metric in a scenario, and its difference to the first policy's; None for that one itself."""

    scenario: str
    policy: str
    metric: str
    value: Interval
    difference: PairedDifference | None
    is_better: bool | None
    """By more than chance; None: it cannot be told."""


class SweepReport(msgspec.Struct, kw_only=True):
    """Results, and what is to be shown of them. In a notebook it shows itself."""

    name: str
    results: list[Result]
    facts: dict[str, MetricFacts]
    against: str
    """The policy that the others are compared with."""
    metrics: list[str]

    @property
    def scenarios(self) -> list[str]:
        return list(dict.fromkeys(result.scenario for result in self.results))

    @property
    def policies(self) -> list[str]:
        return list(dict.fromkeys(result.policy for result in self.results))

    @property
    def errors(self) -> dict[str, int]:
        """What went wrong, with the number of runs."""
        counts: dict[str, int] = {}
        for result in self.results:
            if result.error:
                counts[result.error] = counts.get(result.error, 0) + 1
        return counts

    def values(self, scenario: str, policy: str, metric: str) -> dict[int, float]:
        """By seed."""
        return {
            result.seed: result.metrics[metric]
            for result in self.results
            if result.scenario == scenario and result.policy == policy and metric in result.metrics
        }

    def lines(self, metrics: Sequence[str] | None = None) -> Iterator[Line]:
        """Scenario by scenario, policy by policy."""
        by_case: dict[tuple[str, str], dict[int, dict[str, float]]] = {}
        for result in self.results:
            by_case.setdefault((result.scenario, result.policy), {})[result.seed] = result.metrics
        for (scenario, policy), seeds in by_case.items():
            first = by_case.get((scenario, self.against), {})
            for metric in metrics or self.metrics:
                values = [found[metric] for found in seeds.values() if metric in found]
                if not values:
                    continue
                pairs = [
                    (first[seed][metric], found[metric])
                    for seed, found in seeds.items()
                    if metric in found and metric in first.get(seed, {})
                ]
                difference = paired_difference(pairs) if pairs and policy != self.against else None
                yield Line(scenario, policy, metric, interval(values), difference, self._verdict(metric, difference))

    def _verdict(self, metric: str, difference: PairedDifference | None) -> bool | None:
        better = self.facts[metric].better
        if difference is None or not better or not difference.is_more_than_chance:
            return None
        return difference.interval.mean * better > 0

    def as_data(self) -> dict[str, Any]:
        """For programs: every metric, not only those that are shown."""
        return {
            "name": self.name,
            "against": self.against,
            "runs": len(self.results),
            "errors": self.errors,
            "metrics": msgspec.to_builtins(self.facts),
            "lines": msgspec.to_builtins(list(self.lines(list(self.facts)))),
        }

    def _repr_html_(self) -> str:
        from kubesched.reports.sweep_html import sweep_body  # not at the top: only notebooks and pages need it

        return sweep_body(self)


def sweep_report(
    name: str,
    results: list[Result],
    facts: dict[str, MetricFacts],
    *,
    against: str = "",
    metrics: Sequence[str] = (),
) -> SweepReport:
    """`metrics` by full name or column; without any, the usual ones. ConfigurationError where a name is unknown."""
    policies = list(dict.fromkeys(result.policy for result in results))
    if not policies:
        raise ConfigurationError([f"{name}: there is no finished run"])
    if against and against not in policies:
        raise ConfigurationError([f"unknown policy {against!r}: there are {', '.join(policies)}"])
    by_column = {fact.column: metric for metric, fact in facts.items()}
    chosen = []
    for metric in metrics:
        found = metric if metric in facts else by_column.get(metric)
        if found is None:
            raise ConfigurationError([f"unknown metric {metric!r}: there are {', '.join(by_column)}"])
        chosen.append(found)
    shown = chosen or [metric for metric in HEADLINE if metric in facts] or list(facts)
    return SweepReport(name=name, results=results, facts=facts, against=against or policies[0], metrics=shown)
