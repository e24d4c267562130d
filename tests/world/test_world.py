"""The world in a box: the same seed is the same world, and nothing happens in it that must never happen."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Final

import pytest
from tests.world.one_seed import replay_command
from tests.world.plan import Plan
from tests.world.world import run_world

SEEDS: Final = int(os.environ.get("KUBESCHED_WORLD_SEEDS", "40"))
PARTS: Final = 10
"""Tests that share the seeds, so that several processes can."""


@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_that_must_never_happen_happens(part: int) -> None:
    """Faults of all kinds, from some seeds; `make simulate` plays as many as one likes."""
    for seed in range(part, SEEDS, PARTS):
        outcome = run_world(seed)
        assert outcome.violations == [], replay_command(seed)


def test_a_world_without_faults_binds_its_pods() -> None:
    """One replica, users that come and go, nothing breaks."""
    outcome = run_world(1, plan=Plan(seed=1))
    assert outcome.violations == []
    assert outcome.bound > 20


def test_the_same_seed_is_the_same_world_in_another_process() -> None:
    """Whatever the order of its hashes is; and another seed is another world."""
    hashes = [_digest_in_another_process(seed=7, hash_seed=hash_seed) for hash_seed in ("1", "2")]
    assert hashes[0] == hashes[1] == run_world(7).digest
    assert run_world(8).digest != hashes[0]


def _digest_in_another_process(*, seed: int, hash_seed: str) -> str:
    program = f"from tests.world.world import run_world; print(run_world({seed}).digest)"
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True, timeout=120
    )
    return done.stdout.strip()
