"""The queue in words, for whoever asks why a pod is still pending."""

from __future__ import annotations

from collections.abc import Iterable

from kubesched.scheduler.framework import QueuedPod


def describe(place: str, queued: QueuedPod, now: float) -> str:
    """A pod in one line: where it is, for how long, and what holds it."""
    return f"{place:13} {queued.info.key}: {', '.join(_facts(place, queued, now))}"


def _facts(place: str, queued: QueuedPod, now: float) -> Iterable[str]:
    yield f"priority {queued.info.priority}"
    yield f"attempts {queued.attempts}"
    yield f"queued {now - queued.timestamp:.1f} s ago"
    if place == "backoff":
        yield f"backoff ends in {max(0.0, queued.backoff_until - now):.1f} s"
    if queued.is_gated:
        yield f"gated by {queued.gating_plugin}"
    elif queued.rejecting_plugins:
        yield f"rejected by {' '.join(sorted(queued.rejecting_plugins))}"
