"""What recording a large cluster costs: CPU time per change, share of a core, memory, bytes.

    python benchmarks/record.py [--nodes 5000] [--pods 50000] [--rate 200] [--seconds 120] [--paced | --http]

Watch events as an API server sends them (with managedFields, environment, statuses) go through the reflectors, the
decoder and the writer that `kubesched record` uses, as fast as they can; the CPU time that takes is set against the
time in which they would have come. With --paced they come at their rate in real time, so that the flush of every second
and idle turns of the loop are in the figure, too. With --http they come at their rate from a server in a process of its
own, over HTTP/1.1 (without TLS): what is measured is all that `kubesched record` does, and all memory that it has. Then
the trace is read again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import resource
import socket
import tempfile
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import parse_qs
from urllib.request import urlopen

import uvicorn
import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.responses import Response as HttpResponse
from starlette.routing import Route

from kubesched.apps.record.session import Recording, record
from kubesched.client.connection import Connection
from kubesched.client.http_transport import HttpTransport
from kubesched.client.transport import Response
from kubesched.clock import SystemClock
from kubesched.traces import Trace

PAGE = 1000
MANAGED = [
    {"manager": "kube-controller-manager", "operation": "Update", "fieldsV1": {f"f:field-{i}": {} for i in range(60)}},
    {
        "manager": "kubelet",
        "operation": "Update",
        "subresource": "status",
        "fieldsV1": {f"f:s-{i}": {} for i in range(60)},
    },
]


def node(number: int, beat: int = 0) -> dict[str, Any]:
    name = f"node-{number:05}"
    conditions = [
        {"type": kind, "status": status, "lastHeartbeatTime": f"2026-11-18T09:{beat % 60:02}:00Z", "reason": "Kubelet"}
        for kind, status in (("Ready", "True"), ("MemoryPressure", "False"), ("DiskPressure", "False"))
    ]
    images = [
        {"names": [f"registry.example/app-{i}:1", f"registry.example/app-{i}@sha256:{i:064}"], "sizeBytes": i << 20}
        for i in range(30)
    ]
    amounts = {"cpu": "32", "memory": "128Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    labels = {
        "kubernetes.io/hostname": name,
        "topology.kubernetes.io/zone": f"zone-{number % 3}",
        "pool": f"p{number % 7}",
    }
    return {
        "metadata": {
            "name": name,
            "uid": name,
            "labels": labels,
            "managedFields": MANAGED,
            "resourceVersion": str(beat),
        },
        "spec": {"podCIDR": "10.0.0.0/24"},
        "status": {"allocatable": amounts, "capacity": amounts, "conditions": conditions, "images": images},
    }


def pod(number: int, step: str, nodes: int) -> dict[str, Any]:
    """A pod of a Deployment in a step of its life."""
    app = number % 500
    name = f"app-{app}-{app * 7919 % 10**9:09}-{number:05x}"
    labels = {"app": f"app-{app}", "pod-template-hash": str(app * 7919), "team": f"team-{app % 20}"}
    container = {
        "name": "main",
        "image": f"registry.example/app-{app % 30}:1",
        "env": [{"name": f"VARIABLE_{i}", "value": f"value {i} of {app}"} for i in range(20)],
        "resources": {"requests": {"cpu": "250m", "memory": "512Mi"}, "limits": {"memory": "1Gi"}},
        "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10},
    }
    spec: dict[str, Any] = {
        "schedulerName": "default-scheduler",
        "containers": [container],
        "volumes": [{"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}],
        "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}],
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {"app": f"app-{app}"}},
            }
        ],
        "priority": 0,
    }
    status: dict[str, Any] = {"phase": "Pending"}
    if step != "created":
        spec["nodeName"] = f"node-{number % nodes:05}"
        status["conditions"] = [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-11-18T09:00:00Z"}
        ]
    if step in ("running", "ready"):
        status |= {"phase": "Running", "startTime": "2026-11-18T09:00:01Z", "podIP": "10.0.0.7"}
        status["containerStatuses"] = [
            {"name": "main", "ready": step == "ready", "state": {"running": {}}, "imageID": "i"}
        ]
    if step == "ready":
        status["conditions"] = [*status["conditions"], {"type": "Ready", "status": "True"}]
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name[:-6], "uid": f"rs-{app}", "controller": True}
    metadata = {
        "name": name,
        "namespace": f"team-{app % 20}",
        "uid": f"uid-{number}",
        "resourceVersion": f"{number}-{step}",
        "creationTimestamp": "2026-11-18T09:00:00Z",
        "labels": labels,
        "annotations": {"example.com/checksum": "0" * 64},
        "ownerReferences": [owner],
        "managedFields": MANAGED,
    }
    return {"metadata": metadata, "spec": spec, "status": status}


def events(count: int, nodes: int, pods: int) -> Iterator[tuple[str, bytes]]:
    """(kind, event): pods that come, are bound, run, get ready and go; every twelfth event is a node's heartbeat."""
    steps = ("created", "bound", "running", "ready", "deleted")
    for i in range(count):
        if i % 12 == 0:
            event = {"type": "MODIFIED", "object": node(i % nodes, beat=i + 1)}
            yield "nodes", json.dumps(event).encode() + b"\n"
            continue
        number, step = pods + i // len(steps), steps[i % len(steps)]
        kind = {"created": "ADDED", "deleted": "DELETED"}.get(step, "MODIFIED")
        event = {"type": kind, "object": pod(number, "ready" if step == "deleted" else step, nodes)}
        yield "pods", json.dumps(event).encode() + b"\n"


class Canned:
    """A `Transport` with everything prepared: lists in pages, then the events when `go` is set."""

    host = "canned:443"

    def __init__(
        self, lists: dict[str, list[bytes]], watches: dict[str, list[bytes]], rate: float | None = None
    ) -> None:
        """`rate` in events per second; None: as fast as they are taken."""
        self._rate = rate
        self._started = 0.0
        self._lists = lists
        self._watches = watches
        self.go = asyncio.Event()
        self.delivered, self.expected = 0, sum(map(len, watches.values()))
        self.done = asyncio.Event()

    def _pause(self) -> float:
        """Until the next event is due."""
        if self._rate is None:
            return 0.0
        now = asyncio.get_running_loop().time()
        self._started = self._started or now
        return max(0.0, self._started + self.delivered / self._rate - now)

    async def request(self, method: str, path: str, *, query: str = "", **_: Any) -> Response:
        assert method == "GET", "recording only reads"
        if path == "/version":
            return Response(200, b'{"gitVersion":"v1.36.4"}', {})
        items = self._lists.get(path.rpartition("/")[2], [])
        wanted = {name: values[0] for name, values in parse_qs(query).items()}
        start, limit = int(wanted.get("continue", "0")), int(wanted.get("limit", "0")) or len(items)
        end = start + limit
        following = f',"continue":"{end}"' if end < len(items) else ""
        body = b'{"metadata":{"resourceVersion":"1"%s},"items":[%s]}' % (
            following.encode(),
            b",".join(items[start:end]),
        )
        return Response(200, body, {})

    async def stream(self, path: str, *, query: str, time_limit: float) -> AsyncGenerator[bytes, None]:
        await self.go.wait()
        kind = path.rpartition("/")[2]
        if kind in self._watches:
            for event in self._watches.pop(kind):
                yield event
                self.delivered += 1
                await asyncio.sleep(self._pause())
            if self.delivered == self.expected:
                self.done.set()
        await asyncio.Event().wait()


def canned(arguments: argparse.Namespace) -> tuple[Canned, float]:
    """A transport with all data, and the mean size of an event."""
    count = int(arguments.rate * arguments.seconds)
    lists = {
        "nodes": [json.dumps(node(i)).encode() for i in range(arguments.nodes)],
        "pods": [json.dumps(pod(i, "ready", arguments.nodes)).encode() for i in range(arguments.pods)],
    }
    watches: dict[str, list[bytes]] = {"pods": [], "nodes": []}
    sizes = 0
    for kind, event in events(count, arguments.nodes, arguments.pods):
        watches[kind].append(event)
        sizes += len(event)
    paced = arguments.paced or arguments.http
    return Canned(lists, watches, arguments.rate if paced else None), sizes / count


def serve(arguments: argparse.Namespace, port: int) -> None:
    """The canned data over HTTP, until the process is ended. /go starts the events, /done waits for the last one."""
    transport, _ = canned(arguments)

    async def answer(request: Request) -> HttpResponse:
        path, query = request.url.path, str(request.url.query)
        if path == "/go":
            transport.go.set()
            return PlainTextResponse("")
        if path == "/done":
            await transport.done.wait()
            return PlainTextResponse("")
        if "watch=" in query:
            return StreamingResponse(transport.stream(path, query=query, time_limit=0), media_type="application/json")
        found = await transport.request("GET", path, query=query)
        return HttpResponse(found.body, media_type="application/json")

    app = Starlette(routes=[Route("/{path:path}", answer)])
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error", lifespan="off")


@contextmanager
def server(arguments: argparse.Namespace) -> Iterator[str]:
    """The address of a server in a process of its own."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(arguments, port), daemon=True)
    process.start()
    try:
        address = f"http://127.0.0.1:{port}"
        while True:
            with suppress(OSError):
                urlopen(f"{address}/version").close()  # noqa: S310 - our own server
                break
            time.sleep(0.2)  # noqa: TID251 - a real process is waited for
        yield address
    finally:
        process.terminate()
        process.join()


async def measure(arguments: argparse.Namespace, path: Path, address: str) -> None:
    """Over HTTP if there is an address."""
    count = int(arguments.rate * arguments.seconds)
    transport: Any
    if address:
        transport, size = HttpTransport(Connection(server=address)), None
    else:
        transport, size = canned(arguments)
    before = 0.0 if address else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    stop, begun = asyncio.Event(), asyncio.Event()
    cpu = time.process_time()
    recording = Recording(path=path)
    rng = Random(1)  # noqa: S311 - the same in every run
    task = asyncio.create_task(
        record(recording, transport, SystemClock(), rng, stop=stop, report=lambda _: begun.set())
    )
    await begun.wait()
    listed = time.process_time() - cpu
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    start_size, cpu = _size(path), time.process_time()
    if address:
        for command in ("go", "done"):
            await asyncio.to_thread(lambda command=command: urlopen(f"{address}/{command}").close())  # noqa: S310 - our own server
        await asyncio.sleep(1)
    else:
        transport.go.set()
        await transport.done.wait()
        assert transport.delivered == count, f"{transport.delivered} of {count} events were delivered"
    stop.set()
    progress = await task
    spent = time.process_time() - cpu  # with the last flush
    hourly = (_size(path) - start_size) / arguments.seconds * 3600 / 1e6
    print(f"{arguments.nodes:,} nodes, {arguments.pods:,} pods listed and written: {listed:.1f} s of CPU, ", end="")
    print(f"{start_size / 1e6:.1f} MB")
    sizes = f" of {size / 1e3:.1f} kB on average" if size is not None else ""
    print(f"{count:,} watch events{sizes}: {spent / count * 1e6:.0f} µs of CPU each")
    print(f"at {arguments.rate:g} changes/s: {spent / arguments.seconds:.1%} of a core, {hourly:.1f} MB per hour")
    last = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    what = "memory of the process" if address else "memory beyond the canned data"
    print(
        f"{what}: at most {max(0.0, after - before):.0f} MiB after the list, {max(0.0, last - before):.0f} at the end"
    )
    cpu = time.process_time()
    entries = sum(1 for _ in Trace.open(path))
    spent = time.process_time() - cpu
    assert entries == progress.entries
    assert entries > arguments.nodes + arguments.pods + count / 2, "most events must have left an entry"
    print(f"read again: {entries:,} entries in {spent:.1f} s ({entries / spent:,.0f}/s)")


def _size(path: Path) -> int:
    return path.stat().st_size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=50_000)
    parser.add_argument("--rate", type=float, default=200.0)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--paced", action="store_true")
    parser.add_argument("--http", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        address = stack.enter_context(server(arguments)) if arguments.http else ""
        uvloop.run(measure(arguments, Path(folder) / "benchmark.jsonl.zst", address))


if __name__ == "__main__":
    main()
