"""Parts of a trace, moments, and what is in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kubesched.errors import TraceError
from kubesched.objects import Namespace, Pod
from kubesched.objects.meta import ObjectMeta
from kubesched.testing import make_node, make_pod
from kubesched.traces import Change, ChangeType, Decision, DecisionType, Entry, Gap, Header, Trace
from kubesched.traces.slicing import cut, parse_moment
from kubesched.traces.summary import COLUMNS, summarise

START = 1_700_000_000.0


def day(minutes: int = 10) -> Trace:
    """One node; each minute a pod comes, alternately in two namespaces, is bound after 5 s, and runs for 2 minutes."""

    def entries() -> Iterator[Entry]:
        yield Change(time=START, type=ChangeType.ADDED, object=make_node("n1", cpu="4"))
        for name in ("a", "b"):
            yield Change(time=START, type=ChangeType.ADDED, object=Namespace(metadata=ObjectMeta(name=name)))
        for minute in range(minutes):
            now = START + 60.0 * minute
            if minute >= 2:
                yield Change(time=now + 1, type=ChangeType.DELETED, object=pod(minute - 2, "n1"))
            yield Change(time=now + 10, type=ChangeType.ADDED, object=pod(minute))
            yield Decision(time=now + 15, type=DecisionType.BOUND, pod=pod(minute).key, node="n1")
            yield Change(time=now + 15, type=ChangeType.MODIFIED, object=pod(minute, "n1"))

    return Trace(Header(started=START), entries)


def pod(number: int, node: str = "") -> Pod:
    return make_pod(f"p{number}", namespace="ab"[number % 2], node=node, cpu="1")


def test_slice_in_time_begins_with_the_whole_state() -> None:
    """Both ends are included; states within are those of the original."""
    whole, part = day(), cut(day(), since=START + 200, until=START + 400)
    assert part.header.started == START + 200
    entries = list(part)
    assert all(START + 200 <= entry.time <= START + 400 for entry in entries)
    for time in (START + 200, START + 300, START + 400):
        assert set(map(repr, part.state_at(time))) == set(map(repr, whole.state_at(time)))


def test_slice_of_a_namespace() -> None:
    """Its objects and those without a namespace; decisions about its pods."""
    entries = list(cut(day(), namespaces=["a"]))
    assert {entry.object.metadata.namespace for entry in entries if isinstance(entry, Change)} == {"", "a"}
    assert all(entry.pod.startswith("a/") for entry in entries if isinstance(entry, Decision))
    assert [entry.object.metadata.name for entry in entries if isinstance(entry, Change)][:2] == ["n1", "a"]


def test_slice_after_the_end_is_the_last_state() -> None:
    """Nothing happens in it."""
    part = cut(day(), since=START + 10_000)
    assert {entry.time for entry in part} == {START + 10_000}
    assert len(part.state_at()) == len(day().state_at())


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        pytest.param("90s", START + 90, id="after the start"),
        pytest.param("+1h30m", START + 5400, id="with a sign"),
        pytest.param("0s", START, id="the start"),
        pytest.param("2023-11-14T22:13:20Z", START, id="RFC 3339"),
        pytest.param("2023-11-14T23:13:20+01:00", START, id="another zone"),
        pytest.param("2023-11-14 22:13:20", START, id="no zone is UTC"),
        pytest.param("end", None, id="the end"),
    ],
)
def test_moments(text: str, moment: float | None) -> None:
    """As people write them."""
    assert parse_moment(text, Header(started=START)) == moment


def test_no_moment() -> None:
    """The error says what to write."""
    with pytest.raises(TraceError, match="'noon' is no moment: write"):
        parse_moment("noon", Header(started=START))


def test_summary_counts() -> None:
    """What is in it, at its ends and in between."""
    summary = summarise(day())
    assert summary.at_start == {"Node": 1, "Namespace": 2}
    assert summary.at_end == {"Node": 1, "Namespace": 2, "Pod": 2}
    assert summary.changes == {"Pod": 28}
    assert summary.decisions == {"BOUND": 10}
    assert summary.ended == START + 9 * 60 + 15
    assert sum(column.arrivals for column in summary.columns) == 10
    assert summary.columns[-1].running == 2
    assert summary.columns[-1].share("cpu") == 0.5
    assert summary.resources() == ["cpu"]


@pytest.mark.parametrize("minutes", [1, 2, 3, 60, 1000])
def test_summary_has_a_bounded_number_of_columns(minutes: int) -> None:
    """However long the trace is; arrivals are never lost, and the last column is the end."""
    summary = summarise(day(minutes))
    assert len(summary.columns) <= 2 * COLUMNS
    assert sum(column.arrivals for column in summary.columns) == minutes
    assert (len(summary.columns) - 1) * summary.column_seconds <= summary.ended - START
    assert summary.columns[-1].running == min(minutes, 2)


def test_summary_of_a_broken_trace() -> None:
    """As far as it goes."""

    def entries() -> Iterator[Entry]:
        yield Change(time=START, type=ChangeType.ADDED, object=make_node("n1"))
        yield Gap(time=START + 5, since=START + 1, kind="Pod")
        raise TraceError("broken", name="x", line=3)

    summary = summarise(Trace(Header(started=START), entries))
    assert summary.error == "x: line 3: broken"
    assert summary.at_end == {"Node": 1}
    assert summary.gap_count == 1
