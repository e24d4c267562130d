"""Filters × nodes as data: nodes grouped by equal answers, and for each filter the answer for every node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from kubesched.apps.explain.every_answer import EveryAnswer
from kubesched.scheduler.framework import Status, Verdict
from kubesched.scheduler.framework.verdict import status_of


class Answers(NamedTuple):
    """One filter's: `places` has for each node the place of its status, 0 for one that takes the pod."""

    plugin: str
    statuses: list[Status]
    places: list[int]


def groups(answers: Mapping[str, Sequence[Status]]) -> list[dict[str, Any]]:
    """Nodes, by name, that were rejected for equal reasons by the same filters, the largest group first."""
    found: dict[tuple[tuple[str, tuple[str, ...]], ...], dict[str, Any]] = {}
    for name, statuses in answers.items():
        if not statuses:
            continue
        key = tuple([(status.plugin, status.reasons) for status in statuses])
        group = found.get(key)
        if group is None:
            said = [{"plugin": one.plugin, "reason": one.message, "code": str(one.code)} for one in statuses]
            group = found[key] = {"answers": said, "nodes": []}
        group["nodes"].append(name)
    for group in found.values():
        group["nodes"].sort()
    return sorted(found.values(), key=lambda group: (-len(group["nodes"]), group["answers"][0]["plugin"]))


def all_answers(every: EveryAnswer, first: Mapping[str, Status]) -> dict[str, list[Status]]:
    """By node: all rejections; the one that counts, which is the `first` one that the scheduler met, in front."""
    columns = [column for column in columns_of(every) if any(column.places)]
    found: dict[str, list[Status]] = {}
    for position, name in enumerate(every.nodes):
        counts = first.get(name)
        statuses = [] if counts is None or counts.is_success else [counts]
        for column in columns:
            if (place := column.places[position]) and not (statuses and column.plugin == statuses[0].plugin):
                statuses.append(column.statuses[place])
        found[name] = statuses if counts is None or not counts.is_success else []
    return found


def table(every: EveryAnswer) -> dict[str, Any]:
    """Every filter that rejects some node, with its answers for all; the others by name alone."""
    columns = columns_of(every)
    return {
        "nodes": list(every.nodes),
        "plugins": [
            {"name": one.plugin, "reasons": [status.message for status in one.statuses[1:]], "index": one.places}
            for one in columns
            if any(one.places)
        ],
        "passed": [one.plugin for one in columns if not any(one.places)],
        "skipped": list(every.skipped),
    }


def columns_of(every: EveryAnswer) -> list[Answers]:
    return [_answers(plugin, verdict) for plugin, verdict in every.filters.items()]


def _answers(plugin: str, verdict: Verdict) -> Answers:
    values, places = np.unique(verdict.bits, return_inverse=True)
    statuses, place_of = [Status()], []
    for bits in values.tolist():
        place_of.append(len(statuses) if bits else 0)
        if bits:
            statuses.append(status_of(bits, verdict.reasons, plugin))
    index = [place_of[place] for place in places.tolist()]
    known: dict[tuple[str, ...], int] = {}
    for position, status in _special(verdict):
        place = known.setdefault(status.reasons, len(statuses))
        if place == len(statuses):
            statuses.append(status.by(plugin))
        index[position] = place
    return Answers(plugin, statuses, index)


def _special(verdict: Verdict) -> Iterable[tuple[int, Status]]:
    return sorted(verdict.special.items())
