"""Whatever the network does, the last that the API server has about a pod is the last that the scheduler meant.

The server of this test delays requests and answers, lets them overtake each other, loses answers, and carries out
requests that their sender has given up long ago. What the scheduler knows of a pod lags behind at will.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched.client.pod_writer import PodWriter
from kubesched.client.rest import RestClient
from kubesched.client.transport import Response
from kubesched.clock import VirtualClock
from kubesched.errors import ClientError, TransportError
from kubesched.objects import Pod, convert
from kubesched.objects.pod import PodCondition
from kubesched.scheduler.framework import NominatingInfo
from kubesched.testing.fake_api_server import failure

PODS = ("a", "b")
Manifest = dict[str, Any]


@dataclass
class Held:
    """A request on its way."""

    method: str
    pod: str
    subresource: str
    body: Manifest
    answered: asyncio.Future[Response]
    answer: Response | None = None
    """What it will be answered with; None as long as the server has not seen it."""


class HostileServer:
    """A `Transport` that does nothing by itself: the test says which request is carried out, and which is answered."""

    host = "hostile:443"

    def __init__(self) -> None:
        self.held: list[Held] = []
        self.given_up: list[Held] = []
        self.version = 1
        self.pods: dict[str, Manifest] = {
            name: {"metadata": {"name": name, "namespace": "d", "uid": f"uid-{name}", "resourceVersion": "1"}}
            for name in PODS
        }

    async def request(self, method: str, path: str, *, body: bytes | None = None, **_options: Any) -> Response:
        _, _, _, _, _, _, name, *rest = path.split("/")
        content = msgspec.json.decode(body) if body else {}
        request = Held(method, name, rest[0] if rest else "", content, asyncio.get_running_loop().create_future())
        in_flight = [held for held in self.held if held.pod == name]
        assert not in_flight, "two requests about one pod are under way"
        self.held.append(request)
        return await request.answered

    def carry_out(self, request: Held) -> None:
        request.answer = self._outcome(request)

    def reply(self, request: Held) -> None:
        assert request.answer is not None
        self.held.remove(request)
        request.answered.set_result(request.answer)

    def lose(self, request: Held) -> None:
        """The sender waits no longer. What was on its way may still arrive."""
        self.held.remove(request)
        request.answered.set_exception(TransportError("timed out", timed_out=True))
        if request.answer is None:
            self.given_up.append(request)

    def stream(self, *_args: object, **_options: object) -> Any:
        raise NotImplementedError

    async def close(self) -> None: ...

    def _outcome(self, request: Held) -> Response:
        pod = self.pods[request.pod]
        guard = request.body.get("metadata", {}).get("resourceVersion")
        if request.method == "GET":
            return Response(200, msgspec.json.encode(pod))
        if guard is not None and guard != pod["metadata"]["resourceVersion"]:
            return failure(409, "Conflict")
        status: Manifest = pod.setdefault("status", {})
        conditions = {condition["type"]: condition for condition in status.get("conditions", ())}
        if request.subresource == "binding":
            if pod.get("spec", {}).get("nodeName"):
                return failure(409, "Conflict")
            pod["spec"] = {"nodeName": request.body["target"]["name"]}
            conditions["PodScheduled"] = {"type": "PodScheduled", "status": "True"}
            status.pop("nominatedNodeName", None)
        else:
            change = request.body["status"]
            for condition in change.get("conditions", ()):
                merged = conditions.get(condition["type"], {}) | condition
                conditions[condition["type"]] = {name: value for name, value in merged.items() if value is not None}
            if "nominatedNodeName" in change:
                status["nominatedNodeName"] = change["nominatedNodeName"] or ""
        status["conditions"] = list(conditions.values())
        self.version += 1
        pod["metadata"] = {**pod["metadata"], "resourceVersion": str(self.version)}
        return Response(200, msgspec.json.encode(pod))


@dataclass
class Meant:
    """What the scheduler asked for last, and whether it heard of a failure."""

    message: tuple[str, asyncio.Task[None]] | None = None
    nomination: tuple[str, asyncio.Task[None]] | None = None
    binding: asyncio.Task[None] | None = None


@dataclass
class World:
    """A scheduler that writes, and a server that does as it likes."""

    server: HostileServer = field(default_factory=HostileServer)
    clock: VirtualClock = field(default_factory=VirtualClock)
    meant: dict[str, Meant] = field(default_factory=lambda: {name: Meant() for name in PODS})
    messages: int = 0

    def __post_init__(self) -> None:
        rng = random.Random(1)
        self.writer = PodWriter(RestClient(self.server, self.clock, rng), self.clock, rng)
        self.seen = {name: convert(pod, Pod) for name, pod in self.server.pods.items()}

    async def step(self, action: str, name: str, number: int) -> None:
        held = self.server.held
        if action in ("carry out", "reply", "lose") and held:
            request = held[number % len(held)]
            if action == "carry out" and request.answer is None:
                self.server.carry_out(request)
            elif action == "reply" and request.answer is not None:
                self.server.reply(request)
            elif action == "lose":
                self.server.lose(request)
        elif action == "arrive late" and self.server.given_up:
            self.server.carry_out(self.server.given_up.pop(number % len(self.server.given_up)))
        elif action == "see":
            self.seen[name] = convert(self.server.pods[name], Pod)
        elif action == "wait":
            await self.clock.advance(0.02)
        elif not self.seen[name].spec.node_name:
            self.schedule(action, name, number)
        await self.clock.advance(0)

    def schedule(self, action: str, name: str, number: int) -> None:
        """As the scheduler does: while a pod is being bound, nothing else is found out about it but its nomination."""
        meant, pod = self.meant[name], self.seen[name]
        if action == "nominate":
            node = ("", "n1")[number % 2]
            meant.nomination = node, self.start(self.writer.patch_pod_status(pod, None, NominatingInfo(node)))
        elif meant.binding is not None and not meant.binding.done():
            return
        elif action == "reject":
            self.reject(name, f"message {number % 2}")
        elif action == "bind":
            meant.binding = self.start(self.writer.bind(pod, "n1"))
            meant.binding.add_done_callback(lambda task: self.bound(name, task))

    def reject(self, name: str, message: str) -> None:
        condition = PodCondition(type="PodScheduled", status="False", reason="Unschedulable", message=message)
        task = self.start(self.writer.patch_pod_status(self.seen[name], condition, None))
        self.meant[name].message = message, task

    def bound(self, name: str, task: asyncio.Task[None]) -> None:
        """A failed binding is a rejection."""
        if task.exception() is not None and not self.seen[name].spec.node_name:
            self.reject(name, "binding failed")

    @staticmethod
    def start(work: Any) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(work)

    async def end(self) -> None:
        """All that is under way arrives, and all is seen."""
        for _ in range(200):
            for request in list(self.server.held):
                self.server.carry_out(request) if request.answer is None else self.server.reply(request)
            for name in PODS:
                await self.step("see", name, 0)
            await self.clock.advance(1.0)
            if not self.server.held:
                break
        while self.server.given_up:
            self.server.carry_out(self.server.given_up.pop())

    def check(self) -> None:
        for name, meant in self.meant.items():
            pod = convert(self.server.pods[name], Pod)
            conditions = {condition.type: condition for condition in pod.status.conditions}
            if pod.spec.node_name:
                assert conditions["PodScheduled"].status == "True"
                assert pod.status.nominated_node_name == ""
                continue
            if meant.message is not None and went_well(meant.message[1]):
                assert conditions["PodScheduled"].message == meant.message[0]
            if meant.nomination is not None and went_well(meant.nomination[1]) and meant.binding is None:
                assert pod.status.nominated_node_name == meant.nomination[0]


def went_well(task: asyncio.Task[None]) -> bool:
    assert task.done(), "a write was forgotten"
    error = task.exception()
    assert error is None or isinstance(error, ClientError)
    return error is None


ACTIONS = ("reject", "reject", "nominate", "bind", "carry out", "carry out", "reply", "reply", "lose", "arrive late")
STEPS = st.lists(
    st.tuples(st.sampled_from((*ACTIONS, "see", "wait")), st.sampled_from(PODS), st.integers(0, 7)), max_size=60
)


@given(STEPS)
@settings(max_examples=300)
def test_the_last_write_is_the_last_that_was_meant(steps: list[tuple[str, str, int]]) -> None:
    """For bound pods: that they are. For others: the last reason and the last nomination that were written."""

    async def run() -> None:
        world = World()
        for action, name, number in steps:
            await world.step(action, name, number)
        await world.end()
        world.check()

    asyncio.run(run())
