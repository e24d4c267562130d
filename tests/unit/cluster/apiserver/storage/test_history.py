"""The bounded history and the places of watchers in it."""

from __future__ import annotations

import pytest

from kubesched.cluster.apiserver.storage import Change, ChangeType, CompactedError, Entry, History


def change(version: int) -> Change:
    entry = Entry(namespace="", name=f"o{version}", version=version, raw=b"{}", labels={}, fields={})
    return Change(ChangeType.ADDED, entry, None)


def filled(*versions: int, capacity: int = 100, start: int = 0) -> History:
    history = History(capacity, start)
    for version in versions:
        history.append(change(version))
    return history


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        pytest.param(0, [2, 5, 9], id="from the start"),
        pytest.param(2, [5, 9], id="after a change"),
        pytest.param(4, [5, 9], id="between two changes"),
        pytest.param(9, [], id="at the end"),
        pytest.param(50, [], id="beyond the end"),
    ],
)
def test_reading_from_a_version(after: int, expected: list[int]) -> None:
    """A watcher gets exactly what it does not know yet."""
    history = filled(2, 5, 9)
    assert [item.version for item in history.read(history.position_after(after))] == expected


def test_compaction_keeps_at_least_the_capacity() -> None:
    """Old changes go in batches; positions stay valid."""
    history = filled(*range(1, 9), capacity=4)
    assert [item.version for item in history.read(history.position_after(4))] == [5, 6, 7, 8]
    assert history.end == 8


def test_what_was_compacted_cannot_be_watched() -> None:
    """The refusal names both versions."""
    history = filled(*range(1, 9), capacity=4)
    with pytest.raises(CompactedError, match=r"too old resource version: 3 \(4\)"):
        history.position_after(3)


def test_a_slow_reader_is_overtaken() -> None:
    """A position that was compacted away is an error, not a gap."""
    history = filled(1, capacity=2)
    position = history.position_after(0)
    for version in range(2, 9):
        history.append(change(version))
    with pytest.raises(CompactedError):
        history.read(position)


def test_nothing_before_the_first_version_is_known() -> None:
    """After a restart the history is empty: older versions have to list anew."""
    history = filled(start=40)
    assert history.position_after(40) == 0
    with pytest.raises(CompactedError):
        history.position_after(39)


def test_listeners_hear_of_every_change_until_they_stop() -> None:
    """A listener may stop itself while it is called."""
    heard: list[int] = []
    history = filled()

    def once() -> None:
        heard.append(1)
        stop()

    stop = history.listen(once)
    stop_other = history.listen(lambda: heard.append(2))
    history.append(change(1))
    history.append(change(2))
    stop_other()
    history.append(change(3))
    assert (heard, history.listeners) == ([1, 2, 2], 0)
