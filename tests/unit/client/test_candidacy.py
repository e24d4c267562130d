"""Standing for an election that the API server holds."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from kubesched.client.candidacy import Candidacy
from kubesched.client.rest import RestClient
from kubesched.clock import VirtualClock
from kubesched.testing.fake_api_server import FakeApiServer, failure

CANDIDATES = "/apis/coordination.k8s.io/v1beta1/leasecandidates"
KEY = "kube-system/host-1"


class Scene:
    def __init__(self) -> None:
        self.server = FakeApiServer()
        self.clock = VirtualClock()
        rng = random.Random(1)
        self.candidacy = Candidacy(
            RestClient(self.server, self.clock, rng),
            self.clock,
            rng,
            namespace="kube-system",
            name="host-1",
            lease="kube-scheduler",
            binary_version="1.36.0",
            emulation_version="1.35.0",
        )

    @asynccontextmanager
    async def standing(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.candidacy.run())
        await self.wait()
        yield
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    async def wait(self, seconds: float = 0.0) -> None:
        for part in (0, 0, seconds, 0, 0):
            await self.clock.advance(part)

    @property
    def spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = self.server.objects[CANDIDATES][KEY]["spec"]
        return spec

    def ping(self, at: str) -> None:
        candidate = self.server.objects[CANDIDATES][KEY]
        self.server.put(CANDIDATES, {**candidate, "spec": {**candidate["spec"], "pingTime": at}})


async def test_stands_with_its_versions() -> None:
    """Every field, as client-go writes it."""
    scene = Scene()
    async with scene.standing():
        assert scene.spec == {
            "leaseName": "kube-scheduler",
            "renewTime": "2023-11-14T22:13:20.000000Z",
            "binaryVersion": "1.36.0",
            "emulationVersion": "1.35.0",
            "strategy": "OldestEmulationVersion",
        }


async def test_is_there_still() -> None:
    """The candidate is renewed every five minutes, and at once when the server asks."""
    scene = Scene()
    async with scene.standing():
        await scene.wait(299)
        assert scene.spec["renewTime"] == "2023-11-14T22:13:20.000000Z"
        await scene.wait(1)
        assert scene.spec["renewTime"] == "2023-11-14T22:18:20.000000Z"
        await scene.wait(10)
        scene.ping(at="2023-11-14T22:18:30.000000Z")
        await scene.wait()
        assert scene.spec["renewTime"] == "2023-11-14T22:18:30.000000Z"
        scene.ping(at="2023-11-14T22:18:00.000000Z")
        await scene.wait(10)
        assert scene.spec["renewTime"] == "2023-11-14T22:18:30.000000Z", "that question was answered"


async def test_a_failure_is_tried_again() -> None:
    """Soon at first."""
    scene = Scene()
    scene.server.streams_lists = False
    async with scene.standing():
        await scene.wait(290)
        scene.server.failures = [failure(403), failure(403)]
        await scene.wait(10)
        await scene.wait(0.02)
        assert scene.spec["renewTime"].startswith("2023-11-14T22:18:20.0")
        assert len(scene.server.calls_of("PATCH")) == 3
