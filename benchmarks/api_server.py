"""How many bindings per second the embedded API server takes, with how many watchers, and in how much memory.

    python benchmarks/api_server.py [--nodes 5000] [--pods 20000] [--watchers 100]

Pods are created and bound over loopback by this one process, with the scheduler's own client. The API server has a
process of its own, in which the nodes' heartbeats are renewed. Watchers have a third one; every one of them reads
every event. The last line is the whole cluster of `kubesched up`, whose simulated nodes run the pods: it counts from
the first binding until all of them run.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import multiprocessing
import os
import random
import ssl
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from dataclasses import dataclass
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

import msgspec
import uvloop

from kubesched.apps.run.clients import choose_connection
from kubesched.apps.up.cluster import ClusterOptions
from kubesched.apps.up.process import ClusterProcess
from kubesched.client.http_transport import HttpTransport
from kubesched.client.pod_writer import PodWriter
from kubesched.client.rest import RestClient
from kubesched.clock import SystemClock
from kubesched.cluster.apiserver.server import ApiServer
from kubesched.cluster.informer import Informer
from kubesched.cluster.kubelet.leases import NodeLeases
from kubesched.cluster.kubelet.node_shapes import make_nodes
from kubesched.cluster.kubelet.timings import Timings
from kubesched.cluster.records import NodeRecord
from kubesched.objects import Pod, decode

CONCURRENCY = 64
PODS = "/api/v1/namespaces/default/pods"
TICKS = os.sysconf("SC_CLK_TCK")
SPAWN = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Case:
    name: str
    insecure_http: bool = False
    durable: bool = False
    watched: bool = False
    whole: bool = False  # nodes and controllers, too


CASES = (
    Case("HTTP", insecure_http=True),
    Case("HTTPS"),
    Case("HTTPS, --data-dir", durable=True),
    Case("HTTP, watched", insecure_http=True, watched=True),
    Case("HTTPS, watched", watched=True),
    Case("whole cluster", whole=True),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--watchers", type=int, default=100)
    parser.add_argument("--case", default="", help="only the cases whose name contains this")
    arguments = parser.parse_args()
    print(f"{arguments.nodes:,} nodes with heartbeats, {arguments.pods:,} pods, {CONCURRENCY} requests at a time")
    print(f"watched: by {arguments.watchers} watchers of all pods; CPU: of the server's process, for each pod")
    print(f"{'':20}{'created/s':>10}{'CPU µs':>8}{'bound/s':>10}{'CPU µs':>8}{'events/s':>11}{'peak MiB':>10}")
    for case in CASES:
        if arguments.case in case.name:
            uvloop.run(measure(case, arguments.nodes, arguments.pods, arguments.watchers))


async def measure(case: Case, nodes: int, pods: int, watchers: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with running(case, nodes, Path(folder)) as pid, client(Path(folder)) as rest:
            stopwatch = Stopwatch(pid)
            made = await in_parallel(lambda number: create(rest, number), pods)
            created = stopwatch.read(pods)
            writer = PodWriter(rest, SystemClock(), random.Random(1))  # noqa: S311 - jitter, not secrets
            async with watching(rest, Path(folder), watchers if case.watched else 0, pods) as all_received:
                stopwatch = Stopwatch(pid)
                await in_parallel(lambda number: writer.bind(made[number], f"node-{number % nodes + 1}"), pods)
                await all_received
                if case.whole:
                    await until_all_run(rest)
                bound = stopwatch.read(pods)
            events = bound.per_second * watchers if case.watched else 0
            print(
                f"{case.name:20}{created.per_second:10,.0f}{created.cpu:8,.0f}{bound.per_second:10,.0f}{bound.cpu:8,.0f}"
                f"{events:11,.0f}{peak_memory(pid):10,.0f}",
                flush=True,
            )


# ---- the server ---------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def running(case: Case, nodes: int, folder: Path) -> AsyncGenerator[int, None]:
    """The server's process; its kubeconfig is in the folder."""
    if case.whole:
        options = ClusterOptions(nodes=nodes, port=0, kubeconfig=str(folder / "kubeconfig"))
        cluster = await ClusterProcess.start(options)
        try:
            yield cluster.pid
        finally:
            await cluster.stop()
        return
    here, there = SPAWN.Pipe()
    process = SPAWN.Process(target=serve, args=(there, case, nodes, folder), daemon=True)
    process.start()
    there.close()  # so that its end is the end of the pipe
    try:
        await asyncio.to_thread(here.recv)
        yield process.pid or 0
    finally:
        process.terminate()
        process.join()


def serve(pipe: Pipe, case: Case, nodes: int, folder: Path) -> None:
    gc.set_threshold(100_000, 50, 100)  # as `kubesched up` has it
    uvloop.run(serve_api(pipe, case, nodes, folder))


async def serve_api(pipe: Pipe, case: Case, nodes: int, folder: Path) -> None:
    data_dir = folder / "data" if case.durable else None
    server = ApiServer(insecure_http=case.insecure_http, data_dir=data_dir)
    await server.start()
    for node in make_nodes(nodes):
        server.api.create(server.api.catalog.named("nodes"), node)
    await server.store.settled()
    server.write_kubeconfig(folder / "kubeconfig")
    pipe.send("serving")
    await send_heartbeats(server)


async def send_heartbeats(server: ApiServer) -> None:
    """Of every node, evenly spread over the interval."""
    leases = NodeLeases(server.api)
    nodes = list(Informer(server.api, "nodes", NodeRecord))
    steps = int(Timings().lease / 0.1)
    while True:
        for step in range(steps):
            for node in nodes[step::steps]:
                leases.renew(node)
            await asyncio.sleep(0.1)


def cpu_seconds(pid: int) -> float:
    values = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(values[11]) + int(values[12])) / TICKS


def peak_memory(pid: int) -> float:
    """In MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


# ---- the client ---------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def client(folder: Path) -> AsyncGenerator[RestClient, None]:
    clock = SystemClock()
    transport = HttpTransport(choose_connection(str(folder / "kubeconfig"), clock))
    try:
        yield RestClient(transport, clock, random.Random(1))  # noqa: S311 - jitter, not secrets
    finally:
        await transport.close()


async def create(rest: RestClient, number: int) -> Pod:
    resources = {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}}
    container = {"name": "web", "image": "registry.example/web:1", "resources": resources}
    pod = {
        "metadata": {"name": f"web-{number}", "labels": {"app": "web", "track": "stable"}},
        "spec": {"containers": [container]},
    }
    return decode(await rest.call("POST", PODS, body=msgspec.json.encode(pod)), Pod)


async def in_parallel(call: Callable[[int], Awaitable[Any]], count: int) -> list[Any]:
    numbers = iter(range(count))
    results: list[Any] = [None] * count

    async def worker() -> None:
        for number in numbers:
            results[number] = await call(number)

    await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))
    return results


async def until_all_run(rest: RestClient) -> None:
    others = "fieldSelector=status.phase!=Running&limit=1"
    clock = SystemClock()
    while msgspec.json.decode(await rest.call("GET", PODS, query=others))["items"]:
        await clock.sleep(0.2)


class Rate(NamedTuple):
    per_second: float
    cpu: float  # µs of the server's, each


class Stopwatch:
    """Starts when it is made."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._cpu = cpu_seconds(pid)
        self._started = time.perf_counter()

    def read(self, count: int) -> Rate:
        seconds = time.perf_counter() - self._started
        return Rate(count / seconds, (cpu_seconds(self._pid) - self._cpu) / count * 1e6)


# ---- the watchers -------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def watching(
    rest: RestClient, folder: Path, watchers: int, events: int
) -> AsyncGenerator[Coroutine[Any, Any, str], None]:
    """Watchers of all pods, in another process; gives what to await until each of them has so many events."""
    version = msgspec.json.decode(await rest.call("GET", PODS, query="limit=1"))["metadata"]["resourceVersion"]
    here, there = SPAWN.Pipe()
    arguments = (there, str(folder / "kubeconfig"), version, watchers, events)
    process = SPAWN.Process(target=watch, args=arguments, daemon=True)
    process.start()
    there.close()
    try:
        await asyncio.to_thread(here.recv)  # all are connected
        yield asyncio.to_thread(here.recv)
    finally:
        process.terminate()
        process.join()


def watch(pipe: Pipe, kubeconfig: str, version: str, watchers: int, events: int) -> None:
    uvloop.run(watch_pods(pipe, kubeconfig, version, watchers, events))


async def watch_pods(pipe: Pipe, kubeconfig: str, version: str, watchers: int, events: int) -> None:
    loop = asyncio.get_running_loop()
    connection = choose_connection(kubeconfig, SystemClock())
    server = urlsplit(connection.server)
    secure = server.scheme == "https"
    context = ssl.create_default_context(cadata=connection.tls.ca_pem.decode()) if secure else None
    token = (await connection.credentials.current()).authorization
    request = f"GET {PODS}?watch=1&resourceVersion={version} HTTP/1.1\r\nHost: x\r\nAuthorization: {token}\r\n\r\n"
    made = []
    for _ in range(watchers):
        _, watcher = await loop.create_connection(
            lambda: Watcher(request.encode(), events), server.hostname or "", server.port or 443, ssl=context
        )
        made.append(watcher)
    for watcher in made:
        await watcher.answered.wait()
    pipe.send("connected")
    for watcher in made:
        await watcher.complete.wait()
    pipe.send("received")
    await asyncio.Event().wait()


class Watcher(asyncio.Protocol):
    """Counts the lines of a watch, and does no more: on two cores, its time is taken from the server."""

    def __init__(self, request: bytes, events: int) -> None:
        self._request = request
        self._missing = events
        self._last = b""
        self.answered = asyncio.Event()
        self.complete = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast(asyncio.WriteTransport, transport).write(self._request)  # uvloop's are no subclasses

    def data_received(self, data: bytes) -> None:
        self.answered.set()
        self._missing -= data.count(b"}\n") + (self._last == b"}" and data[:1] == b"\n")
        self._last = data[-1:]
        if self._missing <= 0:
            self.complete.set()


if __name__ == "__main__":
    main()
