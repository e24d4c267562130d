"""What came of a shadow: agreement, what was lost, and what would explain the difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
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
    Verdict.FAILED: "our own evaluation failed",
    Verdict.WAITS: "they wait, we would not",
}
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


def summary_of(judgements: Sequence[Judgement]) -> Summary:
    bindings = [judgement for judgement in judgements if judgement.verdict is not Verdict.WAITS]
    verdicts = Counter(judgement.verdict for judgement in judgements)
    lower = [judgement for judgement in bindings if judgement.verdict is Verdict.LOWER]
    sampled = [judgement for judgement in bindings if judgement.verdict is Verdict.SAMPLED]
    agreeing = sum(verdicts[verdict] for verdict in AGREEMENT)
    return Summary(
        bindings=len(bindings),
        agreement=agreeing / len(bindings) if bindings else 1.0,
        verdicts={verdict.value: verdicts[verdict] for verdict in Verdict if verdicts[verdict]},
        mean_loss=sum(judgement.loss for judgement in lower) / len(lower) if lower else 0.0,
        sampling_loss=sum(judgement.loss for judgement in sampled) / len(bindings) if bindings else 0.0,
        preferring=_counted(judgement.plugin for judgement in lower),
        rejecting=_counted(j.plugin for j in bindings if j.verdict is Verdict.REJECTED),
        weights=explaining_weights(lower),
        examples=[judgement for judgement in judgements if judgement.verdict not in AGREEMENT][:EXAMPLES],
    )


def explaining_weights(lower: Sequence[Judgement]) -> list[WeightExplanation]:
    """Plugins whose weight, changed alone, makes most of the lower choices best: their configuration may have it so.

    The best explanation first, with those that are nearly as good: with few plugins, more of one is less of another.
    None of them, if no weight explains half.
    """
    plugins = sorted({name for judgement in lower for name in judgement.weights})
    found = sorted((_best_weight(plugin, lower) for plugin in plugins), key=lambda weight: -weight.explains)
    return [w for w in found if 2 * w.explains >= w.of and w.explains >= NEARLY_AS_GOOD * found[0].explains]


def _best_weight(plugin: str, lower: Sequence[Judgement]) -> WeightExplanation:
    """The first range of weights that explains as many choices as any does."""
    changes = [0] * (HIGHEST_WEIGHT + 2)
    for judgement in lower:
        if plugin in judgement.weights:
            least, most = judgement.weights[plugin]
            changes[least] += 1
            changes[most + 1] -= 1
    explained = list(accumulate(changes[:-1]))
    highest = max(explained)
    least = explained.index(highest)
    most = next((weight for weight in range(least, len(explained)) if explained[weight] < highest), len(explained)) - 1
    return WeightExplanation(plugin, least, most, highest, len(lower))


def as_text(summary: Summary) -> str:
    return "\n".join(_lines(summary))


def as_data(summary: Summary) -> Json:
    data: Any = msgspec.to_builtins(summary)
    return dict(data)


def _lines(summary: Summary) -> Iterator[str]:
    yield f"{summary.bindings:,} bindings judged, {100 * summary.agreement:.2f} % agreement"
    for verdict, count in summary.verdicts.items():
        yield f"  {count:>8,}  {MEANING[Verdict(verdict)]}"
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
        case Verdict.REJECTED:
            return f"{judgement.node} is rejected by {judgement.plugin or 'us'}: {judgement.reason}"
        case Verdict.WAITS:
            return f"waits, and would go to {judgement.ours}; they say: {judgement.reason}"
        case _:
            return judgement.reason


def _counted(names: Any) -> dict[str, int]:
    return dict(sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))
