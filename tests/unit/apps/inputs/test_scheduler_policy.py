"""Which configuration the scheduler of a cluster runs with, found out from the cluster's objects."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from kubesched.apps.inputs.live_cluster import connected
from kubesched.apps.inputs.scheduler_policy import NOT_FOUND, FoundPolicy, find_policy, look_up_policy
from kubesched.cluster.apiserver.bootstrap import ensure
from kubesched.cluster.apiserver.server import ApiServer

CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins: {score: {enabled: [{name: NodeResourcesFit, weight: 7}]}}
"""
KUBEADM = {"component": "kube-scheduler", "tier": "control-plane"}


def pod_manifest(
    *words: str,
    name: str = "kube-scheduler-cp",
    labels: dict[str, str] = KUBEADM,
    image: str = "registry.k8s.io/kube-scheduler:v1.37.1",
    volumes: tuple[dict[str, Any], ...] = (),
    mount: str = "/etc/kubernetes",
) -> dict[str, Any]:
    mounts = [{"name": volume["name"], "mountPath": mount} for volume in volumes]
    container = {"name": "c", "image": image, "command": list(words), "volumeMounts": mounts}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"nodeName": "cp", "containers": [container], "volumes": list(volumes)},
    }


def config_map(text: str, name: str = "scheduler-config", key: str = "scheduler.yaml", **more: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": {key: text, **more}}


def from_map(name: str = "scheduler-config", **more: Any) -> tuple[dict[str, Any]]:
    return ({"name": "config", "configMap": {"name": name, **more}},)


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    server = ApiServer()
    await server.start()
    ensure(server.api, "serviceaccounts", {"metadata": {"name": "default"}}, "kube-system")
    yield server
    await server.stop()


async def found(
    server: ApiServer, tmp_path: Path, objects: dict[str, list[dict[str, Any]]], name: str = "default-scheduler"
) -> FoundPolicy | None:
    for plural, manifests in objects.items():
        for manifest in manifests:
            ensure(server.api, plural, manifest, "kube-system")
    server.write_kubeconfig(tmp_path / "kubeconfig")
    async with connected(str(tmp_path / "kubeconfig")) as rest:
        return await find_policy(rest, name)


RUN = ("kube-scheduler", "--leader-elect", "--config=/etc/kubernetes/scheduler.yaml")


@pytest.mark.parametrize(
    ("objects", "source", "config"),
    [
        pytest.param(
            {"pods": [pod_manifest("kube-scheduler", "--leader-elect=true")]},
            "default configuration: pod kube-system/kube-scheduler-cp runs without --config",
            "",
            id="a static pod without --config has the defaults",
        ),
        pytest.param(
            {"pods": [pod_manifest(*RUN, volumes=from_map())], "configmaps": [config_map(CONFIG)]},
            "configuration of the ConfigMap kube-system/scheduler-config (scheduler.yaml), "
            "which pod kube-system/kube-scheduler-cp runs with",
            CONFIG,
            id="a pod that mounts a ConfigMap",
        ),
        pytest.param(
            {
                "pods": [
                    pod_manifest(*RUN, volumes=from_map(items=[{"key": "renamed", "path": "scheduler.yaml"}])),
                ],
                "configmaps": [config_map(CONFIG, key="renamed")],
            },
            "configuration of the ConfigMap kube-system/scheduler-config (renamed), "
            "which pod kube-system/kube-scheduler-cp runs with",
            CONFIG,
            id="under another name",
        ),
        pytest.param(
            {
                "pods": [
                    pod_manifest("sh", "-c", " ".join(RUN).replace("=", " "), image="own:1", volumes=from_map()),
                ],
                "configmaps": [config_map(CONFIG)],
            },
            "configuration of the ConfigMap kube-system/scheduler-config (scheduler.yaml), "
            "which pod kube-system/kube-scheduler-cp runs with",
            CONFIG,
            id="by way of a shell, the flag and its value apart",
        ),
        pytest.param(
            {"configmaps": [config_map(CONFIG, name="kubesched", key="config.yaml")]},
            "configuration of the ConfigMap kube-system/kubesched (config.yaml)",
            CONFIG,
            id="a ConfigMap that nothing mounts, as the last resort",
        ),
        pytest.param(
            {
                "pods": [pod_manifest("kube-scheduler", image="registry.k8s.io/kube-scheduler:v1.35.2")],
            },
            "default configuration: pod kube-system/kube-scheduler-cp runs without --config, and decides as 1.35",
            "",
            id="an older version by the tag of its image",
        ),
        pytest.param(
            {"pods": [pod_manifest("shadow", "--config=/etc/kubernetes/scheduler.yaml", image="kubesched:1")]},
            None,
            "",
            id="a shadow is no scheduler",
        ),
        pytest.param(
            {"pods": [pod_manifest("/coredns", labels={"k8s-app": "kube-dns"}, image="coredns:1")]},
            None,
            "",
            id="no scheduler at all",
        ),
    ],
)
async def test_where_a_configuration_is_found(
    server: ApiServer,
    tmp_path: Path,
    objects: dict[str, list[dict[str, Any]]],
    source: str | None,
    config: str,
) -> None:
    """And what is said about it."""
    policy = await found(server, tmp_path, objects)
    assert (policy.source if policy else None, policy.config if policy else "") == (source, config)
    assert not policy or not policy.notes


async def test_the_scheduler_of_the_pod_in_question(server: ApiServer, tmp_path: Path) -> None:
    """Beside the default one there may be others: a Deployment of ours, for one, with its own profile."""
    container = {
        "name": "kubesched",
        "image": "kubesched:0.1.0",
        "args": ["run", "--config=/etc/kubesched/config.yaml", "--feature-gates=GenericWorkload=true"],
        "volumeMounts": [{"name": "config", "mountPath": "/etc/kubesched"}],
    }
    template = {
        "metadata": {"labels": {"app": "x"}},
        "spec": {"containers": [container], "volumes": list(from_map("kubesched"))},
    }
    spec = {"selector": {"matchLabels": {"app": "x"}}, "template": template}
    objects = {
        "pods": [pod_manifest("kube-scheduler")],
        "configmaps": [config_map(CONFIG.replace("default-scheduler", "mine"), name="kubesched", key="config.yaml")],
        "deployments.apps": [{"metadata": {"name": "kubesched"}, "spec": spec}],
    }
    policy = await found(server, tmp_path, objects, "mine")
    assert policy is not None
    assert policy.source == (
        "configuration of the ConfigMap kube-system/kubesched (config.yaml), "
        "which Deployment kube-system/kubesched runs with"
    )
    assert policy.feature_gates == "GenericWorkload=true"
    waiting = pod_manifest(name="waiting", labels={})
    waiting["spec"]["schedulerName"] = "mine"
    ensure(server.api, "pods", waiting, "kube-system")
    assert await look_up_policy(str(tmp_path / "kubeconfig"), "kube-system/waiting") == policy
    assert (await look_up_policy(str(tmp_path / "kubeconfig"))).config == ""


@pytest.mark.parametrize(
    ("objects", "note"),
    [
        pytest.param(
            {"pods": [pod_manifest(*RUN, volumes=({"name": "k", "hostPath": {"path": "/etc/kubernetes"}},))]},
            "pod kube-system/kube-scheduler-cp runs with --config=/etc/kubernetes/scheduler.yaml, "
            "a file on its node: give a copy of it with --config",
            id="a file on the node cannot be read",
        ),
        pytest.param(
            {"pods": [pod_manifest(*RUN, volumes=from_map("gone"))]},
            "pod kube-system/kube-scheduler-cp runs with --config=/etc/kubernetes/scheduler.yaml, "
            "in the ConfigMap kube-system/gone (scheduler.yaml), which cannot be read: give a copy of it with --config",
            id="a ConfigMap that is gone or forbidden",
        ),
        pytest.param(
            {"configmaps": [config_map("kind: KubeSchedulerConfiguration\napiVersion: other/v1\n")]},
            "the configuration of the ConfigMap kube-system/scheduler-config (scheduler.yaml), is not understood here: "
            'no kind "KubeSchedulerConfiguration" is registered for version "other/v1": '
            "expected KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1, or Policy of v1",
            id="a configuration of another version",
        ),
        pytest.param(
            {"pods": [pod_manifest("kube-scheduler", "--feature-gates=NoSuchGate=true")]},
            "its flags --feature-gates and --emulated-version are not followed: unrecognized feature gate: NoSuchGate",
            id="a gate that nobody knows",
        ),
    ],
)
async def test_what_cannot_be_followed_is_noted(
    server: ApiServer, tmp_path: Path, objects: dict[str, list[dict[str, Any]]], note: str
) -> None:
    """And the defaults decide."""
    policy = await found(server, tmp_path, objects)
    assert policy is not None
    assert (policy.notes, policy.config, policy.feature_gates) == ((note,), "", "")


async def test_plugins_that_a_cluster_names_are_not_loaded(server: ApiServer, tmp_path: Path) -> None:
    """Whoever may write a ConfigMap must not run code on the machine of whoever asks; the rest is kept."""
    text = CONFIG.replace("enabled: [", "enabled: [{name: 'os:system'}, {name: Foreign}, ")
    policy = await found(server, tmp_path, {"configmaps": [config_map(text)]})
    assert policy is not None
    assert "os:system" not in policy.config
    assert "Foreign" not in policy.config
    assert "weight: 7" in policy.config
    assert policy.notes[0].startswith("decided without the plugins Foreign, os:system")


async def test_a_cluster_that_says_nothing_or_forbids(server: ApiServer, tmp_path: Path) -> None:
    """The defaults decide, and that is said; a cluster that does not answer is left to the next question."""
    server.write_kubeconfig(tmp_path / "kubeconfig")
    text = (tmp_path / "kubeconfig").read_text()
    (tmp_path / "forbidden").write_text(text.replace("  user:\n", "  user:\n    as: nobody\n"))
    for file in ("kubeconfig", "forbidden"):
        assert await look_up_policy(str(tmp_path / file)) == FoundPolicy(source=NOT_FOUND)
    (tmp_path / "wrong").write_text(text.replace("token: ", "token: wrong"))
    assert await look_up_policy(str(tmp_path / "wrong")) == FoundPolicy(source="")
