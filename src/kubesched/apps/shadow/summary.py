"""What came of a shadow: agreement, what was lost, and what would explain the difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Final

import msgspec

from kubesched.apps.shadow.judge import AGREEMENT, Judgement, Verdict
from kubesched.objects.base import Json

MEANING: Final = {
    Verdict.SAME: "same node",
    Verdict.TIED: "one of several best nodes",
    Verdict.ORDER: "same or tied, in the order in which it was decided",
    Verdict.SAMPLED: "lower, among the nodes that a sample may leave out",
    Verdict.LOWER: "lower: another node has more points",
    Verdict.REJECTED: "rejected by a plugin of ours",
    Verdict.WE_WAIT: "we wait, they do not",
    Verdict.FAILED: "our own evaluation failed",
    Verdict.WAITS: "they wait, we would not",
}
ELSEWHERE: Final = (Verdict.SAMPLED, Verdict.LOWER, Verdict.REJECTED)
"""Where we would have chosen another node."""
EXAMPLES: Final = 5
HIGHEST_WEIGHT: Final = 100
NEARLY_AS_GOOD: Final = 0.8


class WeightExplanation(msgspec.Struct, frozen=True, rename="camel"):
    """Another weight of one plugin, and how many of the lower choices it would make best."""

    plugin: str
    least: int
    most: int
    explains: int
    of: int


class Summary(msgspec.Struct, kw_only=True, rename="camel"):
    bindings: int
    agreement: float
    """Share of all judged bindings."""
    verdicts: dict[str, int]
    elsewhere: int
    """Bindings that our configuration would have made to another node."""
    mean_loss: float
    """Points per binding that agrees least: of lower ones, 0 if there are none."""
    sampling_loss: float
    """Points per binding that the other scheduler's sample of nodes costs."""
    preferring: dict[str, int]
    """By plugin: lower choices where it prefers our node most."""
    rejecting: dict[str, int]
    """By plugin: bindings that it rejects."""
    weights: list[WeightExplanation]
    examples: list[Judgement]


class Tally:
    """Counts judgements as they come, in memory that does not grow with them."""

    def __init__(self) -> None:
        self.verdicts: Counter[Verdict] = Counter()
        self.points: Counter[Verdict] = Counter()
        """Lost by lower and sampled choices."""
        self.preferring: Counter[str] = Counter()
        self.rejecting: Counter[str] = Counter()
        self._weights: dict[str, list[int]] = {}
        """By plugin: how many more lower choices each weight explains than the one below it."""
        self._examples: list[Judgement] = []

    def add(self, judgement: Judgement) -> None:
        verdict = judgement.verdict
        self.verdicts[verdict] += 1
        self.points[verdict] += judgement.loss
        if verdict is Verdict.LOWER:
            self.preferring[judgement.plugin] += 1
            for plugin, (least, most) in judgement.weights.items():
                changes = self._weights.setdefault(plugin, [0] * (HIGHEST_WEIGHT + 2))
                changes[least] += 1
                changes[most + 1] -= 1
        elif verdict in (Verdict.REJECTED, Verdict.WE_WAIT):
            self.rejecting[judgement.plugin] += 1
        if verdict not in AGREEMENT and len(self._examples) < EXAMPLES:
            self._examples.append(judgement)

    @property
    def bindings(self) -> int:
        return self.verdicts.total() - self.verdicts[Verdict.WAITS]

    @property
    def agreement(self) -> float:
        """Share of all judged bindings."""
        return sum(self.verdicts[verdict] for verdict in AGREEMENT) / self.bindings if self.bindings else 1.0

    def summary(self) -> Summary:
        lower = self.verdicts[Verdict.LOWER]
        return Summary(
            bindings=self.bindings,
            agreement=self.agreement,
            verdicts={verdict.value: self.verdicts[verdict] for verdict in Verdict if self.verdicts[verdict]},
            elsewhere=sum(self.verdicts[verdict] for verdict in ELSEWHERE),
            mean_loss=self.points[Verdict.LOWER] / lower if lower else 0.0,
            sampling_loss=self.points[Verdict.SAMPLED] / self.bindings if self.bindings else 0.0,
            preferring=_most_first(self.preferring),
            rejecting=_most_first(self.rejecting),
            weights=self._explaining_weights(),
            examples=list(self._examples),
        )

    def _explaining_weights(self) -> list[WeightExplanation]:
        """Plugins whose weight, changed alone, makes most of the lower choices best: their configuration may be so.

        The best explanation first, with those that are nearly as good: with few plugins, more of one is less of
        another. None of them, if no weight explains half.
        """
        lower = self.verdicts[Verdict.LOWER]
        found = [_best_weight(plugin, changes, lower) for plugin, changes in sorted(self._weights.items())]
        found.sort(key=lambda weight: -weight.explains)
        return [w for w in found if 2 * w.explains >= w.of and w.explains >= NEARLY_AS_GOOD * found[0].explains]


def summary_of(judgements: Iterable[Judgement]) -> Summary:
    tally = Tally()
    for judgement in judgements:
        tally.add(judgement)
    return tally.summary()


def _best_weight(plugin: str, changes: Sequence[int], lower: int) -> WeightExplanation:
    """The first range of weights that explains as many choices as any does."""
    explained = list(accumulate(changes[:-1]))
    highest = max(explained)
    least = explained.index(highest)
    most = next((weight for weight in range(least, len(explained)) if explained[weight] < highest), len(explained)) - 1
    return WeightExplanation(plugin, least, most, highest, lower)


def as_text(summary: Summary) -> str:
    return "\n".join(_lines(summary))


def as_data(summary: Summary) -> Json:
    data: Any = msgspec.to_builtins(summary)
    return dict(data)


def _lines(summary: Summary) -> Iterator[str]:
    agreement = f", {100 * summary.agreement:.2f} % agreement" if summary.bindings else ""
    yield f"{summary.bindings:,} bindings judged{agreement}"
    for verdict, count in summary.verdicts.items():
        yield f"  {count:>8,}  {MEANING[Verdict(verdict)]}"
    if summary.elsewhere:
        yield f"this configuration would have chosen another node for {summary.elsewhere:,}"
    if summary.mean_loss:
        yield f"lower choices cost {summary.mean_loss:.1f} points on average"
    if summary.sampling_loss:
        yield f"the sample of nodes costs {summary.sampling_loss:.2f} points per binding"
    for plugin, count in summary.preferring.items():
        yield f"  {plugin} prefers our node most: {count:,}"
    for plugin, count in summary.rejecting.items():
        yield f"  {plugin} rejects their node: {count:,}"
    for weight in summary.weights:
        span = f"{weight.least}" if weight.least == weight.most else f"{weight.least} to {weight.most}"
        yield (
            f"a weight of {span} for {weight.plugin}, all else as it is, "
            f"would explain {weight.explains:,} of {weight.of:,} lower choices"
        )
    for example in summary.examples:
        yield f"  {example.pod}: {_example(example)}"


def _example(judgement: Judgement) -> str:
    match judgement.verdict:
        case Verdict.LOWER:
            margins = ", ".join(f"{name} {margin:+d}" for name, margin in judgement.margins.items() if margin)
            return f"{judgement.node} has {judgement.loss} points less than {judgement.ours} ({margins})"
        case Verdict.WE_WAIT:
            return f"{judgement.node} and all others are rejected, by {judgement.plugin or 'us'}: {judgement.reason}"
        case Verdict.REJECTED:
            return f"{judgement.node} is rejected by {judgement.plugin or 'us'}: {judgement.reason}"
        case Verdict.WAITS:
            return f"waits, and would go to {judgement.ours}; they say: {judgement.reason}"
        case _:
            return judgement.reason


def _most_first(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
