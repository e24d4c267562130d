"""`kubesched bench`: what is wrong is said before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesched.cli.main import main

CASES = """
- name: Tiny
  workloadTemplate: [{opcode: createNodes, count: 1}]
  workloads: [{name: one}]
"""


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        pytest.param("", "--config is missing: a performance-config.yaml, or a folder with such files", id="no config"),
        pytest.param("--config {}/none", "open {}/none: No such file or directory", id="no such file"),
        pytest.param(
            "--config {} --workload nosuch", "no workload matches: see --config, --workload and --label", id="no match"
        ),
        pytest.param(
            "--config {} --workload [",
            "--workload: not a regular expression: unterminated character set at position 0",
            id="a broken expression",
        ),
        pytest.param("--config {} --json {}/none/x", "{}/none/x: No such file or directory", id="nowhere to write"),
        pytest.param("--config {} --json {}", "{}: Is a directory", id="results into a folder"),
        pytest.param(
            "--config {} --mode cluster --kubeconfig {}/none", "--kubeconfig: there is no file {}/none", id="no cluster"
        ),
    ],
)
def test_a_wrong_call_is_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: str, problem: str
) -> None:
    """Whoever waited an hour for results is not to learn in the end that they cannot be written."""
    (tmp_path / "performance-config.yaml").write_text(CASES)
    with pytest.raises(SystemExit, match="1"):
        main(["bench", *arguments.replace("{}", str(tmp_path)).split()])
    assert capsys.readouterr().err == f"error: {problem.replace('{}', str(tmp_path))}\n"
