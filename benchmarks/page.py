"""What the page costs: the first state, a decision, remembering decisions, and viewers, idle and while pods are placed.

    python benchmarks/page.py [--nodes 5000] [--pods 50000] [--rounds 5]

Viewers have a process of their own and read everything that they are sent. Costs are CPU time of the process that
schedules and serves, so that a busy machine does not change them; a decision's time is measured on the clock, too.
What is compared is measured in turns.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import multiprocessing
import statistics
import time
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import Any
from urllib.parse import urlsplit

from kubesched.apps.page.app import Page
from kubesched.apps.page.decision_memory import DecisionMemory
from kubesched.apps.page.mirror import Mirror
from kubesched.apps.page.policies import NO_EVENTS, Policy
from kubesched.apps.page.server import PageServer
from kubesched.apps.page.source import PageSource
from kubesched.apps.page.updates import Updates
from kubesched.apps.simulate.memory_api import MemoryApi
from kubesched.apps.simulate.virtual_scheduler import build_virtual_scheduler
from kubesched.clock import SystemClock
from kubesched.config import FeatureGates
from kubesched.objects import Pod
from kubesched.objects.completion import completed
from kubesched.scheduler.build import Dependencies
from kubesched.testing import make_node, make_pod

BATCH = 100
PODS_PER_ROUND = 20_000
IDLE_SECONDS = 10.0


def make_source(nodes: int, pods: int, *, remembers: bool = True) -> PageSource:
    policy, clock, api = Policy(gates=FeatureGates.parse("")), SystemClock(), MemoryApi()
    memory = DecisionMemory(clock) if remembers else None
    random = Random(0)  # noqa: S311 - decides ties
    dependencies = Dependencies(api=api, recorder=NO_EVENTS, clock=clock, random=random, decision_observer=memory)
    assembled = build_virtual_scheduler(None, policy.gates, dependencies)
    api.connect(assembled.objects, assembled.handlers)
    if memory is not None:
        memory.follow(assembled.objects)
    for number in range(nodes):
        node = make_node(f"node-{number}", cpu="32", memory="128Gi", zone=f"zone-{number % 3}")
        assembled.handlers.add(completed(node))
    for number in range(pods):
        pod = make_pod(f"pod-{number}", cpu=f"{100 + number % 900}m", memory="1Gi", node=f"node-{number % nodes}")
        assembled.handlers.add(completed(pod))
    return PageSource(
        title="benchmark",
        kind="up",
        assembled=assembled,
        clock=clock,
        policy=policy,
        schedules=True,
        memory=memory,
    )


def view(link: str, viewers: int, ready: Any) -> None:
    """Open the page so often, and read all that comes."""

    async def one(address: tuple[str, int], cookie: str, at_first: asyncio.Event) -> None:
        reader, writer = await asyncio.open_connection(*address)
        host = f"{address[0]}:{address[1]}"
        writer.write(f"GET /api/events HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n".encode())
        while await reader.read(1 << 20):
            at_first.set()

    async def all_of_them() -> None:
        parts = urlsplit(link)
        address = (str(parts.hostname), int(parts.port or 0))
        cookie = await _cookie(address, parts.netloc, parts.query)
        first = [asyncio.Event() for _ in range(viewers)]
        tasks = [asyncio.create_task(one(address, cookie, event)) for event in first]
        await asyncio.gather(*(event.wait() for event in first))
        ready.set()
        await asyncio.gather(*tasks)

    asyncio.run(all_of_them())


async def _cookie(address: tuple[str, int], host: str, query: str) -> str:
    reader, writer = await asyncio.open_connection(*address)
    writer.write(f"GET /?{query} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    for line in (await reader.read()).decode().split("\r\n"):
        name, _, value = line.partition(": ")
        if name.lower() == "set-cookie":
            return value.partition(";")[0]
    return ""


@contextmanager
def viewed(server: PageServer, viewers: int) -> Any:
    """While so many look. The event tells when all of them have seen something."""
    ready = multiprocessing.get_context("spawn").Event()
    process = multiprocessing.get_context("spawn").Process(target=view, args=(server.link, viewers, ready), daemon=True)
    process.start()
    try:
        yield ready
    finally:
        process.kill()
        process.join()


async def until(ready: Any) -> None:
    while not ready.is_set():  # noqa: ASYNC110 - another process sets it
        await asyncio.sleep(0.05)


async def place(source: PageSource, names: str) -> float:
    """CPU seconds for a round of pods, which are gone afterwards."""
    assembled = source.assembled
    pods = [completed(make_pod(f"{names}-{number}", cpu="100m", memory="128Mi")) for number in range(PODS_PER_ROUND)]
    gc.collect()
    started = time.process_time()
    for first in range(0, PODS_PER_ROUND, BATCH):
        for pod in pods[first : first + BATCH]:
            assembled.handlers.add(pod)
        while await assembled.scheduler.schedule_pending():
            pass
        await asyncio.sleep(0)
    spent = time.process_time() - started
    for pod in pods:
        placed = assembled.objects.of(Pod).get(pod.key)
        if placed is not None:
            assembled.handlers.delete(placed)
    return spent


async def measure_questions(source: PageSource) -> None:
    updates = Updates(source)
    started = time.perf_counter()
    state = await anext(aiter(updates.stream()))
    print(f"first state: {(time.perf_counter() - started) * 1000:.0f} ms, {len(state) / 1e6:.2f} MB")
    updates.close()
    mirror = Mirror(source)
    started = time.process_time()
    await mirror.ask(lambda _: None)
    print(f"making the mirror: {time.process_time() - started:.1f} s of CPU, once")
    mirror.close()
    page = Page(source)
    await answer(page, "/api/decision/default/pod-0?now")
    bound = [f"/api/decision/default/pod-{number}?now" for number in range(0, 2000, 100)]
    await measure_decisions("a decision, evaluated now", page, bound)
    huge = completed(make_pod("huge", cpu="1000"))
    source.assembled.handlers.add(huge)
    await measure_decisions("a decision about a pod that fits nowhere", page, ["/api/decision/default/huge?now"] * 10)
    source.assembled.handlers.delete(huge)
    taken = [completed(make_pod(f"taken-{number}", cpu="100m")) for number in range(20)]
    for pod in taken:
        source.assembled.handlers.add(pod)
    while await source.assembled.scheduler.schedule_pending():
        pass
    await measure_decisions("a decision as it was taken", page, [f"/api/decision/{pod.key}" for pod in taken])
    page.close()


async def measure_decisions(what: str, page: Page, paths: list[str]) -> None:
    """From the request to the whole answer as text."""
    times, costs, sizes = [], [], []
    for path in paths:
        wall, cpu = time.perf_counter(), time.process_time()
        sizes.append(len(await answer(page, path)))
        times.append((time.perf_counter() - wall) * 1000)
        costs.append((time.process_time() - cpu) * 1000)
    print(
        f"{what}: {statistics.median(times):.0f} ms (worst {max(times):.0f} ms), "
        f"{statistics.median(costs):.0f} ms of CPU, {statistics.median(sizes) / 1e6:.2f} MB"
    )


async def answer(page: Page, address: str) -> bytes:
    path, _, query = address.partition("?")
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": []}
    await page.app(scope, receive, send)
    content = b"".join(message.get("body", b"") for message in sent)
    if sent[0]["status"] != 200:
        raise SystemExit(f"{address}: {content.decode()}")
    return content


async def measure_remembering(nodes: int, pods: int, rounds: int) -> None:
    """Of two schedulers without a page, one of which remembers."""
    plain, remembering = make_source(nodes, pods, remembers=False), make_source(nodes, pods)
    await place(plain, "warm")
    await place(remembering, "warm")
    ratios = []
    for number in range(rounds):
        without = await place(plain, f"plain-{number}")
        ratios.append(await place(remembering, f"remembered-{number}") / without)
    more = statistics.median(ratios) - 1
    print(f"remembering decisions: {more:+.1%} CPU per pod ({min(ratios) - 1:+.1%} to {max(ratios) - 1:+.1%})")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"{options.nodes:,} nodes, {options.pods:,} pods")
    await measure_remembering(options.nodes, options.pods, options.rounds)
    source = make_source(options.nodes, options.pods)
    await measure_questions(source)
    await place(source, "warm")
    server = PageServer(replace(source))
    server.start()
    with viewed(server, 100) as ready:
        await until(ready)
        await asyncio.sleep(3)
        started, clock = time.process_time(), time.perf_counter()
        for number in range(int(IDLE_SECONDS)):
            pod = completed(make_pod(f"now-and-then-{number}", cpu="1m", node=f"node-{number}"))
            source.assembled.handlers.add(pod)
            await asyncio.sleep(1)
        share = (time.process_time() - started) / (time.perf_counter() - clock)
    print(f"100 viewers, a change every second: {share:.1%} of a core")
    alone, watched = [], []
    for number in range(options.rounds):
        await asyncio.sleep(1)
        alone.append(await place(source, f"alone-{number}"))
        with viewed(server, 5) as ready:
            await until(ready)
            await asyncio.sleep(1)
            watched.append(await place(source, f"watched-{number}"))
    more = statistics.median(watched) / statistics.median(alone) - 1
    rate = PODS_PER_ROUND / statistics.median(alone)
    print(f"placing pods: {rate:,.0f} per second of CPU; with five viewers {more:+.1%} CPU per pod")
    await server.stop()


if __name__ == "__main__":
    asyncio.run(main())
