"""A world finds what was wrong before: each fix is taken out, and within some seeds something happens that must not."""

from __future__ import annotations

import pytest
from tests.world.mutations import MOST_SEEDS, MUTATIONS, Mutation
from tests.world.world import run_world


@pytest.mark.parametrize("mutation", MUTATIONS.values(), ids=list(MUTATIONS))
def test_what_was_fixed_is_found_again_without_the_fix(mutation: Mutation) -> None:
    """And is not there with it, on the very seed that found it."""
    for seed in range(mutation.first, mutation.first + MOST_SEEDS):
        if mutation.is_found_in(mutation.run(seed)):
            assert run_world(seed, plan=mutation.settings(seed)).violations == []
            return
    pytest.fail(f"not found in {MOST_SEEDS} seeds")
