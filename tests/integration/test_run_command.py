"""`kubesched run` where it cannot start, or need not: one clear line, the exit code, no traceback."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from kubesched.cli.main import main
from kubesched.telemetry.logging import LogOptions, log

CONFIG = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing around leads to a cluster, and logging is afterwards as it was."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(variable, raising=False)
    handlers = list(logging.root.handlers)
    yield
    logging.root.handlers = handlers
    log.configure(LogOptions())


def kubesched(*arguments: str) -> int:
    """The exit code of `kubesched run`."""
    with pytest.raises(SystemExit) as ended:
        main(["run", *arguments])
    return int(ended.value.code or 0)


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    """Leads to a server that is not there."""
    file = tmp_path / "kubeconfig"
    config = {
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
        "current-context": "c",
    }
    file.write_text(yaml.safe_dump(config))
    return file


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["--bogus"], "unknown flag: --bogus", id="an unknown flag"),
        pytest.param(["--secure-port=x"], 'invalid argument "x" for "--secure-port" flag', id="a flag's wrong value"),
        pytest.param([], "no kubeconfig found: ", id="no kubeconfig anywhere"),
        pytest.param(["--kubeconfig=none"], "cannot read kubeconfig none: No such file", id="a missing kubeconfig"),
        pytest.param(["--kubeconfig=broken"], "kubeconfig broken: ", id="a kubeconfig that is no YAML"),
        pytest.param(["--kubeconfig=empty"], "empty: current-context is not set", id="a kubeconfig without a context"),
        pytest.param(["--config=none.yaml"], "open none.yaml: No such file", id="a missing configuration"),
        pytest.param(["--config=wrong.yaml"], "parallelism: ", id="an invalid configuration"),
        pytest.param(
            ["--config=plugin.yaml"], 'MultiPoint plugin "Nope" does not exist', id="a plugin that does not exist"
        ),
        pytest.param(["--feature-gates=Nope=true"], "unrecognized feature gate: Nope", id="an unknown feature gate"),
    ],
)
def test_bad_input_is_told_in_one_line(
    arguments: list[str], says: str, kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever is wrong, the first thing said is what."""
    Path("broken").write_text("clusters: [")
    Path("empty").write_text("{}")
    Path("wrong.yaml").write_text(yaml.safe_dump({**CONFIG, "parallelism": -1}))
    plugins = {"multiPoint": {"enabled": [{"name": "Nope"}], "disabled": [{"name": "*"}]}}
    client = {"clientConnection": {"kubeconfig": str(kubeconfig)}}
    Path("plugin.yaml").write_text(yaml.safe_dump({**CONFIG, **client, "profiles": [{"plugins": plugins}]}))
    assert kubesched(*arguments) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert says in said.err
    assert said.err.lower().startswith("error: ")
    assert len(said.err.splitlines()) == 1


def test_a_taken_port_is_told_with_its_address(
    kubeconfig: Path, taken_port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything else is tried."""
    assert kubesched(f"--kubeconfig={kubeconfig}", "--bind-address=127.0.0.1", f"--secure-port={taken_port}") == 1
    said = capsys.readouterr().err
    assert f"failed to listen on 127.0.0.1:{taken_port}: Address already in use" in said
    assert len(said.splitlines()) == 1


def test_the_effective_configuration_can_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    """Flags that override the file are in it; no cluster is needed, and the exit code is 0."""
    Path("config.yaml").write_text(yaml.safe_dump({**CONFIG, "parallelism": 8}))
    flags = ["--config=config.yaml", "--write-config-to=written.yaml", "--leader-elect=false", "--kube-api-qps=7"]
    assert kubesched(*flags) == 0
    assert "--kube-api-qps is deprecated and ignored" in capsys.readouterr().err
    written = yaml.safe_load(Path("written.yaml").read_text())
    assert written["parallelism"] == 8
    assert written["leaderElection"]["leaderElect"] is False
    assert written["clientConnection"]["qps"] == 50


@pytest.mark.parametrize(
    ("plugins", "problem"),
    [
        pytest.param({"score": {"enabled": [{"name": "Foo"}]}}, 'ScorePlugin "Foo" does not exist', id="unknown"),
        pytest.param(
            {"permit": {"enabled": [{"name": "NodeName"}]}},
            'plugin "NodeName" does not extend PermitPlugin plugin',
            id="at a point that it does not serve",
        ),
        pytest.param({"bind": {"disabled": [{"name": "*"}]}}, "at least one bind plugin is needed", id="no binder"),
    ],
)
def test_a_configuration_of_which_no_scheduler_can_be_made_is_not_written(
    plugins: dict[str, object], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As with kube-scheduler, whose flag people use to check files."""
    Path("config.yaml").write_text(yaml.safe_dump({**CONFIG, "profiles": [{"plugins": plugins}]}))
    assert kubesched("--config=config.yaml", "--write-config-to=written.yaml") == 1
    assert problem in capsys.readouterr().err
    assert not Path("written.yaml").exists()


def test_version_and_help_need_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """They print and exit with 0."""
    assert kubesched("--version") == 0
    assert capsys.readouterr().out.startswith("Kubernetes v1.37.1")
    assert kubesched("--help") == 0
    assert "--leader-elect-lease-duration" in capsys.readouterr().out
