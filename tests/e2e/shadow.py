"""The real kube-scheduler, deciding without consequences: what it would do is compared with what ours does.

A twin of a pod, alike in everything but its name and scheduler, is given to kube-scheduler. An extender that refuses to
bind keeps the decision from taking effect, and tells it to us; the scores are in the log (-v=10).
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from tests.e2e.control_plane import ControlPlane, clean_environment
from tests.e2e.manifests import condition
from tests.e2e.processes import Process, eventually
from tests.e2e.scheduler import configuration, profile

from kubesched.objects.base import Json

SHADOW = "shadow"
# Logged when the refused pod no longer counts in kube-scheduler's cache.
FORGOTTEN = '"Error scheduling pod; retrying"'
SCORE = re.compile(
    r'"Calculated node\'s final score for pod" pod="default/(?P<pod>\S+)" node="(?P<node>\S+)" score=(?P<score>\d+)'
)


class Decision(NamedTuple):
    """The nodes that are equally good (kube-scheduler takes one by chance), or why there is none."""

    best: frozenset[str]
    message: str


class ShadowScheduler:
    """kube-scheduler, asked about one pod at a time."""

    def __init__(self, program: Path, control_plane: ControlPlane) -> None:
        self._admin = control_plane.admin
        self._refused: dict[str, str] = {}  # pod → node
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        kubeconfig = control_plane.kubeconfig("system:kube-scheduler")
        extender = {"urlPrefix": f"http://127.0.0.1:{self._server.server_port}", "bindVerb": "bind"}
        config = configuration(
            kubeconfig,
            profiles=[profile(SHADOW)],
            percentageOfNodesToScore=100,
            extenders=[extender],
        )
        file = control_plane.folder / "shadow.yaml"
        file.write_text(yaml.safe_dump(config))
        log = control_plane.folder / "shadow.log"
        log.unlink(missing_ok=True)
        command = [str(program), f"--config={file}", "--secure-port=0", "--v=10"]
        self._process = Process(command, log, clean_environment())
        eventually(lambda: "Caches populated" in self._process.log, "kube-scheduler is ready")

    def decide(self, pod: Json) -> Decision:
        """What kube-scheduler does with this pod, as things are now."""
        name = f"{pod['metadata']['name']}-twin"
        twin = {**pod, "metadata": {**pod["metadata"], "name": name}, "spec": {**pod["spec"], "schedulerName": SHADOW}}
        logged = self._process.log_file.stat().st_size
        self._admin.create(twin)
        decision = eventually(lambda: self._decision(name, logged), f"a decision about {name}", every=0.002)
        self._admin.delete("Pod", name)
        return decision

    def _decision(self, name: str, logged: int) -> Decision | None:
        if name not in self._refused:
            found = condition(self._admin.get("Pod", name))
            return Decision(frozenset(), found["message"]) if found.get("reason") == "Unschedulable" else None
        with self._process.log_file.open() as file:
            file.seek(logged)
            log = file.read()
        if not any(FORGOTTEN in line and f'pod="default/{name}"' in line for line in log.splitlines()):
            return None
        scores = {found["node"]: int(found["score"]) for found in SCORE.finditer(log) if found["pod"] == name}
        best = [node for node, score in scores.items() if score == max(scores.values())]
        return Decision(frozenset(best or [self._refused[name]]), "")

    def stop(self) -> None:
        self._process.kill()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        refused = self._refused

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                binding = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                refused[binding["PodName"]] = binding["Node"]
                text = json.dumps({"Error": "only asking"}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


@contextmanager
def shadow_scheduler(program: Path, control_plane: ControlPlane) -> Iterator[ShadowScheduler]:
    shadow = ShadowScheduler(program, control_plane)
    try:
        yield shadow
    finally:
        shadow.stop()
