"""Records decisions of the Go plugins of kubernetes-sigs/scheduler-plugins.

    python -m tests.conformance.scheduler_plugins.record [PLUGIN...]

The inputs are random clusters (cases.py, fixed seeds). It needs a Go toolchain, which builds tools/schedulerplugins.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.conformance.scheduler_plugins.cases import CASES, random_case
from tools.schedulerplugins.install import VERSION, install

from kubesched.objects.base import Json

TARGET = Path(__file__).parent / "recorded"
SEEDS = range(120)


def main(plugins: Sequence[str]) -> None:
    program = install(os.environ)
    for plugin in plugins or CASES:
        cases = decide(program, [random_case(plugin, seed) for seed in SEEDS])
        refused = [f"{case['name']}: {case['refused']}" for case in cases if "refused" in case]
        assert not refused, "not taken: " + "\n".join(refused)
        write(plugin, cases)
        print(f"{plugin}: {len(cases)} cases")


def decide(program: Path, cases: Sequence[Json]) -> list[Json]:
    text = "".join(json.dumps(case) + "\n" for case in cases)
    done = subprocess.run([str(program)], input=text, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def write(plugin: str, cases: Sequence[Json]) -> None:
    content = {"area": plugin, "kubeSchedulerVersion": "v1.34.7", "schedulerPluginsVersion": VERSION, "cases": cases}
    text = json.dumps(content, separators=(",", ":"), sort_keys=True)
    TARGET.mkdir(exist_ok=True)
    (TARGET / f"{plugin}.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main(sys.argv[1:])
