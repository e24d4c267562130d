"""How a rollout moves replicas from one ReplicaSet to the next."""

from __future__ import annotations

import pytest

from kubesched.cluster.controllers.deployment_rollout import (
    RolloutMember,
    RolloutTarget,
    Sizes,
    grown,
    rescaled,
    rolled,
)


def member(
    name: str, replicas: int, available: int | None = None, *, created: float = 0.0, largest: int = 0
) -> RolloutMember:
    return RolloutMember(
        name=name,
        replicas=replicas,
        available=replicas if available is None else available,
        created=created,
        largest=largest,
    )


TARGET = RolloutTarget(replicas=10, surge=3, unavailable=2)


@pytest.mark.parametrize(
    ("new", "total", "expected"),
    [
        pytest.param(0, 10, 3, id="the surge is used at once"),
        pytest.param(3, 13, 3, id="no room, no growth"),
        pytest.param(8, 8, 10, id="never more than wished for"),
    ],
)
def test_growth(new: int, total: int, expected: int) -> None:
    """The new ReplicaSet fills the room that the surge leaves."""
    assert grown(TARGET, new, total) == expected


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        pytest.param(member("n", 0), [member("o", 10)], {"n": 3}, id="first the new one grows"),
        pytest.param(member("n", 3, 0), [member("o", 10)], {"o": 8}, id="then the old one gives what may be missing"),
        pytest.param(member("n", 5, 0), [member("o", 8)], {}, id="and waits for the new pods"),
        pytest.param(member("n", 5, 5), [member("o", 8)], {"o": 3}, id="which let more of the old ones go"),
        pytest.param(
            member("n", 3, 0),
            [member("sick", 4, 0, created=1), member("o", 6, 6, created=2)],
            {"sick": 2},
            id="pods that do nothing go first",
        ),
        pytest.param(member("n", 12), [], {"n": 10}, id="a new one that is too large shrinks"),
        pytest.param(member("n", 10, 10), [member("o", 0)], {}, id="nothing to do at the end"),
    ],
)
def test_rolling(new: RolloutMember, old: list[RolloutMember], expected: Sizes) -> None:
    """One step at a time, within surge and unavailability."""
    assert rolled(TARGET, new, old) == expected


@pytest.mark.parametrize(
    ("target", "new", "old", "expected"),
    [
        pytest.param(TARGET, member("n", 4), [], {"n": 10}, id="a single one takes it all"),
        pytest.param(
            TARGET, None, [member("a", 0, created=1), member("b", 0, created=2)], {"b": 10}, id="else the newest"
        ),
        pytest.param(
            RolloutTarget(replicas=20, surge=6, unavailable=2),
            member("n", 5, largest=13, created=2),
            [member("o", 8, largest=13, created=1)],
            {"n": 10, "o": 16},
            id="in proportion while a rollout is under way",
        ),
        pytest.param(
            RolloutTarget(replicas=0, surge=0, unavailable=0),
            member("n", 5, largest=13, created=2),
            [member("o", 8, largest=13, created=1)],
            {"n": 0, "o": 0},
            id="to zero",
        ),
        pytest.param(TARGET, member("n", 10, 10), [member("o", 3)], {"o": 0}, id="leftovers of a finished rollout"),
    ],
)
def test_rescaling(target: RolloutTarget, new: RolloutMember | None, old: list[RolloutMember], expected: Sizes) -> None:
    """A change of the replicas keeps the rollout's proportions."""
    assert rescaled(target, new, old) == expected


def test_a_rolling_update_ends_with_all_replicas_new() -> None:
    """Step by step, never fewer than 8 available pods, never more than 13 pods in total."""
    new, old = member("n", 0), member("o", 10)
    for _ in range(30):
        sizes = rolled(TARGET, new, [old])
        new = member("n", sizes.get("n", new.replicas))  # what is asked for is there at once
        old = member("o", sizes.get("o", old.replicas))
        assert new.replicas + old.replicas <= 13
        assert new.available + old.available >= 8
    assert (new.replicas, old.replicas) == (10, 0)
