"""The Helm chart, linted and rendered by the real helm (`make helm` builds it): every mode makes what it says."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubesched.cli.flags import read_run_flags
from kubesched.cli.run_flags.options import RunOptions
from kubesched.config import load_config

ROOT = Path(__file__).parents[3]
CHART = ROOT / "deploy/helm/kubesched"
BUILT = Path.home() / ".cache/kubesched/helm/helm"
HELM = shutil.which("helm") or (str(BUILT) if BUILT.exists() else "")

pytestmark = pytest.mark.skipif(not HELM, reason="helm is not there: `make helm` builds it where Go is")


def helm(*arguments: str, fails: bool = False) -> str:
    done = subprocess.run([HELM, *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode != 0) is fails, done.stdout + done.stderr
    return done.stderr if fails else done.stdout


def rendered(*values: str) -> list[dict[str, Any]]:
    sets = [part for value in values for part in ("--set", value)]
    text = helm("template", "mine", str(CHART), "--namespace", "scheduling", "--kube-version", "1.37.1", *sets)
    return [document for document in yaml.safe_load_all(text) if document]


def only(kind: str, documents: list[dict[str, Any]]) -> dict[str, Any]:
    (found,) = [document for document in documents if document["kind"] == kind]
    return found


def container_of(documents: list[dict[str, Any]]) -> dict[str, Any]:
    container: dict[str, Any] = only("Deployment", documents)["spec"]["template"]["spec"]["containers"][0]
    return container


@pytest.mark.parametrize("mode", ["second", "replacement", "shadow"])
def test_it_lints(mode: str) -> None:
    """Strictly: warnings count."""
    assert "0 chart(s) failed" in helm("lint", "--strict", str(CHART), "--set", f"mode={mode}")


@pytest.mark.parametrize(
    ("mode", "scheduler", "lease"),
    [
        pytest.param("second", "kubesched", ("mine", "scheduling"), id="beside kube-scheduler"),
        pytest.param("replacement", "default-scheduler", ("kube-scheduler", "kube-system"), id="in its place"),
    ],
)
def test_a_scheduler(mode: str, scheduler: str, lease: tuple[str, str]) -> None:
    """Its configuration is valid, its flags are ours, and it may use the lease that it asks for."""
    documents = rendered(f"mode={mode}")
    config = load_config(only("ConfigMap", documents)["data"]["config.yaml"])
    election = config.leader_election
    assert [profile.scheduler_name for profile in config.profiles] == [scheduler]
    assert (election.resource_name, election.resource_namespace) == lease
    role = only("Role", documents)
    assert role["metadata"]["namespace"] == lease[1]
    assert role["rules"][1]["resourceNames"] == [lease[0]]
    command, *flags = container_of(documents)["args"]
    assert command == "run"
    assert isinstance(read_run_flags(flags), RunOptions)
    assert only("Deployment", documents)["spec"]["replicas"] == 2


def test_a_shadow_only_reads() -> None:
    """One replica, no lease, and no verb but list and watch."""
    documents = rendered("mode=shadow")
    rules = [rule for document in documents for rule in document.get("rules", [])]
    assert {verb for rule in rules for verb in rule["verbs"]} == {"list", "watch"}
    assert [document["roleRef"]["name"] for document in documents if "roleRef" in document] == ["mine-shadow"]
    assert container_of(documents)["args"][0] == "shadow"
    assert only("Deployment", documents)["spec"]["replicas"] == 1
    load_config(only("ConfigMap", documents)["data"]["config.yaml"])


@pytest.mark.parametrize("mode", ["second", "replacement", "shadow"])
def test_parts_name_each_other(mode: str) -> None:
    """Account, ConfigMap, selectors; and the pod is confined."""
    documents = rendered(f"mode={mode}")
    pod = only("Deployment", documents)["spec"]["template"]
    account = only("ServiceAccount", documents)["metadata"]
    subject = {"kind": "ServiceAccount", "name": account["name"], "namespace": account["namespace"]}
    assert all(document["subjects"] == [subject] for document in documents if "roleRef" in document)
    assert pod["spec"]["serviceAccountName"] == account["name"]
    assert pod["spec"]["volumes"][0]["configMap"]["name"] == only("ConfigMap", documents)["metadata"]["name"]
    selector = only("Deployment", documents)["spec"]["selector"]["matchLabels"]
    assert selector.items() <= pod["metadata"]["labels"].items()
    assert only("Service", documents)["spec"]["selector"] == selector
    assert container_of(documents)["securityContext"]["readOnlyRootFilesystem"]
    assert pod["spec"]["securityContext"]["runAsNonRoot"]


def test_plugins_of_ones_own() -> None:
    """A file beside the configuration, and a profile that names it."""
    documents = rendered(
        "files.my_plugin\\.py=import this",
        "profile.plugins.multiPoint.enabled[0].name=my_plugin:MyPlugin",
    )
    data = only("ConfigMap", documents)["data"]
    assert data["my_plugin.py"] == "import this"
    (profile,) = yaml.safe_load(data["config.yaml"])["profiles"]
    assert profile["plugins"]["multiPoint"]["enabled"] == [{"name": "my_plugin:MyPlugin"}]


@pytest.mark.parametrize("value", ["mode=primary", "replicas=0", "replica=3"])
def test_values_that_make_no_sense(value: str) -> None:
    """Refused by the schema, before anything is installed."""
    assert value.split("=")[0] in helm("template", "mine", str(CHART), "--set", value, fails=True)
