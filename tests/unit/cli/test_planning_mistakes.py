"""Bad input to capacity, defrag and rollout: one line that says what is wrong, nothing else, nothing half done."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kubesched.apps.plan.defrag import plan as planning
from kubesched.cli import defrag
from kubesched.cli.main import main

EXAMPLES = Path(__file__).parents[3] / "docs" / "planning"
SHOP, GPUS = ("-f", "shop.yaml"), ("-f", "gpus.yaml")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The examples of docs/planning.md, and no cluster in reach."""
    for file in EXAMPLES.glob("*.yaml"):
        shutil.copy(file, tmp_path)
    (tmp_path / "half.yaml").write_text("kind: Pod\nmetadata: {name")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out, said.err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("capacity", *SHOP[:0]), "capacity of what? Name manifests of pods"),
        (("capacity", "none.yaml", *SHOP), "cannot read none.yaml: No such file or directory"),
        (("capacity", "half.yaml", *SHOP), "half.yaml: not valid YAML"),
        (("capacity", "more.yaml", *SHOP, "--weight", "none=3"), "write NAME=N, where NAME is one of web, api"),
        (("capacity", "more.yaml", *SHOP, "--weight", "web=many"), "write NAME=N, where NAME is one of web, api"),
        (("capacity", "more.yaml", *SHOP, "--count", "5", "--like", "none"), "no node is named 'none'"),
        (("capacity", "more.yaml", *SHOP, "--add-nodes", "5"), "--add-nodes goes with --like"),
        (("capacity", "more.yaml", *SHOP, "--like", "node-1"), "--like with --add-nodes or --count"),
        (("capacity", "more.yaml", *SHOP, "--shapes", "shapes.yaml"), "--shapes goes with --count alone"),
        (("capacity", "more.yaml", *SHOP, "--count", "3", "--shapes", "more.yaml"), "there are no nodes in it"),
        (("capacity", "more.yaml", *SHOP, "--at", "3m"), "--at is a moment of a trace, and none is given"),
        (("capacity", "-f", "more.yaml"), "no kubeconfig found"),
        (("defrag", *GPUS), "one goal at a time"),
        (("defrag", *GPUS, "--free-nodes", "1", "--drain", "gpu-1"), "one goal at a time"),
        (("defrag", *GPUS, "--rebalance", "--fit", "big-job.yaml"), "one goal at a time"),
        (("defrag", *GPUS, "--count", "2", "--drain", "gpu-1"), "--count says how many of --fit: there is none"),
        (("defrag", *GPUS, "--fit", "none.yaml"), "cannot read none.yaml: No such file or directory"),
        (("defrag", *GPUS, "--fit", "half.yaml"), "half.yaml: not valid YAML"),
        (("defrag", *GPUS, "--fit", "shapes.yaml"), "shapes.yaml: there are no pods in it"),
        (("defrag", *GPUS, "--drain", "none"), "no node is named 'none', and none has such labels"),
        (("defrag", *GPUS, "--drain", "pool in"), "pool in"),
        (("defrag", *GPUS, "--free-nodes", "99"), "cannot empty 99 of 5 nodes"),
        (("defrag", *GPUS, "--free-nodes", "-1"), "cannot empty -1 of 5 nodes"),
        (("defrag", *GPUS, "--fit", "big-job.yaml", "--execute"), "--execute works on a cluster, not on the objects"),
        (("defrag", "--plan", "none.json"), "cannot read none.json: No such file or directory"),
        (("defrag", "--plan", "big-job.yaml"), "big-job.yaml is no plan"),
        (("defrag", *GPUS, "--fit", "big-job.yaml", "--cost", "money"), "'money' is not one of"),
        (("rollout", *SHOP, "--pool", "none"), "no node is named 'none', and none has such labels"),
        (("rollout", *SHOP, "--surge", "0", "--max-unavailable", "0"), "no node may be upgraded"),
        (("rollout", *SHOP, "--surge", "-1"), "invalid value for '--surge'"),
        (("rollout", *SHOP, "--grace", "long"), "--grace: time: invalid duration"),
        (("rollout", *SHOP, "--node-time", "-3m"), "--node-time: -3m is less than nothing"),
        (("rollout", *SHOP, "--order", "none"), "'none' is not one of"),
        (("rollout",), "no kubeconfig found"),
    ],
)
def test_mistakes_are_one_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], problem: str, folder: Path
) -> None:
    """Code 1, nothing on standard output, no file left behind."""
    before = sorted(folder.iterdir())
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert problem in err
    assert err.count("\n") == 1
    assert sorted(folder.iterdir()) == before


def test_a_solver_that_is_not_installed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for by name it is an error that says how to get it; otherwise the plan is greedy, and says so."""
    monkeypatch.setattr(defrag, "is_installed", lambda: False)
    monkeypatch.setattr(planning, "is_installed", lambda: False)
    code, out, err = run(capsys, "defrag", *GPUS, "--fit", "big-job.yaml", "--solver", "cp-sat")
    assert (code, out, err) == (1, "", "error: this needs the solver: pip install 'kubesched[plan]'\n")
    code, out, _ = run(capsys, "defrag", *GPUS, "--fit", "big-job.yaml")
    assert code == 0
    assert "greedy, without a solver (pip install 'kubesched[plan]')" in out


def test_durations_are_written_as_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    """30s, 1m30s, or a number of seconds."""
    slow = run(capsys, "rollout", *SHOP, "-f", "relaxed.yaml", "--force", "--node-time", "10m")[1]
    assert slow == run(capsys, "rollout", *SHOP, "-f", "relaxed.yaml", "--force", "--node-time", "600")[1]
    assert slow != run(capsys, "rollout", *SHOP, "-f", "relaxed.yaml", "--force")[1]


def test_a_plan_as_shell_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """Each step waits for its successor before what was cordoned for it is open again."""
    code, out, _ = run(capsys, "defrag", *GPUS, "--fit", "big-job.yaml", "-o", "shell")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "#!/bin/sh"
    commands = [line for line in lines if line.startswith(("kubectl cordon", "kubectl uncordon", "settled "))]
    assert commands == [
        "kubectl cordon gpu-5",
        "kubectl cordon gpu-3",
        "settled  # its successor goes to gpu-4",
        "kubectl uncordon gpu-3",
        "settled  # its successor goes to gpu-3",
        "kubectl uncordon gpu-5",
    ]
    code, out, err = run(capsys, "defrag", *GPUS, "--fit", "big-job.yaml", "--count", "2", "-o", "shell")
    assert (code, out) == (1, "")
    assert "there is no such plan" in err
