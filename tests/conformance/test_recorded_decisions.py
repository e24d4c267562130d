"""Decisions that kube-scheduler made, decided again as its version does: every recorded field must be the same."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from kubesched.apps.conformance import recordings, run_case

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(GOLDEN.rglob("*.json"))
CASES = {"v1.36.4": 825, "v1.37.1": 330}


@pytest.mark.parametrize("file", FILES, ids=[str(file.parent.relative_to(GOLDEN)) for file in FILES])
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
    """The recordings are complete, and each is decided as the version that it was recorded from."""
    counted: Counter[str] = Counter()
    for file in FILES:
        content = json.loads(file.read_text())
        counted[content["kubeSchedulerVersion"]] += len(content["cases"])
        (recording,) = recordings(file)
        assert content["kubeSchedulerVersion"].startswith(f"v{recording.gates.version}.")
    assert counted == CASES
