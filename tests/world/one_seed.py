"""One seed in a process of a pool: with what it cost, and a limit for a loop that virtual time cannot end."""

from __future__ import annotations

import signal
from time import process_time
from typing import Final, NamedTuple

from tests.world.world import Outcome, run_world

MOST_SECONDS: Final = 300
"""Of real time. A world takes about one."""


class Result(NamedTuple):
    outcome: Outcome
    cpu_seconds: float


def run_seed(seed: int) -> Result:
    started = process_time()
    signal.signal(signal.SIGALRM, _took_too_long)
    signal.alarm(MOST_SECONDS)
    try:
        return Result(run_world(seed), process_time() - started)
    finally:
        signal.alarm(0)


def replay_command(seed: int) -> str:
    """What plays it again, and shows what happens."""
    return f".venv/bin/python -m tests.world --seed {seed}"


def _took_too_long(*_: object) -> None:
    raise TimeoutError(f"more than {MOST_SECONDS} s of real time")
