"""The command line itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kubesched.cli.main import COMMANDS, main


def run(*arguments: str) -> int:
    """The exit code of the command line, run in this process."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    code = caught.value.code
    return code if isinstance(code, int) else 0


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Each entry of the table shows with its help line."""
    assert run("--help") == 0
    shown = capsys.readouterr().out
    for name, command in COMMANDS.items():
        assert name in shown
        assert command.help.split(".")[0][:30] in shown


def test_help_imports_no_command() -> None:
    """Help answers without loading any subcommand, nor what subcommands need."""
    script = (
        "import sys\n"
        "from kubesched.cli.main import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'kubesched.config', 'kubesched.objects', 'msgspec', 'numpy', 'yaml'} & sys.modules.keys()\n"
        "print(sorted(heavy), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """The version names the scheduler that we stand in for."""
    assert run("--version") == 0
    assert "kube-scheduler v1.37.1" in capsys.readouterr().out


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_loads(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each entry of the table leads to a working command."""
    assert run(command, "--help") == 0
    assert f"kubesched {command}" in " ".join(capsys.readouterr().out.split())


def test_without_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Who types the name only sees what there is."""
    assert run() == 0
    assert "explain" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        pytest.param("frobnicate", "no such command 'frobnicate'; see 'kubesched --help'", id="command"),
        pytest.param("up --bogus", "no such option: --bogus; see 'kubesched up --help'", id="option"),
        pytest.param("explain", "missing argument 'POD'; see 'kubesched explain --help'", id="argument"),
        pytest.param("config", "missing command; see 'kubesched config --help'", id="subcommand"),
    ],
)
def test_a_wrong_command_line(arguments: str, problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, and the code of all errors."""
    assert run(*arguments.split()) == 1
    assert capsys.readouterr().err == f"error: {problem}\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_a_full_disk_is_one_clear_line() -> None:
    """No traceback because the output does not fit."""
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "kubesched", "config", "default"]
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (1, "error: cannot write the output: No space left on device\n")


def test_streams_that_the_shell_closed() -> None:
    """Nothing is read or written, and nothing breaks."""
    script = f"{sys.executable} -m kubesched explain --help <&- >&-"
    ran = subprocess.run(["sh", "-c", script], stderr=subprocess.PIPE, text=True, check=False, env=os.environ)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize(
    ("typed", "position", "completed"),
    [
        pytest.param("kubesched exp", "1", "explain", id="command"),
        pytest.param("kubesched explain --mat", "2", "--matrix", id="option of a command"),
    ],
)
def test_completion_in_a_shell(typed: str, position: str, completed: str) -> None:
    """What a shell shows after Tab, once `kubesched --install-completion` was run."""
    asked = {"_KUBESCHED_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": position}
    command = [sys.executable, "-c", "from kubesched.cli.entry import process; process()"]
    done = subprocess.run(command, env=os.environ | asked, capture_output=True, text=True, check=False)
    assert done.stdout.split() == [completed]


def test_kubectl_finds_why(tmp_path: Path) -> None:
    """`kubectl why POD` runs the program kubectl-why, which is `kubesched explain`."""
    pods = tmp_path / "pods.yaml"
    pods.write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c}]}\n")
    program = Path(sys.executable).with_name("kubectl-why")
    done = subprocess.run([program, "pod/web", "-f", pods], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("default/web cannot be decided: no nodes"), done.stderr
