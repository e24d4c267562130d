"""The embedded cluster without its scheduler: API server, controllers and nodes in one process.

    python -m kubesched.apps.up.cluster

reads `ClusterOptions` as one line of JSON from its standard input, answers with one line (`ClusterAnswer`), and runs
until its input ends: whoever started it is gone then, however that came.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import errno
import gc
import logging
import os
import signal
import sqlite3
import sys
from collections.abc import Coroutine, Iterable
from importlib import resources
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec
import uvloop

from kubesched.apps.up.kubeconfig import KubeconfigFile
from kubesched.clock import SystemClock
from kubesched.cluster.apiserver.server import ApiServer
from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.controllers.manager import ControllerManager
from kubesched.cluster.controllers.table import make_controllers
from kubesched.cluster.informer import Informer
from kubesched.cluster.kubelet.kubelets import SimulatedKubelets
from kubesched.cluster.kubelet.node_shapes import make_nodes
from kubesched.cluster.kubelet.timings import Timings
from kubesched.cluster.manifests import create_all, delay_of, read_manifests
from kubesched.cluster.records import NodeRecord, PodRecord
from kubesched.errors import ConfigurationError
from kubesched.objects.base import Json
from kubesched.open_files import raise_open_files_limit
from kubesched.telemetry.logging import adopt_library_logs, log

_log = logging.getLogger(__name__)

DEMOS: Final = "kubesched.cluster.demos"
STANDARD_CLASS: Final[Json] = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {
        "name": "standard",
        "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
    },
    "provisioner": "kubesched.io/simulated",
    "reclaimPolicy": "Delete",
    "volumeBindingMode": "WaitForFirstConsumer",
}


class ClusterOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What `kubesched up` was asked for; an empty string stands for "not given"."""

    nodes: int = 5
    nodes_from: str = ""
    port: int = 8001
    data_dir: str = ""
    demo: str = ""
    manifests: tuple[str, ...] = ()
    insecure_http: bool = False
    kubeconfig: str = ""
    seed: int = 0


class ClusterAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Where the API server is, or why there is none."""

    address: str = ""
    problems: tuple[str, ...] = ()


class EmbeddedCluster:
    """An API server whose nodes run pods and whose controllers make them. `start` it, use `api`, `stop` it."""

    def __init__(self, options: ClusterOptions) -> None:
        self._options = options
        self._clock = SystemClock()
        self._random = Random(options.seed)  # noqa: S311 - a simulation's chance
        data_dir = Path(options.data_dir) if options.data_dir else None
        self.server = ApiServer(
            port=options.port, data_dir=data_dir, insecure_http=options.insecure_http, clock=self._clock
        )
        self.api = self.server.api
        self.crashed = asyncio.Event()
        """Set when a part has crashed: without it, what the API server answers would be promises that nobody keeps."""
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """ConfigurationError for manifests that do not fit and for a port that is taken."""
        manifests = list(self._manifests())
        try:
            await self.server.start()
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            problem = f"port {self._options.port} is taken: choose another one with --port, or 0 for any free one"
            raise ConfigurationError([problem]) from error
        try:
            create_all(self.api, [item for item in manifests if not delay_of(item[1])])
        except ConfigurationError:
            await self.stop()
            raise
        pods, nodes = Informer(self.api, "pods", PodRecord), Informer(self.api, "nodes", NodeRecord)
        kubelets = SimulatedKubelets(self.api, pods, nodes, self._random, Timings())
        context = ControllerContext(self.api, pods, nodes)
        manager = ControllerManager(context, make_controllers(context))
        self._tasks = [
            self._start(kubelets.run(), "kubelets"),
            self._start(manager.run(), "controllers"),
            self._start(self._create_later([item for item in manifests if delay_of(item[1])]), "manifests"),
        ]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.server.stop()

    async def _create_later(self, manifests: list[tuple[str, Json]]) -> None:
        """What a manifest wants to happen after the start, in its order."""
        begun = self._clock.monotonic()
        for where, manifest in sorted(manifests, key=lambda item: delay_of(item[1])):
            await self._clock.sleep(begun + delay_of(manifest) - self._clock.monotonic())
            try:
                create_all(self.api, [(where, manifest)])
            except ConfigurationError as error:
                log.error("A manifest does not fit", error)

    def _start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work, name=name)
        task.add_done_callback(self._report_crash)
        return task

    def _report_crash(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or (error := task.exception()) is None:
            return
        if isinstance(error, OSError):  # a full disk is no bug: where it was noticed says nothing
            log.error("The embedded cluster cannot go on", error)
        else:
            _log.error("the %s of the embedded cluster crashed", task.get_name(), exc_info=error)
        self.crashed.set()

    def _manifests(self) -> Iterable[tuple[str, Json]]:
        options = self._options
        yield "the default storage class", copy.deepcopy(STANDARD_CLASS)
        if options.nodes_from:
            yield from _only_nodes(read_manifests(Path(options.nodes_from)))
        else:
            yield from (("--nodes", node) for node in make_nodes(options.nodes))
        if options.demo:
            with resources.as_file(resources.files(DEMOS) / f"{options.demo}.yaml") as file:
                yield from read_manifests(file)
        for path in options.manifests:
            yield from read_manifests(Path(path))


def _only_nodes(manifests: list[tuple[str, Json]]) -> Iterable[tuple[str, Json]]:
    problems = [f"{where}: expected a Node" for where, item in manifests if item.get("kind") != "Node"]
    if problems or not manifests:
        raise ConfigurationError(problems or ["--nodes-from: there is no Node in it"])
    return manifests


async def _serve(options: ClusterOptions) -> int:
    """Until the input ends or a part crashes; the exit code of this process."""
    try:
        kubeconfig = KubeconfigFile(Path(options.kubeconfig)) if options.kubeconfig else None
        cluster = EmbeddedCluster(options)
        await cluster.start()
    except ConfigurationError as error:
        _answer(ClusterAnswer(problems=error.problems))
        return 1
    except (OSError, sqlite3.Error) as error:
        what = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else error
        _answer(ClusterAnswer(problems=(f"the API server cannot start: {what}",)))
        return 1
    if kubeconfig is not None:
        try:
            kubeconfig.write(cluster.server.write_kubeconfig)
        except (ConfigurationError, OSError) as error:
            await cluster.stop()
            problem = error.strerror if isinstance(error, OSError) else error
            _answer(ClusterAnswer(problems=(f"cannot write {options.kubeconfig}: {problem}",)))
            return 1
    _answer(ClusterAnswer(address=cluster.server.address))
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, over.set)
    loop.add_reader(sys.stdin.fileno(), _end_with_input, over)
    await asyncio.wait(
        [asyncio.ensure_future(over.wait()), asyncio.ensure_future(cluster.crashed.wait())],
        return_when=asyncio.FIRST_COMPLETED,
    )
    # Who crashed has said why. A store that cannot write says so again when it is closed.
    with contextlib.suppress(OSError) if cluster.crashed.is_set() else contextlib.nullcontext():
        await cluster.stop()
    return 1 if cluster.crashed.is_set() else 0


def _answer(answer: ClusterAnswer) -> None:
    sys.stdout.write(msgspec.json.encode(answer).decode() + "\n")
    sys.stdout.flush()


def _end_with_input(over: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 4096):
        over.set()
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())


def main() -> None:
    adopt_library_logs(log)
    raise_open_files_limit()
    gc.set_threshold(100_000, 50, 100)  # stored objects are bytes: there is little for the collector to find
    options = msgspec.json.decode(os.read(sys.stdin.fileno(), 1 << 20), type=ClusterOptions)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        sys.exit(runner.run(_serve(options)))


if __name__ == "__main__":
    main()
