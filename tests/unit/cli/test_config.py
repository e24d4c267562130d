"""`kubesched config`."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
import yaml

from kubesched.cli.main import main
from kubesched.config import default_config, load_config

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


class Shell:
    """Runs `kubesched config …` in this process and keeps what it printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.out = ""
        self.err = ""

    def run(self, *arguments: str) -> int:
        with pytest.raises(SystemExit) as caught:
            main(["config", *arguments])
        self.out, self.err = self._capsys.readouterr()
        return caught.value.code if isinstance(caught.value.code, int) else 0


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def test_default_round_trip(shell: Shell, tmp_path: Path) -> None:
    """What `default` prints is valid and shows unchanged."""
    assert shell.run("default") == 0
    printed = shell.out
    assert load_config(printed) == default_config()
    file = tmp_path / "default.yaml"
    file.write_text(printed)
    assert shell.run("validate", str(file)) == 0
    assert shell.run("show", str(file)) == 0
    assert shell.out == printed


def test_validate_reports_every_problem(shell: Shell, tmp_path: Path) -> None:
    """One line per problem on standard error, exit code 1, nothing on standard output."""
    file = tmp_path / "bad.yaml"
    file.write_text(HEAD + "parallelism: 0\npercentageOfNodesToScore: 101\n")
    assert shell.run("validate", str(file)) == 1
    assert shell.out == ""
    assert shell.err.splitlines() == [
        "error: parallelism: Invalid value: 0: should be an integer value greater than zero",
        "error: percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]",
    ]


PLUGIN = """
from kubesched.scheduler.framework import ScorePlugin

class Picky(ScorePlugin):
    name = "Picky"
    def __init__(self, args, handle):
        self.label = args["label"]
    def score(self, state, pod, node):
        return 0
"""


@pytest.mark.parametrize(
    ("enabled", "code", "says"),
    [
        pytest.param(
            "validated_picky:Picky", 1, "error: initializing plugin Picky: TypeError", id="a plugin that cannot be made"
        ),
        pytest.param("validated_nosuch:Thing", 1, "error: plugin validated_nosuch:Thing: ", id="a missing module"),
        pytest.param("Typo", 1, 'error: MultiPoint plugin "Typo" does not exist', id="a name that nobody has"),
        pytest.param("NodeName", 0, "is valid", id="one of ours"),
    ],
)
def test_validate_loads_plugins(shell: Shell, tmp_path: Path, enabled: str, code: int, says: str) -> None:
    """What would keep the scheduler from starting is found before it is started."""
    (tmp_path / "validated_picky.py").write_text(PLUGIN)
    file = tmp_path / "config.yaml"
    file.write_text(HEAD + f"profiles: [{{plugins: {{multiPoint: {{enabled: [{{name: '{enabled}'}}]}}}}}}]\n")
    assert shell.run("validate", str(file)) == code
    assert says in shell.err
    assert len(shell.err.splitlines()) == 1


def test_validate_finds_misspelt_methods(shell: Shell, tmp_path: Path) -> None:
    """The scheduler would start with it, and never call the method."""
    misspelt = "    def normalise_scores(self, state, pod, scores): ...\n"
    (tmp_path / "validated_misspelt.py").write_text(PLUGIN.replace('args["label"]', "''") + misspelt)
    file = tmp_path / "config.yaml"
    file.write_text(HEAD + "profiles: [{plugins: {multiPoint: {enabled: [{name: 'validated_misspelt:Picky'}]}}}]\n")
    assert shell.run("validate", str(file)) == 1
    assert shell.err == (
        "error: plugin Picky: normalise_scores is not used: is it meant to be normalize_scores? "
        "(validated_misspelt.py:10)\n"
    )


def test_standard_input(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dash reads standard input."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(HEAD + "parallelism: 3\n"))
    assert shell.run("show", "-") == 0
    assert "parallelism: 3" in shell.out


def test_standard_input_that_is_no_text(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the locale refuses it or smuggles it in."""
    for errors in ("strict", "surrogateescape"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff"), encoding="utf-8", errors=errors))
        assert shell.run("show", "-") == 1
        assert shell.err == "error: standard input is not UTF-8 text\n"


def test_missing_file(shell: Shell, tmp_path: Path) -> None:
    """A file that cannot be read is one clear line."""
    assert shell.run("show", str(tmp_path / "nothing")) == 1
    assert shell.err.startswith("error: open ")
    assert shell.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        pytest.param(["--feature-gates", "GenericWorkload=true"], True, id="turned on"),
        pytest.param([], False, id="off by default"),
    ],
)
def test_feature_gates(shell: Shell, arguments: list[str], printed: bool) -> None:
    """Gates change the defaults."""
    assert shell.run("default", *arguments) == 0
    assert ("GangScheduling" in shell.out) is printed


def test_wrong_feature_gate(shell: Shell) -> None:
    """An unknown gate is an error of its own."""
    assert shell.run("default", "--feature-gates", "Foo=true") == 1
    assert shell.err == "error: unrecognized feature gate: Foo\n"


def test_emulated_version(shell: Shell) -> None:
    """An older version has fewer default plugins."""
    assert shell.run("default", "--emulated-version", "1.34") == 0
    assert "NodeDeclaredFeatures" not in shell.out


def test_convert_policy(shell: Shell, tmp_path: Path) -> None:
    """A policy becomes a configuration that means the same; notes go to standard error."""
    file = tmp_path / "policy.json"
    file.write_text(
        '{"apiVersion": "v1", "kind": "Policy", "predicates": [{"name": "GeneralPredicates"}], '
        '"priorities": [{"name": "ImageLocalityPriority", "weight": 5}, {"name": "EqualPriority", "weight": 1}]}'
    )
    assert shell.run("convert", str(file)) == 0
    assert shell.err == "note: priorities[1]: EqualPriority is ignored: it gave every node the same score\n"
    assert load_config(shell.out) == load_config(file.read_text())


def test_convert_refuses(shell: Shell, tmp_path: Path) -> None:
    """A policy without counterpart ends with its problems, not with half a configuration."""
    file = tmp_path / "policy.yaml"
    file.write_text("apiVersion: v1\nkind: Policy\npredicates: [{name: Foo}]\n")
    assert shell.run("convert", str(file)) == 1
    assert shell.out == ""
    assert shell.err == 'error: predicates[0]: predicate type not found for "Foo"\n'


def test_convert_provider(shell: Shell) -> None:
    """An algorithm provider is converted by its name."""
    assert shell.run("convert", "--algorithm-provider", "ClusterAutoscalerProvider") == 0
    assert "type: MostAllocated" in shell.out
    assert shell.run("convert", "--algorithm-provider", "Mine") == 1
    assert shell.run("convert") == 1
    assert shell.err == "error: give either a FILE or --algorithm-provider\n"


PLUGIN_WITH_RESOURCES = """
from kubesched.framework import ConfigMap, CustomObject, CustomResource, Permission, ScorePlugin


class PodGroup(CustomObject):
    resource = CustomResource("scheduling.x-k8s.io/v1alpha1", "podgroups")


class Reads(ScorePlugin):
    name = "Reads"
    permissions = (Permission(PodGroup, "patch", subresource="status"),)

    def __init__(self, args, handle):
        handle.informer(PodGroup)
        handle.informer(ConfigMap, namespace="kube-system")
        handle.fetch("/apis/metrics.k8s.io/v1beta1/nodes?limit=500", every=15)
        handle.fetch("http://prometheus:9090/api/v1/query", every=15)

    def score(self, state, pod, node):
        return 0
"""


def test_rbac_is_what_plugins_read_and_write(shell: Shell, tmp_path: Path) -> None:
    """Besides kube-scheduler's own roles and the lease; what is read in one namespace is allowed there only."""
    (tmp_path / "reading_plugin.py").write_text(PLUGIN_WITH_RESOURCES)
    file = tmp_path / "scheduler.yaml"
    file.write_text(HEAD + "profiles: [{plugins: {multiPoint: {enabled: [{name: 'reading_plugin:Reads'}]}}}]\n")
    assert shell.run("rbac", str(file), "--service-account", "sched/mine") == 0, shell.err
    manifests = list(yaml.safe_load_all(shell.out))
    allowed = {
        (m["kind"], m["metadata"].get("namespace", ""), rule["resources"][0]): rule["verbs"]
        for m in manifests
        for rule in m.get("rules", ())
    }
    assert allowed == {
        ("Role", "kube-system", "leases"): ["get", "list", "watch", "update"],
        ("ClusterRole", "", "podgroups"): ["get", "list", "watch"],
        ("ClusterRole", "", "podgroups/status"): ["patch"],
        ("ClusterRole", "", "nodes"): ["list"],
        ("Role", "kube-system", "configmaps"): ["get", "list", "watch"],
    }
    bindings = [m for m in manifests if m["kind"].endswith("Binding")]
    assert {"system:kube-scheduler", "system:volume-scheduler"} <= {m["roleRef"]["name"] for m in bindings}
    subject = {"kind": "ServiceAccount", "name": "mine", "namespace": "sched"}
    assert all(m["subjects"] == [subject] for m in bindings)


def test_rbac_wants_a_whole_account(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text(HEAD)
    assert shell.run("rbac", str(file), "--service-account", "mine") == 1
    assert shell.err == "error: --service-account must be NAMESPACE/NAME, not 'mine'\n"
