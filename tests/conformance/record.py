"""Records decisions of the current control plane's kube-scheduler code, beside those of v1.36.4.

    python -m tests.conformance.record

The inputs are a third of the recorded cases of every area, and random clusters (tests/differential, fixed seeds) that
the two versions decide differently. Both recorders must be installed (tools/controlplane/install.py).
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.differential.clusters import random_case
from tests.differential.test_random_clusters import left_out
from tools.controlplane.install import CHOICE, CURRENT, RELEASES, install

from kubesched.objects.base import Json

GOLDEN = Path(__file__).parent / "golden"
TARGET = GOLDEN / f"v{CURRENT}"
OLDER = "1.36"
EVERY = 3
SEEDS = range(10_000, 10_600)
CHANGED_CASES = 60
INPUTS = ("name", "description", "config", "objects", "pod", "pods")


def main() -> None:
    for file in sorted(GOLDEN.glob("*/*.json")):
        content = json.loads(file.read_text())
        recorded = content["cases"][::EVERY]
        with_plugins = any("plugins" in case["expected"] for case in recorded)
        cases = decide(recorded, CURRENT, "-plugins" if with_plugins else "")
        write(content["area"], cases)
    write("changes", changed())


def changed() -> list[Json]:
    """Random clusters about which the versions disagree in more than words."""
    cases = [random_case(seed) for seed in SEEDS]
    pairs = zip(decide(cases, OLDER), decide(cases, CURRENT), strict=True)
    return [left_out(new) for old, new in pairs if outcome(old) != outcome(new)][:CHANGED_CASES]


def outcome(case: Json) -> Json:
    """What a decision comes to, without the words of its reasons."""
    expected = case["expected"]
    preemption = expected.get("preemption") or {}
    fits = {name: verdict["fits"] for name, verdict in expected.get("filter", {}).items()}
    totals = {name: score["total"] for name, score in expected.get("scores", {}).items()}
    return {"fits": fits, "totals": totals, "candidates": preemption.get("candidates"), "fails": "error" in expected}


def decide(cases: Sequence[Json], minor: str, *options: str) -> list[Json]:
    environ = {key: value for key, value in os.environ.items() if key != "KUBEBUILDER_ASSETS"}
    program = install({**environ, CHOICE: minor}) / "recorder"
    inputs = [{key: case[key] for key in INPUTS if key in case} for case in cases]
    text = "".join(json.dumps(case) + "\n" for case in inputs)
    command = [str(program), *filter(None, options)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def write(area: str, cases: Iterable[Json]) -> None:
    recorded = list(cases)
    content = {"area": area, "kubeSchedulerVersion": RELEASES[CURRENT][0], "cases": recorded}
    refused = [case["name"] for case in recorded if "refused" in case]
    assert not refused, f"{area}: not taken: {', '.join(refused)}"
    path = TARGET / area / f"{area}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, separators=(",", ":"), sort_keys=True) + "\n")
    print(f"{area}: {len(recorded)} cases")


if __name__ == "__main__":
    main()
