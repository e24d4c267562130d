"""The ceiling of a comparison: binds every waiting pod to a random node and writes its event, and looks at nothing.

    kubesched bench ... --mode cluster --against 'python benchmarks/bind_at_random.py --kubeconfig={kubeconfig}'

What an API server lets through to a scheduler that decides for free. It speaks through kubesched's own client.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
from random import Random
from typing import Final

import uvloop

from kubesched.apps.run.clients import choose_connection
from kubesched.client.http_transport import HttpTransport
from kubesched.client.informer import Informer
from kubesched.client.pod_writer import PodWriter
from kubesched.client.recorder import EventRecorder
from kubesched.client.rest import RestClient
from kubesched.clock import SystemClock
from kubesched.objects import Node, Pod

AT_ONCE: Final = 100
"""Bindings under way."""
WAITING_PODS: Final = "spec.nodeName="


class WaitingPods:
    """A handler that queues pods for the binders."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[Pod] = asyncio.Queue()

    def on_add(self, value: Pod, is_initial: bool) -> None:
        self.queue.put_nowait(value)

    def on_update(self, old: Pod, new: Pod) -> None: ...

    def on_delete(self, last_known: Pod, maybe_stale: bool) -> None: ...


async def bind_all(kubeconfig: str) -> None:
    clock, random = SystemClock(), Random()  # noqa: S311 - any node will do
    rest = RestClient(HttpTransport(choose_connection(kubeconfig, clock)), clock, random)
    writer = PodWriter(rest, clock, random)
    recorder = EventRecorder(rest, clock, random, reporting_controller="bind-at-random", hostname="localhost")
    recorder.start()
    nodes = [node.metadata.name for node in await rest.list_all(Node)]
    waiting = WaitingPods()
    informer = Informer(Pod)
    informer.add_handler(waiting)

    async def bind() -> None:
        while True:
            pod = await waiting.queue.get()
            node = random.choice(nodes)
            await writer.bind(pod, node)
            note = f"Successfully assigned {pod.key} to {node}"
            recorder.event(pod, "Normal", "Scheduled", "Binding", note)

    async with asyncio.TaskGroup() as group:
        group.create_task(informer.run(rest, clock, random, field_selector=WAITING_PODS))
        for _ in range(AT_ONCE):
            group.create_task(bind())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kubeconfig", required=True)
    arguments = parser.parse_args()
    gc.disable()  # it lives for a minute
    uvloop.run(bind_all(arguments.kubeconfig))


if __name__ == "__main__":
    main()
