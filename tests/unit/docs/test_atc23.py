"""The experiment of examples/experiments, on small lists that are made here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "examples" / "experiments" / "atc23.py"
NODES = "sn,cpu_milli,memory_mib,gpu,model\n" + "".join(f"n{k},64000,262144,{2 + k % 3},T4\n" for k in range(6))
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n" + "".join(
    f"p{k:02},{1000 + 500 * (k % 4)},1024,{(0, 1, 1, 2)[k % 4]},{(0, 400, 1000, 1000)[k % 4]}\n" for k in range(20)
)


def tried(data: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), str(data), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "openb_node_list_gpu_node.csv").write_text(NODES)
    (tmp_path / "openb_pod_list_small.csv").write_text(PODS)
    published = {"at100": 90.0, "final": 95.0}
    (tmp_path / "expected.json").write_text(json.dumps({"small": {"FGD": published}}))
    return tmp_path


def test_a_table_beside_the_published_one(data: Path) -> None:
    """Every run twice the same; loads go up to 130 %, allocations never beyond 100."""
    options = ("--policies", "BestFit,FGD,Random", "--seeds", "2", "--processes", "1")
    first = tried(data, *options, "--output", str(data / "one.jsonl"))
    assert first.returncode == 0, first.stderr
    assert "90.00" in first.stdout
    assert "largest difference to the published means" in first.stdout
    tried(data, *options, "--output", str(data / "two.jsonl"))
    runs = [
        [json.loads(line) for line in (data / name).read_text().splitlines()] for name in ("one.jsonl", "two.jsonl")
    ]
    for run in (*runs[0], *runs[1]):
        del run["seconds"]
    assert runs[0] == runs[1]
    assert [(run["policy"], run["seed"]) for run in runs[0]][:3] == [("BestFit", 42), ("BestFit", 43), ("FGD", 42)]
    for run in runs[0]:
        assert 120 < max(map(int, run["allocated"])) < 140  # the last pod may ask for two GPUs
        assert max(run["allocated"].values()) <= 100
        assert sum(run["classes"].values()) == pytest.approx(
            100 - run["allocated"][max(run["allocated"], key=int)], abs=1
        )


def test_runs_of_a_killed_evaluation_are_not_done_again(data: Path) -> None:
    """A torn last line is a run that is not finished. Every workload gets a plot."""
    journal, plots = data / "runs.jsonl", data / "plots"
    options = ("--policies", "BestFit", "--processes", "1", "--output", str(journal), "--plots", str(plots))
    tried(data, *options, "--seeds", "2")
    kept, torn = journal.read_text().splitlines()
    journal.write_text(f"{kept}\n{torn[:40]}")
    again = tried(data, *options, "--seeds", "3")
    assert "2 of 2 runs" in again.stderr
    lines = journal.read_text().splitlines()
    assert lines[0] == kept
    assert [json.loads(line)["seed"] for line in lines] == [42, 43, 44]
    assert "Allocated GPUs, small" in (plots / "small.svg").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(["--policies", "Best"], "unknown policy 'Best'; there are Random, DotProduct", id="policy"),
        pytest.param(["--workloads", "large"], "unknown workload 'large'; there are small", id="workload"),
    ],
)
def test_what_is_unknown_is_one_line(data: Path, options: list[str], message: str) -> None:
    """And says what there is."""
    answer = tried(data, *options)
    assert answer.returncode == 1
    assert answer.stderr.startswith(message)
    assert answer.stderr.count("\n") == 1


def test_a_bad_list_is_one_line_with_file_and_row(data: Path) -> None:
    """Found by a worker, said by the driver."""
    (data / "openb_pod_list_small.csv").write_text(PODS.replace("2000,1024,1", "-2000,1024,1"))
    answer = tried(data, "--policies", "BestFit", "--seeds", "1", "--processes", "1")
    assert answer.returncode == 1
    assert "openb_pod_list_small.csv: line 4: cpu_milli: below zero: -2000" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_go_random(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers that a Go program printed."""
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    import go_random  # type: ignore[import-not-found,unused-ignore]  # examples are no package

    random = go_random.GoRandom(42)
    assert [random.uint64() & (1 << 63) - 1 for _ in range(2)] == [3440579354231278675, 608747136543856411]
    assert random.permutation(10) == [1, 8, 5, 7, 6, 4, 0, 9, 3, 2]
    assert [random.below(8), random.below(1213)] == [7, 934]
    items: list[Any] = list(range(12))
    random.shuffle(items)
    assert items == [2, 3, 10, 4, 1, 0, 8, 9, 6, 11, 5, 7]
