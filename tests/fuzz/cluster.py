"""An embedded cluster in this process, on a virtual clock: it is sent requests, and asked whether it is still well."""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from dataclasses import dataclass
from typing import Any, Final

from kubesched.clock import VirtualClock
from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.apiserver.bootstrap import bootstrap
from kubesched.cluster.apiserver.http.app import ApiServerApp
from kubesched.cluster.apiserver.storage import Store
from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.controllers.manager import ControllerManager
from kubesched.cluster.controllers.table import make_controllers
from kubesched.cluster.informer import Informer
from kubesched.cluster.kubelet.kubelets import SimulatedKubelets
from kubesched.cluster.kubelet.node_shapes import make_nodes
from kubesched.cluster.kubelet.timings import Timings
from kubesched.cluster.manifests import create_all
from kubesched.cluster.records import NodeRecord, PodRecord

CRASHED: Final = b"the request failed; the server's log says why"
LONGEST: Final = 1.0  # seconds of CPU time
KNOWN_500S: Final = re.compile(
    r"resourceVersion should not be set on objects to be created|(\[)?target\.|duplicate nodePort: "
    r"|Internal error occurred: failed to allocate |invalid resource version "
)
"""kube-apiserver answers these with 500, too: its strategies return plain errors there."""


@dataclass(frozen=True)
class Request:
    method: str
    target: str
    body: bytes = b""
    content_type: str = "application/json"

    def __str__(self) -> str:
        shown = self.body if len(self.body) < 4000 else self.body[:4000] + b"..."
        return f"{self.method} {self.target} ({self.content_type})\n{shown.decode(errors='replace')}"


@dataclass(frozen=True)
class Answer:
    code: int
    body: bytes
    seconds: float


class FuzzedCluster:
    """API server, controllers and kubelets; `send` a request, and let time `pass_`."""

    def __init__(self, seed: int, errors: list[str]) -> None:
        self.clock = VirtualClock()
        self.api = Api(store=Store(), clock=self.clock, rng=random.Random(seed))
        bootstrap(self.api)
        create_all(self.api, (("nodes", node) for node in make_nodes(3)))
        self.app = ApiServerApp(self.api, token="secret", address="127.0.0.1:1", rng=random.Random(seed))
        pods, nodes = Informer(self.api, "pods", PodRecord), Informer(self.api, "nodes", NodeRecord)
        kubelets = SimulatedKubelets(self.api, pods, nodes, random.Random(seed), Timings())
        context = ControllerContext(self.api, pods, nodes)
        manager = ControllerManager(context, make_controllers(context))
        self.tasks = [asyncio.create_task(kubelets.run()), asyncio.create_task(manager.run())]
        self._errors = errors

    async def send(self, request: Request) -> Answer:
        path, _, query = request.target.partition("?")
        headers = [(b"authorization", b"Bearer secret"), (b"content-type", request.content_type.encode())]
        scope = {"type": "http", "method": request.method, "path": path, "query_string": query.encode()}
        received = iter([{"type": "http.request", "body": request.body, "more_body": False}])
        sent: list[Any] = []

        async def receive() -> Any:
            return next(received, {"type": "http.disconnect"})

        async def send(message: Any) -> None:
            sent.append(message)

        started = time.process_time()
        await self.app(scope | {"headers": headers}, receive, send)
        seconds = time.process_time() - started
        body = b"".join(message["body"] for message in sent[1:])
        return Answer(int(sent[0]["status"]), body, seconds)

    async def pass_(self, seconds: float) -> None:
        for _ in range(round(seconds / 0.1)):
            await self.clock.advance(0.1)

    def objection(self, answer: Answer) -> str:
        """What must not be: a crash, a slow answer, an answer that is none, a task that died, an error in the log."""
        if CRASHED in answer.body:
            return "the server crashed: " + " ".join(self._errors[-1:])
        if answer.code == 500 and not KNOWN_500S.match(json.loads(answer.body)["message"]):
            return f"kube-apiserver does not answer with 500: {answer.body.decode(errors='replace')[:500]}"
        if answer.seconds > LONGEST:
            return f"it took {answer.seconds:.1f} s of CPU time"
        if answer.body[:1] == b"{":
            json.loads(answer.body)
        return self.broken()

    def broken(self) -> str:
        for task in self.tasks:
            if task.done():
                return f"a task died: {task.exception()!r}"
        return f"an error was logged: {self._errors[0]}" if self._errors else ""

    async def stop(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
