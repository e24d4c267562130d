"""A scheduler in a process of its own, and an API server between it and the benchmark."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import msgspec

from kubesched.apps.bench.manifests import with_metadata
from kubesched.apps.bench.processes import Process
from kubesched.apps.bench.target import PodProgress
from kubesched.apps.bench.templates import Manifest
from kubesched.apps.run.clients import choose_connection
from kubesched.client.http_transport import HttpTransport
from kubesched.client.informer import Informer
from kubesched.client.paths import collection_path, object_path
from kubesched.client.rest import MERGE, RestClient
from kubesched.clock import Clock
from kubesched.errors import ApiStatusError, ConfigurationError, KubeschedError
from kubesched.objects import KINDS, Kind, Pod

AT_ONCE: Final = 30
"""Requests under way, as upstream's creators have workers."""

_LABEL: Final = {"kubesched.io/bench": "true"}
_KEEPS_STATUS: Final = frozenset(("Node", "ResourceSlice", "CSINode"))
"""Kinds whose status the API server takes from a new object; that of others is written afterwards."""

T = TypeVar("T")


class Server(Protocol):
    """What must run before anything else does."""

    @property
    def kubeconfig(self) -> Path: ...
    async def start(self) -> None: ...
    async def stop(self) -> None: ...


class GivenServer:
    """An API server that is there already, behind a kubeconfig."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig

    async def start(self) -> None: ...
    async def stop(self) -> None: ...


class Request(NamedTuple):
    """A new object, ready to be sent."""

    kind: Kind
    name: str
    namespace: str
    body: bytes
    status: Mapping[str, Any]
    pod: str
    """The pod that a claim belongs to, which must be there first; empty for all other objects."""


class ApiTarget:
    """A `Target`. `scheduler` gives the command line of the scheduler; what was created is deleted at the end."""

    def __init__(self, server: Server, scheduler: Callable[[Path], Sequence[str]], clock: Clock) -> None:
        self._server = server
        self._command = scheduler
        self._clock = clock
        self._random = Random()  # noqa: S311 - for jitter
        self.pods = PodProgress(clock)
        self._created: dict[tuple[str, str, str], None] = {}
        self._claims: dict[str, list[Request]] = defaultdict(list)
        self._watching: asyncio.Task[None] | None = None
        self._guarding: asyncio.Task[None] | None = None
        self._transport: HttpTransport | None = None
        self._scheduler: Process | None = None

    async def start(self) -> None:
        await self._server.start()
        self._transport = HttpTransport(choose_connection(str(self._server.kubeconfig), self._clock))
        self._rest = RestClient(self._transport, self._clock, self._random)
        informer = Informer(Pod)
        informer.add_handler(self)
        self._watching = asyncio.create_task(informer.run(self._rest, self._clock, self._random))
        await informer.wait_for_sync()
        self._scheduler = Process(self._command(self._server.kubeconfig))
        await self.release()

    async def stop(self) -> None:
        await self.hold()
        await _cancelled(self._watching)
        if self._transport is not None:
            if isinstance(self._server, GivenServer):
                await self._clean_up()
            await self._transport.close()
        await self._server.stop()

    def prepare(self, manifest: Manifest) -> Request:
        kind = KINDS[manifest["kind"]]
        metadata = manifest["metadata"]
        namespace = metadata.get("namespace", "") if kind.namespaced else ""
        status = manifest.get("status") or {}
        owners = metadata.get("ownerReferences") or ()
        owner = next((o["name"] for o in owners if o["kind"] == "Pod"), "")
        if kind.name == "Namespace":
            manifest = with_metadata(manifest, labels={**(metadata.get("labels") or {}), **_LABEL})
        return Request(
            kind=kind,
            name=metadata["name"],
            namespace=namespace,
            body=msgspec.json.encode(manifest),
            status={} if kind.name in _KEEPS_STATUS else status,
            pod=f"{namespace}/{owner}" if owner else "",
        )

    async def create(self, prepared: Sequence[Any]) -> None:
        for request in prepared:
            if request.pod:
                self._claims[request.pod].append(request)
        await _many([request for request in prepared if not request.pod], self._create)

    async def update(self, manifest: Manifest, subresources: Sequence[str] = ()) -> None:
        request = self.prepare(manifest)
        try:
            for subresource in subresources or ("",):
                if subresource != "status":
                    path = object_path(request.kind, request.name, request.namespace, subresource)
                    await self._rest.call("PUT", path, body=request.body)
            if status := manifest.get("status"):
                await self._write_status(request, status)
        except ApiStatusError as error:
            raise ConfigurationError([f"updateAny: {request.kind.name} {request.name}: {error}"]) from error

    async def delete(self, kind: str, name: str, namespace: str = "", *, at_once: bool = False) -> None:
        options: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if at_once:
            options["gracePeriodSeconds"] = 0
        path = object_path(KINDS[kind], name, namespace)
        try:
            await self._rest.call("DELETE", path, body=msgspec.json.encode(options))
        except ApiStatusError as error:
            if error.code != 404:
                raise

    async def hold(self) -> None:
        await _cancelled(self._guarding)
        if self._scheduler is not None:
            await self._scheduler.stop()

    async def release(self) -> None:
        assert self._scheduler is not None, "started"
        await self._scheduler.start()
        self._guarding = asyncio.create_task(self._look_after(self._scheduler))

    def settle(self) -> None: ...

    def cpu_seconds(self) -> float:
        return self._scheduler.cpu_seconds() if self._scheduler is not None else 0.0

    def peak_rss_mib(self) -> float:
        return self._scheduler.peak_rss_mib() if self._scheduler is not None else 0.0

    def durations(self) -> Mapping[tuple[tuple[str, str], ...], Sequence[float]]:
        return {}

    # ---- Handler: what the API server reports ----------------------------------------------------------------

    def on_add(self, value: Pod, is_initial: bool) -> None:
        self._look_at(value)

    def on_update(self, old: Pod, new: Pod) -> None:
        if not old.spec.node_name:
            self._look_at(new)

    def on_delete(self, last_known: Pod, maybe_stale: bool) -> None: ...

    def _look_at(self, pod: Pod) -> None:
        if pod.spec.node_name:
            self.pods.note_bound(pod.key)
        elif any(condition.type == "PodScheduled" for condition in pod.status.conditions):
            self.pods.note_attempted(pod.key)

    # ---- writing ---------------------------------------------------------------------------------------------------

    async def _create(self, request: Request) -> None:
        """Create an object; a pod's claims follow it, since they name its uid."""
        try:
            answer = await self._rest.call("POST", collection_path(request.kind, request.namespace), body=request.body)
        except ApiStatusError as error:
            if error.code == 409 and request.kind.name == "Namespace":
                return
            raise KubeschedError(f"{request.kind.name} {request.name}: {error}") from error
        self._created[request.kind.name, request.namespace, request.name] = None
        for claim in self._claims.pop(f"{request.namespace}/{request.name}", ()) if request.kind.name == "Pod" else ():
            uid = msgspec.json.decode(answer)["metadata"]["uid"]
            manifest = msgspec.json.decode(claim.body)
            owners = [{**owner, "uid": uid} for owner in manifest["metadata"]["ownerReferences"]]
            body = msgspec.json.encode(with_metadata(manifest, ownerReferences=owners))
            await self._create(claim._replace(body=body, pod=""))
        if request.status:
            await self._write_status(request, request.status)

    async def _write_status(self, request: Request, status: Mapping[str, Any]) -> None:
        path = object_path(request.kind, request.name, request.namespace, "status")
        await self._rest.call("PATCH", path, body=msgspec.json.encode({"status": status}), content_type=MERGE)

    async def _clean_up(self) -> None:
        """Delete what was created, except namespaces: without their controller they would be stuck for ever."""
        await _many(
            [entry for entry in self._created if entry[0] != "Namespace"],
            lambda entry: self.delete(entry[0], entry[2], entry[1], at_once=entry[0] == "Pod"),
        )

    async def _look_after(self, scheduler: Process) -> None:
        """A scheduler that ends is the end of the benchmark: nobody will schedule what it waits for."""
        await scheduler.ended()
        try:
            scheduler.raise_if_dead()
        except KubeschedError as error:
            self.pods.fail(error)


async def _cancelled(task: asyncio.Task[None] | None) -> None:
    if task is not None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _many(items: Iterable[T], do: Callable[[T], Awaitable[None]]) -> None:
    """Do something with all items, a few at a time; the first failure ends it."""
    waiting = iter(items)

    async def work() -> None:
        for item in waiting:
            await do(item)

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(work())
