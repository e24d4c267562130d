"""How does the cost of a pod grow with the cluster? CPU microseconds per pod with 5,000, 50,000 and 200,000 nodes.

    python benchmarks/growth.py                            # all cases: a quarter of an hour, and 2 GiB of memory
    python benchmarks/growth.py '/5000Nodes' --rounds 5    # only workloads whose CASE/NAME matches
    python benchmarks/growth.py --against v0.1.0           # beside another revision, or the folder of a checkout

It runs the workloads of benchmarks/performance-config.yaml that have the label `scale`, in core mode, each in a process
of its own. With `--against` both versions run the same workloads, and take turns, so that what else the machine does
concerns both. The least of all rounds counts: everything else only adds to it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kubesched.apps.bench.workload import load_workloads

ROOT = Path(__file__).parents[1]
WORKLOADS = ROOT / "benchmarks" / "performance-config.yaml"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="?", default="", metavar="REGEX", help="only those whose CASE/NAME matches")
    parser.add_argument("--against", default="", metavar="REVISION", help="another one of kubesched, or its folder")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="how often every workload runs")
    chosen = parser.parse_args()
    names = [one.full_name for one in load_workloads([WORKLOADS], pattern=chosen.workloads, labels=["scale"])]
    if not names:
        parser.error("no workload with the label scale matches")
    if not chosen.against:
        print_costs(names, [ROOT], chosen.rounds, ["µs per pod"])
        return
    with checkout(chosen.against) as other:
        print_costs(names, [ROOT, other], chosen.rounds, ["µs per pod", chosen.against])


@contextmanager
def checkout(name: str) -> Iterator[Path]:
    """The folder of that name, or one with the sources of a revision."""
    if (Path(name) / "src").is_dir():
        yield Path(name).resolve()
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "sources.tar"
        archive = ["git", "archive", f"--output={file}", name, "src"]
        made = subprocess.run(archive, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603 - git, ours
        if made.returncode:
            sys.exit(f"--against {name}: neither a checkout nor a revision: {made.stderr.strip()}")
        subprocess.run(["tar", "--extract", f"--file={file}", f"--directory={folder}"], check=True)  # noqa: S603, S607 - ours
        yield Path(folder)


def print_costs(names: list[str], checkouts: list[Path], rounds: int, titles: list[str]) -> None:
    """One line per workload as soon as it is known; with two checkouts, the ratio of the first to the second."""
    width = max(map(len, names))
    print(f"{'workload':{width}}", *(f"{title[:12]:>12}" for title in titles), "ratio" if len(checkouts) > 1 else "")
    for name in names:
        turns = [[cost(name, folder) for folder in checkouts] for _ in range(rounds)]
        costs = [min(of_one) for of_one in zip(*turns, strict=True)]
        ratio = f"{costs[0] / costs[1]:5.2f}" if len(costs) > 1 else ""
        print(f"{name:{width}}", *(f"{one:12,.0f}" for one in costs), ratio, flush=True)


def cost(workload: str, folder: Path) -> float:
    """CPU microseconds per measured pod, with the sources of this checkout."""
    with tempfile.NamedTemporaryFile(suffix=".json") as results:
        options = ["--config", str(WORKLOADS), "--workload", f"^{re.escape(workload)}$", "--json", results.name]
        ran = subprocess.run(  # noqa: S603 - ourselves
            [sys.executable, "-m", "kubesched", "bench", *options],
            env=os.environ | {"PYTHONPATH": str(folder / "src")},
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode:
            sys.exit(f"{workload} in {folder}:\n{ran.stdout}{ran.stderr}")
        items = json.loads(Path(results.name).read_text())["dataItems"]
    (seconds,) = [item["data"] for item in items if item["labels"]["Metric"] == "Seconds"]
    per_pod: float = seconds["CPU"] / seconds["Pods"] * 1e6
    return per_pod


if __name__ == "__main__":
    main()
