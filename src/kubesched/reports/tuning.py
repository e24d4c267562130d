"""What a search for a better configuration found, and how sure that is."""

from __future__ import annotations

import html
from collections.abc import Iterator
from io import StringIO
from typing import Any

import msgspec
from rich.console import Console, Group, RenderableType
from rich.markup import escape

from kubesched.reports.statistics import PairedDifference
from kubesched.reports.sweep_text import signed
from kubesched.reports.text import number


class Improvement(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One objective of a configuration against the baseline's."""

    objective: str
    sign: int
    """1: less is better; -1: more is."""
    training: tuple[float, float]
    """Means of the baseline and of the configuration, on the part that the search saw."""
    before: float
    """The baseline's mean on the held-out part."""
    held_out: PairedDifference

    @property
    def is_better(self) -> bool:
        return self.held_out.interval.mean * self.sign < 0


class Candidate(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A configuration that the search found."""

    parameters: dict[str, Any]
    file: str
    improvements: list[Improvement]
    python_only: list[str]
    """Plugins in it that Go's kube-scheduler does not have."""


class TuningReport(msgspec.Struct, kw_only=True, rename="camel"):
    """With one objective there is one candidate; with several, those that no other trial beats in all of them."""

    name: str
    baseline: str
    objectives: list[str]
    trials: int
    repeats_demand: bool
    """Seeds have traces of their own. If not, they differ in ties only."""
    candidates: list[Candidate]

    def probability(self, improvement: Improvement) -> float | None:
        """That the held-out difference is chance; of several verdicts, each is held to more (Bonferroni)."""
        verdicts = sum(len(candidate.improvements) for candidate in self.candidates)
        found = improvement.held_out.probability
        return None if found is None else min(1.0, found * verdicts)

    def is_confirmed(self, improvement: Improvement) -> bool:
        """Better than the baseline on the held-out part, by more than chance."""
        probability = self.probability(improvement)
        return improvement.is_better and probability is not None and probability <= 0.05

    def _repr_html_(self) -> str:
        """In a notebook: as on a terminal."""
        console = Console(file=StringIO(), record=True, width=160)
        console.print(tuning_text(self))
        return f"<pre>{html.escape(console.export_text())}</pre>"

    def as_data(self) -> dict[str, Any]:
        data: dict[str, Any] = msgspec.to_builtins(self)
        for candidate, written in zip(self.candidates, data["candidates"], strict=True):
            for improvement, found in zip(candidate.improvements, written["improvements"], strict=True):
                found["probability"] = self.probability(improvement)
                found["confirmed"] = self.is_confirmed(improvement)
        return data


def tuning_text(report: TuningReport) -> RenderableType:
    return Group(*_lines(report))


def _lines(report: TuningReport) -> Iterator[str]:
    several = len(report.objectives) > 1
    what = "configurations that no other beats in all objectives" if several else "the best"
    yield f"[bold]{escape(report.name)}[/bold]: {what} of {report.trials:,} trials, against {escape(report.baseline)}"
    for candidate in report.candidates:
        changed = ", ".join(f"{name}={value}" for name, value in candidate.parameters.items())
        yield f"{escape(candidate.file)}: {escape(changed)}"
        for improvement in candidate.improvements:
            yield f"  {_verdict(report, improvement)}"
        if candidate.python_only:
            yield f"  Go's kube-scheduler does not have {escape(', '.join(candidate.python_only))}"
    if not report.repeats_demand:
        yield "[dim]Seeds differ in ties only: the confidence is about this demand, not about that of other days.[/dim]"


def _verdict(report: TuningReport, improvement: Improvement) -> str:
    before, found = improvement.before, improvement.held_out.interval
    share = f" ({signed(100 * found.mean / abs(before))} %)" if before else ""
    text = f"{escape(improvement.objective)}, held out: {number(before)} → {number(before + found.mean)}{share}"
    if found.low is not None and found.high is not None:
        text += f", difference {signed(found.low)} to {signed(found.high)}"
    probability = report.probability(improvement)
    chance = f" (p = {probability:.3f})" if probability is not None else ""
    if report.is_confirmed(improvement):
        verdict = f"[green]better than {escape(report.baseline)}, by more than chance{chance}[/green]"
    elif not found.mean:
        verdict = "no difference"
    elif improvement.is_better:
        verdict = f"better, but that may be chance{chance}"
    else:
        verdict = f"[red]not better than {escape(report.baseline)}{chance}[/red]"
    first, second = improvement.training
    return f"{text}: {verdict} [dim](training: {number(first)} → {number(second)})[/dim]"
