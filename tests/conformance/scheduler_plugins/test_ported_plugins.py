"""Decisions that the Go plugins of scheduler-plugins made, decided again: every recorded field must be the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conformance.scheduler_plugins.cases import CASES

from kubesched.apps.conformance import recordings, run_case

RECORDED = Path(__file__).parent / "recorded"
AT_LEAST = 100


@pytest.mark.parametrize("plugin", CASES)
async def test_decides_as_the_go_plugin_did(plugin: str) -> None:
    """Each case is a small cluster of its own; those that differ are named with their first difference."""
    (recording,) = recordings(RECORDED / f"{plugin}.json.gz")
    assert len(recording.cases) >= AT_LEAST
    results = [await run_case(recording.area, case, recording.gates) for case in recording.cases]
    differing = [f"{result.name}: {result.differences[0]}" for result in results if not result.matches]
    assert not differing, f"{len(differing)} differ:\n" + "\n".join(differing)
