"""The manifests parse, fit together, and name only what exists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry

from kubesched.cli.flags import read_run_flags
from kubesched.cli.run_flags.options import RunOptions
from kubesched.config import default_config, load_config
from kubesched.telemetry.metrics import SchedulerMetrics

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
METRIC = re.compile(r"\b(?:scheduler|kubesched|rest_client|leader_election|workqueue)_[a-z_]+\b")


def documents(path: str) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all((DEPLOY / path).read_text()) if document]


def only(kind: str, path: str) -> dict[str, Any]:
    (found,) = [document for document in documents(path) if document["kind"] == kind]
    return found


POD_SPECS = [
    pytest.param(
        only("Deployment", "second-scheduler/deployment.yaml")["spec"]["template"]["spec"], id="second scheduler"
    ),
    pytest.param(only("Pod", "in-place/kube-scheduler.yaml")["spec"], id="in place"),
]


MANIFESTS = [path.relative_to(DEPLOY) for path in DEPLOY.rglob("*.yaml")]


@pytest.mark.parametrize("path", sorted(str(path) for path in MANIFESTS if path.parts[0] != "helm"))
def test_every_manifest_parses(path: str) -> None:
    """With kind and version in each document."""
    assert documents(path)
    assert all(document["kind"] and document["apiVersion"] for document in documents(path))


@pytest.mark.parametrize("spec", POD_SPECS)
def test_the_pod_is_confined(spec: dict[str, Any]) -> None:
    """Not root, nothing writable, no privileges, requests and a memory limit."""
    (container,) = spec["containers"]
    assert spec["securityContext"]["runAsNonRoot"]
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
    assert "memory" in container["resources"]["limits"]


@pytest.mark.parametrize("spec", POD_SPECS)
def test_the_flags_and_probes_are_ours(spec: dict[str, Any]) -> None:
    """The command line is accepted, and probes ask where it serves."""
    (container,) = spec["containers"]
    command, *flags = container["args"]
    options = read_run_flags(flags)
    assert command == "run"
    assert isinstance(options, RunOptions)
    ports = {port["name"]: port["containerPort"] for port in container.get("ports", [])}
    for probe, path in (("startupProbe", "/livez"), ("livenessProbe", "/livez"), ("readinessProbe", "/readyz")):
        get = container[probe]["httpGet"]
        assert (ports.get(get["port"], get["port"]), get["scheme"], get["path"]) == (
            options.serving.port,
            "HTTPS",
            path,
        )


def test_the_second_schedulers_parts_name_each_other() -> None:
    """Account, bindings, roles, ConfigMap, lease and selectors."""
    rbac = documents("second-scheduler/rbac.yaml")
    account = only("ServiceAccount", "second-scheduler/rbac.yaml")["metadata"]
    subject = {"kind": "ServiceAccount", "name": account["name"], "namespace": account["namespace"]}
    bindings = [document for document in rbac if document["kind"].endswith("Binding")]
    assert all(binding["subjects"] == [subject] for binding in bindings)
    assert {binding["roleRef"]["name"] for binding in bindings} == {
        "system:kube-scheduler",
        "system:volume-scheduler",
        "extension-apiserver-authentication-reader",
        only("Role", "second-scheduler/rbac.yaml")["metadata"]["name"],
    }

    config_map = only("ConfigMap", "second-scheduler/config.yaml")
    config = load_config(config_map["data"]["config.yaml"])
    lease = config.leader_election
    rule = only("Role", "second-scheduler/rbac.yaml")["rules"][0]
    assert (rule["resourceNames"], lease.resource_namespace) == ([lease.resource_name], account["namespace"])
    assert [profile.scheduler_name for profile in config.profiles] == ["kubesched"]

    deployment = only("Deployment", "second-scheduler/deployment.yaml")["spec"]
    pod = deployment["template"]
    assert pod["spec"]["serviceAccountName"] == account["name"]
    assert pod["spec"]["volumes"][0]["configMap"]["name"] == config_map["metadata"]["name"]
    mount = pod["spec"]["containers"][0]["volumeMounts"][0]["mountPath"]
    assert f"--config={mount}/config.yaml" in pod["spec"]["containers"][0]["args"]
    labels = pod["metadata"]["labels"]
    assert deployment["selector"]["matchLabels"] == labels
    assert only("Service", "second-scheduler/deployment.yaml")["spec"]["selector"] == labels
    assert only("PodDisruptionBudget", "second-scheduler/deployment.yaml")["spec"]["selector"]["matchLabels"] == labels


def test_in_place_uses_kube_schedulers_lease() -> None:
    """Two schedulers in turn, never at once."""
    (container,) = only("Pod", "in-place/kube-scheduler.yaml")["spec"]["containers"]
    options = read_run_flags(container["args"][1:])
    assert isinstance(options, RunOptions)
    assert options.apply_to(default_config()).leader_election.resource_name == "kube-scheduler"


@pytest.mark.parametrize(
    "path", ["deploy/monitoring/alerts.yaml", "deploy/monitoring/dashboard.json", "docs/operate.md"]
)
def test_alerts_and_documentation_name_metrics_that_exist(path: str) -> None:
    """A misspelt metric never alerts."""
    metrics = SchedulerMetrics(CollectorRegistry())
    parts = [metrics, metrics.rest_client, metrics.workqueue, metrics.leader_election]
    known = {part.name for each in parts for part in vars(each).values() if hasattr(part, "name")}
    used = {re.sub("_(bucket|sum|count)$", "", name) for name in METRIC.findall((ROOT / path).read_text())}
    assert used
    assert used <= known


def test_every_alert_is_documented() -> None:
    """With what to do about it."""
    (rules,) = documents("monitoring/alerts.yaml")
    alerts = {rule["alert"] for group in rules["spec"]["groups"] for rule in group["rules"]}
    documented = set(re.findall(r"^\| (Kubesched\w+) \|", (ROOT / "docs/operate.md").read_text(), re.MULTILINE))
    assert documented == alerts
