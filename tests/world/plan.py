"""What a seed asks for: how large the world is, how long it lasts and what goes wrong in it."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

from tests.world.faults import MESSAGE_FAULTS

TROUBLES: Final = (
    *("server crashes", "journal tears", "disk fills", "replica killed", "replica stopped", "replica paused"),
    *("replica partitioned", "watch cut", "watch silent", "watch expired"),
)


@dataclass(frozen=True)
class ClockPlan:
    rate: float = 1.0
    ahead: float = 0.0
    booted: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Plan:
    seed: int
    seconds: float = 60.0
    """For how long users act and things go wrong."""
    nodes: int = 4
    most_pods: int = 40
    """Users create no more than that: what fits nowhere is tried again whenever something changes."""
    pause: float = 1.0
    """Between two acts of users, on average."""
    clocks: tuple[ClockPlan, ...] = (ClockPlan(),)
    """One for each replica."""
    message_faults: tuple[str, ...] = ()
    share: float = 0.0
    """Of messages that something happens to."""
    slowest: float = 1.0
    """Seconds that a slow message takes at most."""
    troubles: tuple[str, ...] = ()
    trouble_pause: float = 10.0
    changes_kept: int = 8192
    """By the API server: a watch that is further behind has to list again."""

    @classmethod
    def of(cls, seed: int) -> Plan:
        random = Random(seed)
        clocks = tuple(
            ClockPlan(random.uniform(0.92, 1.08), random.uniform(-30.0, 30.0), random.uniform(0.0, 1e6))
            for _ in range(random.choice((2, 2, 3)))
        )
        is_calm = random.random() < 0.05
        return cls(
            seed=seed,
            seconds=random.uniform(40.0, 120.0),
            nodes=random.randint(2, 5),
            most_pods=random.choice((12, 18, 24, 40)),
            pause=random.choice((0.2, 0.5, 1.0)),
            clocks=clocks,
            message_faults=() if is_calm else _some(random, MESSAGE_FAULTS),
            share=random.choice((0.01, 0.05, 0.2)),
            slowest=random.choice((0.3, 2.0)),
            troubles=() if is_calm else _some(random, TROUBLES),
            trouble_pause=random.choice((5.0, 15.0)),
            changes_kept=random.choice((16, 64, 8192)),
        )


def _some(random: Random, kinds: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(kind for kind in kinds if random.random() < 0.4)
