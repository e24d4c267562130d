"""Events: their names, and which of them are equal."""

from __future__ import annotations

import random

import pytest

from kubesched.client.event_memory import EventMemory, Occurrence, truncate
from kubesched.objects import Event, Pod
from kubesched.objects.meta import ObjectMeta


class Scene:
    def __init__(self) -> None:
        self._memory = EventMemory(random.Random(1), reporting_controller="default-scheduler", hostname="host")

    def record(self, name: str = "p", *, namespace: str = "d", version: str = "7") -> Event | None:
        pod = Pod(metadata=ObjectMeta(name=name, namespace=namespace, uid="u1", resource_version=version))
        return self._memory.event_of(Occurrence(1_700_000_000.0, pod, "Normal", "Scheduled", "Binding", "note", None))


def test_a_different_event_is_no_repetition() -> None:
    """Another version of the pod is another event, and two of the same moment have different names."""
    scene = Scene()
    events = [scene.record(version="7"), scene.record(version="8")]
    assert [event.metadata.name for event in events if event] == ["p.17979cfe362a0000", "p.17979cfe362a0001"]


def test_the_second_of_a_series_is_written_and_later_ones_are_counted() -> None:
    """Nothing, then a series of two, then nothing again."""
    scene = Scene()
    written = [scene.record() for _ in range(4)]
    assert [event and event.series and event.series.count for event in written] == [None, 2, None, None]
    assert written[0] is not None
    assert written[2:] == [None, None]


def test_the_oldest_event_is_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory has a bound: what was forgotten starts over, what is remembered becomes a series."""
    monkeypatch.setattr("kubesched.client.event_memory.MOST_REMEMBERED", 2)
    scene = Scene()
    written = [scene.record(name) for name in ("p1", "p2", "p3", "p1", "p3")]
    assert [event is not None and event.series is not None for event in written] == [False] * 4 + [True]


def test_a_name_that_is_no_name_for_an_event_becomes_a_uuid() -> None:
    """Some kinds allow names that events do not."""
    event = Scene().record("Not:Valid", namespace="")
    assert event is not None
    assert len(event.metadata.name) == 36
    assert event.metadata.namespace == "default"


@pytest.mark.parametrize(
    ("note", "length"),
    [
        pytest.param("a" * 1024, 1024, id="just fits"),
        pytest.param("a" * 2000, 1024, id="too long"),
        pytest.param("ä" * 1000, 1024, id="counted in bytes, cut between characters"),
    ],
)
def test_notes_are_cut(note: str, length: int) -> None:
    """The API server accepts 1024 bytes."""
    cut = truncate(note)
    assert len(cut.encode()) == length
    assert cut == note or cut.endswith(" ...")
