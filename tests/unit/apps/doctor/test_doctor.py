"""`kubesched doctor`: what it finds, and what it advises."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kubesched.apps.doctor import cluster
from kubesched.apps.doctor.finding import Finding, State
from kubesched.apps.doctor.permissions import Permission
from kubesched.cli.main import main
from kubesched.client.rest import RestClient
from kubesched.client.transport import Response
from kubesched.clock import VirtualClock
from kubesched.config import default_config
from kubesched.objects import encode
from kubesched.testing import make_pod
from kubesched.testing.fake_api_server import FakeApiServer


class Server(FakeApiServer):
    """Answers reviews and the question for its version, too; `forbidden` are verbs and resources."""

    def __init__(self, version: str = "v1.37.1", forbidden: set[tuple[str, str]] | None = None) -> None:
        super().__init__()
        self.version = version
        self.forbidden = forbidden or set()
        self.pods = [make_pod("waits"), make_pod("runs", node="n1")]

    async def request(self, method: str, path: str, *, body: bytes | None = None, **options: Any) -> Response:
        match method, path:
            case "GET", "/version":
                major, minor, _ = self.version.removeprefix("v").split(".")
                return _answer({"gitVersion": self.version, "major": major, "minor": minor + "+"})
            case "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews":
                asked = json.loads(body or b"")["spec"]["resourceAttributes"]
                return _answer({"status": {"allowed": (asked["verb"], asked["resource"]) not in self.forbidden}})
            case "GET", "/api/v1/pods":
                return _answer({"items": [json.loads(encode(pod)) for pod in self.pods]})
            case "GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler":
                return _answer({"metadata": {"name": "kube-scheduler"}, "spec": {"holderIdentity": "somebody"}})
        return await super().request(method, path, body=body, **options)


def _answer(data: object) -> Response:
    return Response(200, json.dumps(data).encode())


def findings(server: Server) -> dict[str, Finding]:
    clock = VirtualClock()
    asked = cluster._ask(RestClient(server, clock, Random(0)), default_config(), clock)
    return {finding.about: finding for finding in asyncio.run(asked)}


def test_a_cluster_in_which_all_is_well() -> None:
    """Nothing but reviews is sent besides reading."""
    server = Server()
    found = findings(server)
    assert {finding.state for finding in found.values()} == {State.GOOD}
    assert found["other scheduler"].found == "somebody leads as kube-system/kube-scheduler"
    assert found["pending pods"].found == "of 2 pods these wait for a node: 1 for default-scheduler"
    assert server.calls == []


@pytest.mark.parametrize(
    ("version", "state", "says"),
    [
        pytest.param("v1.37.1", State.GOOD, "1.37, one of 1.34 to 1.37", id="current"),
        pytest.param("v1.35.9", State.GOOD, "--emulated-version=1.35", id="older"),
        pytest.param("v1.33.0", State.WARNING, "1.33 is not one of 1.34 to 1.37", id="too old"),
        pytest.param("v1.38.0", State.WARNING, "1.38 is not one of 1.34 to 1.37", id="newer"),
    ],
)
def test_versions(version: str, state: State, says: str) -> None:
    """A server of another version than ours is said to be one."""
    found = findings(Server(version))["version"]
    assert found.state is state
    assert says in found.found


def test_missing_permissions_are_named() -> None:
    """Who may look but not bind is told so, and what would give the right."""
    found = findings(Server(forbidden={("create", "pods"), ("watch", "nodes")}))
    assert (found["may look"].state, found["may look"].found) == (State.WARNING, "no right to watch nodes")
    assert found["may schedule"].found == "no right to watch nodes, create pods/binding"
    assert "kubesched config rbac" in found["may schedule"].advice


def test_pods_that_wait_for_a_scheduler_that_is_not_ours() -> None:
    """The usual misspelling."""
    server = Server()
    server.pods = [make_pod("waits", scheduler="my-schedular")]
    found = findings(server)["pending pods"]
    assert (found.state, found.found) == (State.WARNING, "of 1 pods these wait for a node: 1 for my-schedular")
    assert "this configuration is for default-scheduler" in found.advice


def test_a_permission_in_words() -> None:
    """As kubectl auth can-i would be asked."""
    assert str(Permission("get", "leases", "coordination.k8s.io", "kube-system", "mine")) == (
        "get leases.coordination.k8s.io mine in kube-system"
    )


def test_the_command_without_a_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A problem, the way out, and exit code 1; also for programs."""
    with pytest.raises(SystemExit) as end:
        main(["doctor", "--kubeconfig", str(tmp_path / "none"), "-o", "json"])
    assert end.value.code == 1
    last = json.loads(capsys.readouterr().out)[-1]
    assert (last["about"], last["state"]) == ("kubeconfig", "problem")
    assert "kubesched up" in last["advice"]
