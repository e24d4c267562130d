"""Random clusters, decided by kube-scheduler's own code and by ours.

The seeds are fixed: a difference is one in the code. `KUBESCHED_DIFFERENTIAL_SEEDS=1000:5000` tries others, and
`KUBESCHED_CONTROL_PLANE=1.36` asks an older kube-scheduler; we decide as that version then.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.differential.clusters import random_case
from tools.controlplane.install import NotInstallableError, chosen, install

from kubesched.apps.conformance import CaseResult, run_case
from kubesched.config import FeatureGates
from kubesched.config.versions import Version
from kubesched.objects.base import Json

RECORDERS = 4
FILTER_FAILED = re.compile(r'running "(\w+)" filter plugin')


@pytest.fixture(scope="session")
def recorder() -> Path:
    try:
        program = install() / "recorder"
    except NotInstallableError as error:
        pytest.skip(f"no kube-scheduler to ask: {error}")
    if not program.exists():
        pytest.skip("the programs that are here came without the recorder")
    return program


def record(program: Path, cases: list[Json]) -> list[Json]:
    """The cases with what kube-scheduler decides, as `expected`; those that it refuses are left out."""

    def run(part: list[Json]) -> list[Json]:
        text = "".join(json.dumps(case) + "\n" for case in part)
        done = subprocess.run([program], input=text, capture_output=True, text=True, timeout=3600, check=True)
        return [case for line in done.stdout.splitlines() if "refused" not in (case := json.loads(line))]

    with ThreadPoolExecutor(RECORDERS) as pool:
        parts = pool.map(run, [cases[k::RECORDERS] for k in range(RECORDERS)])
        return [case for part in parts for case in part]


def is_left_to_chance(case: Json, result: CaseResult) -> bool:
    """A filter that fails on several nodes: which of the errors is told depends on the order of nodes."""
    first = result.differences[0]
    messages = [FILTER_FAILED.match(str(message)) for message in (first.expected, first.actual)]
    return first.path == "error" and len({found and found[1] for found in messages}) == 1 and None not in messages


def left_out(case: Json) -> Json:
    """Without verdicts where a recording has others: of a nominated node that PreFilter left out."""
    expected = case["expected"]
    if case["pod"]["status"].get("nominatedNodeName") and "nodes" in expected.get("preFilter", {}):
        expected = {key: value for key, value in expected.items() if key != "filter"}
    return {**case, "expected": expected}


@pytest.mark.e2e
async def test_decisions(recorder: Path) -> None:
    """Every verdict, reason, score and victim is the same."""
    first, last = map(int, os.environ.get("KUBESCHED_DIFFERENTIAL_SEEDS", "0:300").split(":"))
    cases = [left_out(case) for case in record(recorder, [random_case(seed) for seed in range(first, last)])]
    assert len(cases) > 0.9 * (last - first), "most cases are such that a scheduler takes them"
    gates = FeatureGates(version=Version.parse(chosen()))
    results = [(case, await run_case("differential", case, gates)) for case in cases]
    wrong = [result for case, result in results if not result.matches and not is_left_to_chance(case, result)]
    assert not wrong, "\n".join(f"{result.name}: {result.differences[0]}" for result in wrong)
