from __future__ import annotations

from kubesched.columns import Journal, JournalReader


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
