from __future__ import annotations

from kubesched.scheduler.columns import Journal, JournalReader


def test_what_was_appended_since_a_position() -> None:
    """With repeats, in order; nothing if that is all."""
    journal: Journal[int] = Journal()
    journal.append(3)
    position = journal.position
    for row in (5, 3, 5):
        journal.append(row)
    assert journal.since(position) == [5, 3, 5]
    assert journal.since(journal.position) == []


def test_a_full_journal_forgets_its_older_half() -> None:
    """Positions from before that are answered with None; later ones lose nothing, however often it happens."""
    journal: Journal[int] = Journal(limit=4)
    for row in range(5):
        journal.append(row)
    assert [journal.since(position) for position in (0, 1, 2)] == [None, None, [2, 3, 4]]
    for row in range(5, 12):
        journal.append(row)
        assert journal.since(journal.position - 2) == [row - 1, row]
    assert journal.position == 12


def test_a_reader_gets_each_change_once() -> None:
    """The first reading knows nothing of the past; later ones start where the last one ended."""
    journal: Journal[str] = Journal()
    journal.append("a")
    reader = JournalReader(journal)
    assert reader.news() is None
    assert reader.news() == []
    journal.append("b")
    journal.append("c")
    assert reader.news() == ["b", "c"]
    assert reader.news() == []


def test_a_reader_that_comes_too_late_must_look_at_everything() -> None:
    """A journal forgets its beginning, and says so."""
    journal: Journal[int] = Journal(limit=4)
    reader = JournalReader(journal)
    reader.news()
    for row in range(10):
        journal.append(row)
    assert reader.news() is None
    journal.append(10)
    assert reader.news() == [10]
