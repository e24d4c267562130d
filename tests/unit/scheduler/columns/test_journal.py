from __future__ import annotations

from kubesched.scheduler.columns import EVERYTHING, Follower, Journal, either


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
    """Positions from before that are answered with EVERYTHING; later ones lose nothing, however often it happens."""
    journal: Journal[int] = Journal(limit=4)
    for row in range(5):
        journal.append(row)
    assert [journal.since(position) for position in (0, 1, 2)] == [EVERYTHING, EVERYTHING, [2, 3, 4]]
    for row in range(5, 12):
        journal.append(row)
        assert journal.since(journal.position - 2) == [row - 1, row]
    assert journal.position == 12


def test_a_follower_gets_each_change_once() -> None:
    """The first reading knows nothing of the past; later ones start where the last one ended."""
    journal: Journal[str] = Journal()
    journal.append("a")
    follower = Follower(journal)
    assert follower.changed() is EVERYTHING
    assert follower.changed() == []
    journal.append("b")
    journal.append("c")
    assert follower.changed() == ["b", "c"]
    assert follower.changed() == []


def test_a_follower_that_comes_too_late_must_look_at_everything() -> None:
    """A journal forgets its beginning, and says so."""
    journal: Journal[int] = Journal(limit=4)
    follower = Follower(journal)
    follower.changed()
    for row in range(10):
        journal.append(row)
    assert follower.changed() is EVERYTHING
    journal.append(10)
    assert follower.changed() == [10]


def test_two_followers_together_know_as_much_as_the_one_that_lost_track() -> None:
    """What one cannot narrow down, both cannot."""
    assert either([1], [2, 1]) == [1, 2, 1]
    assert either([], EVERYTHING) is EVERYTHING
    assert either(EVERYTHING, [1]) is EVERYTHING


def test_a_follower_that_has_seen_it_all_is_current() -> None:
    """Until something is written."""
    journal: Journal[int] = Journal()
    follower = Follower(journal)
    assert not follower.is_current
    follower.changed()
    assert follower.is_current
    journal.append(1)
    assert not follower.is_current
