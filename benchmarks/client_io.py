"""What the client costs the loop's thread for a pod: its watch event, its binding, its event.

    python benchmarks/client_io.py

CPU time of the one thread that runs the scheduler (`time.thread_time`), the best of several rounds; the HTTP library's
own thread is not counted. Requests are limited and measured, and garbage is collected, as `kubesched run` does it. A
pod is seen twice: when it is created, and when it is bound. Watch events come over a connection, one by one, and an
event is recorded when the binding it tells of was answered; the recorder writes those of 20 ms together.

The server is a process of its own and does next to nothing: behind a slow one, every answer would find the loop asleep,
and waking it would be most of what is measured.

All of it is measured twice: with the threads where the kernel puts them, and with all of them on one processor, where
the loop and the HTTP library take turns instead of handing Python's lock from one processor to another.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import multiprocessing
import os
import random
import re
import socket
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import msgspec
import uvloop
from prometheus_client import CollectorRegistry

from kubesched.apps.run.scheduler import GC_THRESHOLDS
from kubesched.client.connection import Connection
from kubesched.client.http_transport import HttpTransport
from kubesched.client.informer import Informer
from kubesched.client.pod_writer import PodWriter
from kubesched.client.rate_limit import RateLimiter
from kubesched.client.recorder import EventRecorder
from kubesched.client.request_metrics import RequestMetrics
from kubesched.client.rest import RestClient
from kubesched.clock import SystemClock
from kubesched.objects import Pod
from kubesched.objects.meta import ObjectMeta
from kubesched.telemetry.metrics import SchedulerMetrics

GOAL = 150
ROUNDS = 30
EVENTS = 4_000
REQUESTS = 1_000
CONCURRENCY = 50


def pod_manifest(number: int) -> dict[str, Any]:
    """A pod as an API server sends it, managed fields and all: some 4 KiB."""
    fields: dict[str, Any] = {f"f:field-{index}": {".": {}, "f:name": {}, "f:value": {}} for index in range(30)}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": f"web-7d4b9c6f5-{number:06d}",
            "generateName": "web-7d4b9c6f5-",
            "namespace": "default",
            "uid": f"5f2b8d0e-3c1a-4e6f-9b7d-{number:012d}",
            "resourceVersion": str(1000 + number),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"app": "web", "pod-template-hash": "7d4b9c6f5"},
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-7d4b9c6f5", "uid": "x", "controller": True}
            ],
            "managedFields": [
                {"manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1", "fieldsV1": fields}
            ],
        },
        "spec": {
            "volumes": [{"name": "kube-api-access", "projected": {"sources": [], "defaultMode": 420}}],
            "containers": [
                {
                    "name": "web",
                    "image": "registry.example/web:1.2.3",
                    "ports": [{"containerPort": 8080, "protocol": "TCP"}],
                    "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
                    "volumeMounts": [{"name": "kube-api-access", "mountPath": "/var/run/secrets", "readOnly": True}],
                    "terminationMessagePath": "/dev/termination-log",
                    "imagePullPolicy": "IfNotPresent",
                }
            ],
            "restartPolicy": "Always",
            "serviceAccountName": "default",
            "schedulerName": "default-scheduler",
            "tolerations": [
                {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"},
                {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"},
            ],
            "priority": 0,
        },
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    }


async def watch_events(port: int) -> float:
    clock, rng = SystemClock(), random.Random(1)  # noqa: S311 - jitter, not secrets
    transport = HttpTransport(Connection(server=f"http://127.0.0.1:{port}"))
    rest = RestClient(transport, clock, rng)

    async def follow() -> None:
        informer: Informer[Pod] = Informer(Pod)
        arrived = Arrived(EVENTS)
        informer.add_handler(arrived)
        task = asyncio.create_task(informer.run(rest, clock, rng))
        await arrived.all.wait()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    event = await best_of("watch event: read, decode, store, tell", follow, EVENTS)
    await transport.close()
    return event


class Arrived:
    """A handler that counts."""

    def __init__(self, expected: int) -> None:
        self._missing = expected
        self.all = asyncio.Event()

    def on_add(self, value: Pod, is_initial: bool) -> None:
        self._missing -= 1
        if not self._missing:
            self.all.set()

    def on_update(self, old: Pod, new: Pod) -> None: ...

    def on_delete(self, last_known: Pod, maybe_stale: bool) -> None: ...


async def requests(port: int) -> float:
    clock, rng = SystemClock(), random.Random(1)  # noqa: S311 - jitter, not secrets
    transport = HttpTransport(Connection(server=f"http://127.0.0.1:{port}"))
    limiter = RateLimiter(clock, qps=1e6, burst=1_000_000)
    observer = RequestMetrics(SchedulerMetrics(CollectorRegistry()).rest_client)
    rest = RestClient(transport, clock, rng, limiter=limiter, observer=observer)
    writer = PodWriter(rest, clock, rng)
    pods = [Pod(metadata=ObjectMeta(name=f"p{number}", namespace="default", uid="u")) for number in range(REQUESTS)]
    await writer.bind(pods[0], "node-1")

    async def bind() -> None:
        await in_parallel([functools.partial(writer.bind, pod, "node-1") for pod in pods])

    async def bind_and_tell() -> None:
        recorder = EventRecorder(rest, clock, rng, reporting_controller="default-scheduler", hostname="host")
        recorder.start()

        async def bind_one(pod: Pod) -> None:
            await writer.bind(pod, "node-1")
            recorder.event(pod, "Normal", "Scheduled", "Binding", "Successfully assigned p to node-1")

        await in_parallel([functools.partial(bind_one, pod) for pod in pods])
        await recorder.drained()
        await recorder.stop()

    await best_of("binding and its answer", bind, REQUESTS)
    bound_and_told = await best_of("binding, its answer, its event written", bind_and_tell, REQUESTS)
    await transport.close()
    return bound_and_told


async def in_parallel(calls: list[Callable[[], Coroutine[Any, Any, None]]]) -> None:
    waiting = iter(calls)

    async def worker() -> None:
        for call in waiting:
            await call()

    await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))


async def best_of(what: str, work: Callable[[], Coroutine[Any, Any, None]], count: int) -> float:
    """Microseconds for one of `count`."""
    seconds = []
    for _ in range(ROUNDS):
        started = time.thread_time()
        await work()
        seconds.append(time.thread_time() - started)
    best = min(seconds) / count * 1e6
    print(f"{what:40} {best:6.1f} µs")
    return best


class Server(asyncio.Protocol):
    """Answers every request of a connection with 201, and a watch with its events, each a chunk of its own."""

    LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
    BODY = b'{"kind":"Status","apiVersion":"v1","status":"Success","code":201}'
    ANSWER = b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY

    def __init__(self) -> None:
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (head := self._received.find(b"\r\n\r\n")) >= 0:
            length = self.LENGTH.search(self._received, 0, head)
            end = head + 4 + (int(length[1]) if length else 0)
            if len(self._received) < end:
                return
            self._transport.write(watch_answer() if b"watch=true" in self._received[:head] else self.ANSWER)
            self._received = self._received[end:]


@functools.cache
def watch_answer() -> bytes:
    """A streamed list without objects, and then the events."""
    bookmark = {"metadata": {"resourceVersion": "1", "annotations": {"k8s.io/initial-events-end": "true"}}}
    events = [{"type": "BOOKMARK", "object": bookmark}]
    events += [{"type": "ADDED", "object": pod_manifest(number)} for number in range(EVENTS)]
    lines = [msgspec.json.encode(event) + b"\n" for event in events]
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n%b\r\n" % (len(line), line) for line in lines)


def serve(port: int) -> None:
    async def forever() -> None:
        server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", port)
        await server.serve_forever()

    uvloop.run(forever())


def measure(port: int) -> None:
    per_pod = 2 * uvloop.run(watch_events(port)) + uvloop.run(requests(port))
    print(f"{'a pod: two watch events and these':40} {per_pod:6.1f} µs (goal: {GOAL} µs)")


def stay_on_one_processor() -> None:
    """This process, its threads included, as `taskset` would start it."""
    processor = max(os.sched_getaffinity(0))
    for thread in Path("/proc/self/task").iterdir():
        os.sched_setaffinity(int(thread.name), {processor})


def main() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(port,), daemon=True)
    server.start()
    try:
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)  # noqa: TID251 - waiting for another process
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLDS)
        print(f"watch events of {len(watch_answer()) // EVENTS:,} bytes, bindings {CONCURRENCY} at a time")
        measure(port)
        if Path("/proc/self/task").is_dir():
            print("on one processor")
            stay_on_one_processor()
            measure(port)
    finally:
        server.terminate()
        server.join()


if __name__ == "__main__":
    main()
