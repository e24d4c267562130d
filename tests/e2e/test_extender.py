"""An HTTP extender beside the plugins."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from tests.e2e.conftest import StartScheduler
from tests.e2e.control_plane import ControlPlane
from tests.e2e.manifests import condition, node, pod
from tests.e2e.processes import eventually

from kubesched.objects.base import Json


class PickyExtender:
    """Takes only the nodes in `accepted`, and likes `favourite` best."""

    def __init__(self) -> None:
        self.accepted: set[str] = set()
        self.favourite = ""
        answer = self._answer

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                text = json.dumps(answer(self.path, body)).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/picky"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def _answer(self, path: str, body: Json) -> Any:
        names = body["NodeNames"]
        if path.endswith("/filter"):
            refused = {name: "too plain for us" for name in names if name not in self.accepted}
            return {"NodeNames": [name for name in names if name in self.accepted], "FailedNodes": refused}
        return [{"Host": name, "Score": 10 if name == self.favourite else 0} for name in names]

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def extender() -> Iterator[PickyExtender]:
    extender = PickyExtender()
    yield extender
    extender.stop()


def test_an_extender_filters_and_scores(
    cluster: ControlPlane, start_scheduler: StartScheduler, extender: PickyExtender
) -> None:
    """Its favourite wins among those it takes; what it refuses is told, and any event brings another try."""
    admin = cluster.admin
    admin.create_all(node(name) for name in ("n1", "n2", "n3"))
    settings = {
        "urlPrefix": extender.url,
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "weight": 100,
        "nodeCacheCapable": True,
    }
    start_scheduler(config={"extenders": [settings]})
    extender.accepted, extender.favourite = {"n1", "n3"}, "n3"
    admin.create(pod("liked", cpu="1"))
    eventually(lambda: admin.node_of("liked") == "n3", "the pod is on the favourite")

    extender.accepted = set()
    admin.create(pod("refused", cpu="1"))
    reason = eventually(lambda: condition(admin.get("Pod", "refused")), "the pod says why it waits")
    assert reason["message"].startswith("0/3 nodes are available: 3 too plain for us.")
    extender.accepted = {"n2"}
    admin.patch("Node", "n1", {"metadata": {"annotations": {"anything": "happens"}}})
    eventually(lambda: admin.node_of("refused") == "n2", "the pod is placed")
