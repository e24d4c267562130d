"""`kill -9` under writes: nothing that was acknowledged is lost, and versions never go back."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.contract.harness import Client

from kubesched.testing.api_server_process import ApiServerProcess

ROUNDS = int(os.environ.get("KUBESCHED_CRASH_ROUNDS", "10"))
WRITERS = 6
WRITES = 20  # in every round at least, however slow the machine is
MAPS = "/api/v1/namespaces/default/configmaps"


class Writer:
    """Owns one object. Knows what was acknowledged last, and what may have happened since."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.acknowledged: str | None = None  # the value, or None when the object must not exist
        self.attempted: str | None = None
        self.version = 0
        self.count = 0

    async def run(self, port: int, rng: random.Random) -> None:
        """Write until the server is gone."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            while True:
                remove = self.acknowledged is not None and rng.random() < 0.2
                self.attempted = None if remove else f"v{self.count}"
                await self._request(reader, writer, remove=remove)
                self.acknowledged = self.attempted
                self.count += 1
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, remove: bool) -> None:
        value = {"metadata": {"name": self.name}, "data": {"value": self.attempted}}
        body = b"" if remove else json.dumps(value).encode()
        method, path = "POST", MAPS
        if self.acknowledged is not None:
            method, path = ("DELETE" if remove else "PUT"), f"{MAPS}/{self.name}"
        headers = ["Host: 127.0.0.1", "Content-Type: application/json", f"Content-Length: {len(body)}"]
        head = "\r\n".join([f"{method} {path} HTTP/1.1", *headers, "", ""])
        writer.write(head.encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        size = int(answer.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        content: dict[str, Any] = json.loads(await reader.readexactly(size))
        assert answer.split()[1] in (b"200", b"201"), content
        self.version = max(self.version, int(content["metadata"].get("resourceVersion", 0)))


@pytest.mark.slow
async def test_acknowledged_writes_survive(tmp_path: Path) -> None:
    """At random moments, again and again, over one data directory."""
    rng = random.Random(20)
    writers = [Writer(f"w{index}") for index in range(WRITERS)]
    highest = 0
    for attempt in range(ROUNDS):
        server = await ApiServerProcess.start(tmp_path / "config", data_dir=tmp_path / "data", insecure_http=True)
        port = int(server.address.rpartition(":")[2])
        await asyncio.to_thread(check, server.address, writers, highest, attempt)
        tasks = [asyncio.create_task(writer.run(port, rng)) for writer in writers]
        enough = sum(writer.count for writer in writers) + WRITES
        while sum(writer.count for writer in writers) < enough and not any(task.done() for task in tasks):  # noqa: ASYNC110 - killed at any moment, not right after a write
            await asyncio.sleep(0.005)
        await asyncio.sleep(rng.uniform(0, 0.3))
        os.kill(server.pid, signal.SIGKILL)
        await asyncio.gather(*tasks)
        await server.stop()
        highest = max(highest, *(writer.version for writer in writers))
    assert highest > ROUNDS * WRITES


def check(address: str, writers: list[Writer], highest: int, attempt: int) -> None:
    """What is there is what was acknowledged, or the one write that was under way."""
    client = Client(address)
    _, listed = client.send("GET", MAPS)
    found = {item["metadata"]["name"]: item["data"]["value"] for item in listed["items"] if "data" in item}
    probes = {item["metadata"]["name"] for item in listed["items"] if "data" not in item}
    assert probes >= {f"probe-{number}" for number in range(attempt)}
    for writer in writers:
        state = found.get(writer.name)
        assert state in (writer.acknowledged, writer.attempted), (attempt, writer.name)
        writer.acknowledged = state
    assert int(listed["metadata"]["resourceVersion"]) >= highest
    code, _ = client.send("POST", MAPS, {"metadata": {"name": f"probe-{attempt}"}})
    assert code == 201
    code, events = client.send(
        "GET", f"{MAPS}?watch=1&resourceVersion={listed['metadata']['resourceVersion']}", events=1
    )
    assert (code, events[0]["object"]["metadata"]["name"]) == (200, f"probe-{attempt}"), "a watch resumes from a list"
    if attempt:
        code, refused = client.send("GET", f"{MAPS}?watch=1&resourceVersion=1")
        assert (code, refused["reason"]) == (410, "Expired")
    client.close()
