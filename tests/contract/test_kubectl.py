"""kubectl, as its users type it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.contract.real_server import find_assets

from kubesched.testing.api_server_process import ApiServerProcess


def find_programs() -> list[str]:
    """The user's own kubectl, and the one beside the real control plane, as far as they are here."""
    assets = find_assets()
    return [found for found in (shutil.which("kubectl"), assets and shutil.which(assets / "kubectl")) if found]


pytestmark = [pytest.mark.slow, pytest.mark.skipif(not find_programs(), reason="no kubectl on this machine")]

MANIFESTS = """
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {topology.kubernetes.io/zone: z1}}
status:
  capacity: {cpu: "4", memory: 8Gi, pods: "110"}
  conditions: [{type: Ready, status: "True"}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "nginx:1"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {app: p}}
spec: {nodeName: n1, containers: [{name: c, image: "nginx:1"}]}
"""


class Kubectl:
    def __init__(self, program: str, home: Path, kubeconfig: Path) -> None:
        self._program = program
        self._environment = os.environ | {"HOME": str(home), "KUBECONFIG": str(kubeconfig)}

    def __call__(self, *arguments: str, text: str = "", fails: bool = False, **environment: str) -> str:
        """What kubectl printed. It must succeed, or fail, as the caller expects."""
        done = subprocess.run(
            [self._program, *arguments],
            input=text,
            capture_output=True,
            text=True,
            timeout=120,
            env=self._environment | environment,
            check=False,
        )
        output = done.stdout + done.stderr
        assert (done.returncode != 0) is fails, output
        return output


@pytest.fixture(params=find_programs(), ids=lambda program: Path(program).parent.name)
async def kubectl(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Kubectl]:
    """kubectl with a server over TLS that has a node, a deployment and a pod."""
    server = await ApiServerProcess.start(tmp_path / "config")
    command = Kubectl(request.param, tmp_path, server.kubeconfig)
    try:
        command("apply", "-f", "-", text=MANIFESTS)
        yield command
    finally:
        await server.stop()


def test_get(kubectl: Kubectl) -> None:
    """Tables, wide tables, labels, selectors, other formats."""
    assert "web    0/2     0            0" in kubectl("get", "deployments")
    assert "nginx:1   app=web" in kubectl("get", "deploy", "web", "-o", "wide")
    assert "z1" in kubectl("get", "nodes", "-L", "topology.kubernetes.io/zone")
    assert kubectl("get", "pods", "-l", "app=p", "-o", "name") == "pod/p\n"
    assert (
        kubectl("get", "pods", "--field-selector", "spec.nodeName=n1", "-o", "jsonpath={.items[*].metadata.name}")
        == "p"
    )
    assert "deployment.apps/web" in kubectl("get", "all")
    assert "No resources found" in kubectl("get", "jobs")
    assert "doesn't have a resource type" in kubectl("get", "widgets", fails=True)
    assert "NotFound" in kubectl("get", "pod", "none", fails=True)


def test_apply_edit_patch_replace_and_diff(kubectl: Kubectl, tmp_path: Path) -> None:
    """All ways to change an object."""
    assert "unchanged" in kubectl("apply", "-f", "-", text=MANIFESTS)
    changed = MANIFESTS.replace("nginx:1", "nginx:2")
    assert "nginx:2" in kubectl("diff", "-f", "-", text=changed, fails=True)
    assert "deployment.apps/web configured" in kubectl("apply", "-f", "-", text=changed)
    assert "edited" in kubectl("edit", "deploy", "web", EDITOR="sed -i s/nginx:2/nginx:3/")
    kubectl("patch", "deploy", "web", "--type=json", "-p", '[{"op":"replace","path":"/spec/replicas","value":3}]')
    kubectl("patch", "deploy", "web", "-p", '{"spec":{"template":{"spec":{"containers":[{"name":"d","image":"d"}]}}}}')
    live = kubectl("get", "deploy", "web", "-o", "yaml")
    assert ("nginx:3" in live, "replicas: 3" in live, "image: d" in live) == (True, True, True)
    assert "replaced" in kubectl("replace", "-f", "-", text=live.replace("nginx:3", "nginx:4"))
    stale = kubectl("replace", "-f", "-", text=live.replace("nginx:3", "nginx:5"), fails=True)
    assert "the object has been modified" in stale


def test_from_client_side_to_server_side_apply(kubectl: Kubectl) -> None:
    """kubectl takes over what it applied on its side; a second apply is no write; what others changed is a conflict."""
    server_side = ("apply", "--server-side", "-f", "-")
    version = ("get", "deploy", "web", "-o", "jsonpath={.metadata.resourceVersion}")
    kubectl(*server_side, text=MANIFESTS)
    before = kubectl(*version)
    kubectl(*server_side, text=MANIFESTS)
    assert kubectl(*version) == before
    more = MANIFESTS.replace("replicas: 2", "replicas: 3")
    kubectl(*server_side, text=more)
    managers = kubectl("get", "deploy", "web", "-o", "jsonpath={.metadata.managedFields[*].manager}")
    assert "kubectl-client-side-apply" not in managers
    kubectl("scale", "deploy", "web", "--replicas=4")
    refused = kubectl(*server_side, text=more.replace("replicas: 3", "replicas: 5"), fails=True)
    assert 'conflict with "kubectl" using apps/v1: .spec.replicas' in refused


def test_apply_what_get_printed(kubectl: Kubectl) -> None:
    """Many objects come as a List, which is no kind that a server describes."""
    assert "deployment.apps/web configured" in kubectl("apply", "-f", "-", text=kubectl("get", "deploy", "-o", "yaml"))


def test_metadata_and_nodes(kubectl: Kubectl) -> None:
    """label, annotate, taint, cordon, drain, uncordon."""
    assert "labeled" in kubectl("label", "node", "n1", "disk=ssd")
    assert "annotated" in kubectl("annotate", "pod", "p", "note=x")
    assert "tainted" in kubectl("taint", "node", "n1", "a=b:NoSchedule")
    assert "untainted" in kubectl("taint", "node", "n1", "a-")
    assert "cordoned" in kubectl("cordon", "n1")
    assert "SchedulingDisabled" in kubectl("get", "nodes")
    assert "node/n1 drained" in kubectl("drain", "n1", "--force", "--grace-period=0", "--timeout=60s")
    assert "NotFound" in kubectl("get", "pod", "p", fails=True)
    assert "uncordoned" in kubectl("uncordon", "n1")


def test_workloads(kubectl: Kubectl) -> None:
    """scale, set image, rollout, expose, create, run, wait, delete."""
    assert "scaled" in kubectl("scale", "deploy", "web", "--replicas=4")
    assert "image updated" in kubectl("set", "image", "deploy/web", "c=nginx:9")
    assert "timed out" in kubectl("rollout", "status", "deploy/web", "--timeout=3s", fails=True)
    assert "exposed" in kubectl("expose", "deploy", "web", "--port=80")
    assert "job.batch/j created" in kubectl("create", "job", "j", "--image=busybox", "--", "true")
    assert "pod/x created" in kubectl("run", "x", "--image=nginx")
    assert "condition met" in kubectl("wait", "pod/x", "--for=jsonpath={.status.phase}=Pending", "--timeout=60s")
    assert "deleted" in kubectl("delete", "pod", "x")
    assert "deleted" in kubectl("delete", "deploy,svc,job", "--all")


def test_whole_applications(kubectl: Kubectl) -> None:
    """What nothing acts on is kept; pruning asks for all kinds that kubectl knows of; some namespaces stay."""
    assert "role.rbac.authorization.k8s.io/r created" in kubectl("create", "role", "r", "--verb=get", "--resource=pods")
    assert "ingress.networking.k8s.io/i created" in kubectl("create", "ingress", "i", "--rule=a.com/b=c:80")
    assert "c:80" in kubectl("describe", "ingress", "i")
    autoscaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "labels": {"part": "x"}},
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
    }
    kubectl("apply", "-f", "-", text=json.dumps(autoscaler))
    assert "Deployment/web   cpu: <unknown>/80%" in kubectl("get", "hpa")
    assert "unchanged" in kubectl("apply", "-f", "-", "--prune", "-l", "part=x", text=json.dumps(autoscaler))
    assert "this namespace may not be deleted" in kubectl("delete", "ns", "default", fails=True)


def test_describe_explain_and_discovery(kubectl: Kubectl) -> None:
    """What a newcomer looks at."""
    assert "QoS Class:" in kubectl("describe", "pod", "p")
    assert "Allocated resources:" in kubectl("describe", "node", "n1")
    assert "FIELD: nodeName <string>" in kubectl("explain", "pod.spec.nodeName")
    assert "FIELD: spec <PodSpec>" in kubectl("explain", "pod.spec")
    assert "How many pods are wanted; 1 by default." in kubectl("explain", "deploy.spec")
    assert "deployments                 deploy" in kubectl("api-resources")
    assert "scheduling.k8s.io/v1beta1" in kubectl("api-versions")
    assert "Server Version: v1.37.1" in kubectl("version")
    assert kubectl("auth", "can-i", "create", "pods") == "yes\n"
    assert "No events found" in kubectl("events")


def test_what_simulated_nodes_cannot_do(kubectl: Kubectl) -> None:
    """One clear sentence each, also for who follows a log: kubectl repeats an error there for 20 seconds."""
    kubectl("patch", "pod", "p", "--subresource=status", "-p", '{"status":{"phase":"Running"}}')
    reason = "the nodes of this cluster are simulated"
    for arguments in (
        ("logs", "p"),
        ("exec", "p", "--", "ls"),
        ("attach", "p"),
        ("port-forward", "p", "8080:80"),
        ("debug", "p", "--image=busybox"),
        ("get", "--raw", "/api/v1/namespaces/default/pods/p/proxy"),
    ):
        assert kubectl(*arguments, fails=True).count(reason) == 1
    assert kubectl("logs", "--follow", "p").count(reason) == 1
    kubectl("create", "serviceaccount", "a")
    assert "issues no tokens" in kubectl("create", "token", "a", fails=True)


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        pytest.param({"spec": {"containres": []}}, 'unknown field "spec.containres"', id="a misspelt field"),
        pytest.param({"spec": {"containers": []}}, "spec.containers: Required value", id="no containers"),
        pytest.param({"apiVersion": "x.io/v1", "kind": "X"}, 'no matches for kind "X"', id="a kind that is not served"),
        pytest.param({"metadata": {"name": "A_B"}}, "a lowercase RFC 1123 subdomain", id="a bad name"),
    ],
)
def test_mistakes(kubectl: Kubectl, manifest: dict[str, Any], message: str) -> None:
    """The error says which field is wrong."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "bad"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    assert message in kubectl("create", "-f", "-", text=json.dumps(pod | manifest), fails=True)
