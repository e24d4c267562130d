"""Decisions that kube-scheduler made, decided again as its version does: every recorded field must be the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesched.apps.conformance import recordings, run_case

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(GOLDEN.glob("*/*.json"))
CASES = 825


@pytest.mark.parametrize("file", FILES, ids=[file.parent.name for file in FILES])
async def test_decides_as_kube_scheduler_did(file: Path) -> None:
    """Each case of an area is a small cluster of its own; all that differ are named with their first difference."""
    differing = []
    for recording in recordings(file):
        for case in recording.cases:
            result = await run_case(recording.area, case, recording.gates)
            if not result.matches:
                differing.append(f"{result.name}: {result.differences[0]}")
    assert not differing, "\n".join(differing)


def test_no_case_is_left_out() -> None:
    """The recordings are complete."""
    assert sum(len(recording.cases) for file in FILES for recording in recordings(file)) == CASES
