"""What the page can ask for. Every answer is JSON; nothing that is asked changes the cluster."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Awaitable, Callable
from importlib import resources
from typing import Any, Final, TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route

from kubesched.apps.page.configuration import compare, problems_of, weights_of, with_weight
from kubesched.apps.page.decision_memory import Taken, TakenAnswers
from kubesched.apps.page.decision_view import decision_of, help_for, pod_facts, taken_decision, taken_facts
from kubesched.apps.page.history import INTERVAL as SAMPLE_SECONDS
from kubesched.apps.page.history import History
from kubesched.apps.page.mirror import BusyError, Mirror
from kubesched.apps.page.queue_view import QueueFilter, queue_view
from kubesched.apps.page.source import PageSource
from kubesched.apps.page.updates import Updates
from kubesched.apps.page.what_if_view import what_if_view
from kubesched.browser_guard import PagePolicy
from kubesched.errors import ConfigurationError, InvalidObjectError, KubeschedError, what_and_where
from kubesched.objects import Node, Pod
from kubesched.telemetry.logging import log
from kubesched.telemetry.version import PROGRAM_VERSION

STATIC: Final = "kubesched.apps.page"
MOST_FOUND: Final = 50
MOST_PODS: Final = 1000
"""Of a node, in its panel."""
MOST_ROWS: Final = 500
"""Nodes whose pods are asked for at a time: those that are drawn large."""
MOST_BYTES: Final = 1 << 20
QUEUE_SECONDS: Final = 0.5
"""For so long an answer about the queue stands for all viewers that ask the same."""

Answer = Callable[[Request], Awaitable[Any]]


T = TypeVar("T")


class StepsAsked(msgspec.Struct, frozen=True):
    steps: tuple[str, ...]


class ConfigAsked(msgspec.Struct, frozen=True):
    text: str


class WeightAsked(msgspec.Struct, frozen=True):
    text: str
    profile: str
    plugin: str
    weight: int


class MomentAsked(msgspec.Struct, frozen=True):
    time: float


class Page:
    """The ASGI application (`app`) of one cluster's page, and what it keeps running. `close` it."""

    def __init__(self, source: PageSource) -> None:
        self._source = source
        self._updates = Updates(source)
        self._mirror = Mirror(source)
        self._history = History(source.assembled, source.clock, source.placements)
        self._sampling: asyncio.Task[None] | None = None
        self._warming: asyncio.Task[None] | None = None
        self._queues: dict[QueueFilter, tuple[float, bytes]] = {}
        self._files = _static_files()
        self.app = Starlette(
            routes=[
                Route("/", lambda _request: self._file("index.html")),
                Route("/static/{name}", lambda request: self._file(request.path_params["name"])),
                _route("/api/about", self._about),
                Route("/api/events", self._events),
                _route("/api/queue", self._queue),
                _route("/api/search", self._search),
                _route("/api/node/{name}", self._node),
                _route("/api/placed", self._placed),
                _route("/api/decision/{namespace}/{name}", self._decision),
                _route("/api/help/{namespace}/{name}", self._help),
                _route("/api/what-if", self._what_if, "POST"),
                _route("/api/config", self._config),
                _route("/api/config/check", self._check, "POST"),
                _route("/api/config/weight", self._weight, "POST"),
                _route("/api/config/compare", self._compare, "POST"),
                _route("/api/time", self._time),
                _route("/api/trace", self._trace, "POST"),
            ]
        )
        self.app.router.redirect_slashes = False

    def routes(self) -> list[BaseRoute]:
        """The page among other pages, under /page/, which have an access control of their own."""
        return [
            Route("/page", lambda _request: RedirectResponse("page/", 302)),
            Mount("/page", app=PagePolicy(self.app)),
        ]

    def start(self) -> None:
        """Keep a record of the last half hour."""
        self._sampling = asyncio.create_task(self._sample(), name="page history")

    def close(self) -> None:
        if self._sampling is not None:
            self._sampling.cancel()
        self._updates.close()
        self._mirror.close()

    def _file(self, name: str) -> Response:
        content = self._files.get(name)
        if content is None:
            return Response("404 page not found\n", 404, media_type="text/plain")
        return Response(content, media_type=mimetypes.guess_type(name)[0] or "text/plain")

    async def _about(self, _request: Request) -> Any:
        source, recorded = self._source, self._source.recorded
        return {
            "title": source.title,
            "kind": source.kind,
            "schedules": source.schedules,
            "version": PROGRAM_VERSION,
            "profiles": list(source.assembled.profiles),
            "recorded": {"start": recorded.start, "end": recorded.end, "now": recorded.now} if recorded else None,
        }

    async def _events(self, _request: Request) -> Response:
        if self._updates.is_full:
            return _problem("too many viewers", 503)
        if self._warming is None:  # so that the first question need not wait for the mirror to be made
            self._warming = asyncio.create_task(self._mirror.ask(lambda _: None), name="page mirror")
        return StreamingResponse(self._updates.stream(), media_type="text/event-stream")

    async def _queue(self, request: Request) -> Any:
        given: dict[str, Any] = dict(request.query_params)
        try:
            wanted = msgspec.convert({key: value for key, value in given.items() if value}, QueueFilter, strict=False)
        except msgspec.ValidationError as error:
            raise ConfigurationError([str(error)]) from error
        now = self._source.clock.monotonic()
        self._queues = {one: kept for one, kept in self._queues.items() if now - kept[0] < QUEUE_SECONDS}
        if wanted not in self._queues:
            view = await self._source.read(lambda: queue_view(self._source, wanted))
            self._queues[wanted] = now, msgspec.json.encode(view)
        return msgspec.Raw(self._queues[wanted][1])

    async def _search(self, request: Request) -> Any:
        """Pods and nodes whose names contain a text."""
        text = request.query_params.get("text", "")
        objects = self._source.assembled.objects

        def find() -> Any:
            nodes = [node.name for node in objects.of(Node) if text in node.name]
            pods = [pod for pod in objects.of(Pod) if text in pod.key]
            nodes.sort(key=lambda name: (len(name), name))
            pods.sort(key=lambda pod: (bool(pod.spec.node_name), len(pod.key), pod.key))
            return {
                "nodes": nodes[:MOST_FOUND],
                "pods": [{"key": pod.key, "node": pod.spec.node_name} for pod in pods[:MOST_FOUND]],
            }

        return await self._source.read(find)

    async def _node(self, request: Request) -> Any:
        name = request.path_params["name"]
        cluster = self._source.assembled.cache.cluster

        def find() -> Any:
            row = cluster.nodes.row_of.get(name)
            if row is None:
                raise InvalidObjectError("there is no such node", kind="Node", name=name)
            pods = cluster.pods.on_node(row)
            return {"name": name, "count": len(pods), "pods": [pod_facts(info.pod) for info in pods[:MOST_PODS]]}

        return await self._source.read(find)

    async def _placed(self, request: Request) -> Any:
        """By row: the pods of these nodes, in the order in which they came, with what they request."""
        rows = [int(row) for row in request.query_params.get("rows", "").split(",") if row.isdigit()][:MOST_ROWS]
        cluster = self._source.assembled.cache.cluster

        def find() -> Any:
            names = cluster.nodes.resources.values
            return {
                row: [
                    {
                        "key": info.key,
                        "requests": {names[number]: amount for number, amount in info.template.request_vector},
                        "ending": info.pod.is_terminating,
                    }
                    for info in cluster.pods.on_node(row)
                ]
                for row in rows
            }

        return await self._source.read(find)

    async def _decision(self, request: Request) -> Any:
        """As it was taken, if that is known and not `?now` is asked for; else as it would be taken now."""
        key, clock = _pod_of(request), self._source.clock
        started = clock.monotonic()
        decision = None
        pod, taken, answers = await self._source.read(lambda: self._remembered(key))
        if "now" not in request.query_params:
            if pod is not None and taken is not None and answers is not None:
                decision = await asyncio.to_thread(taken_decision, pod, taken, answers)
            elif self._source.recorded is not None:
                decision = await self._source.recorded.decision(key)
        if decision is None:
            decision = await self._mirror.ask(lambda simulation: decision_of(simulation, key, clock))
            decision["taken"] = taken_facts(taken) if taken is not None else None
            decision["basis"]["canShowTaken"] = answers is not None or self._source.recorded is not None
        return {**decision, "milliseconds": round((clock.monotonic() - started) * 1000, 1)}

    def _remembered(self, key: str) -> tuple[Pod | None, Taken | None, TakenAnswers | None]:
        pod, memory = self._source.assembled.objects.of(Pod).get(key), self._source.memory
        return (pod, *memory.of(pod)) if pod is not None and memory is not None else (pod, None, None)

    async def _help(self, request: Request) -> Any:
        key = _pod_of(request)
        return await self._mirror.ask(lambda simulation: help_for(simulation, key))

    async def _what_if(self, request: Request) -> Any:
        steps = (await _body(request, StepsAsked)).steps
        return await self._mirror.ask(lambda simulation: what_if_view(simulation, steps))

    async def _config(self, _request: Request) -> Any:
        return {"text": self._source.policy.text()}

    async def _check(self, request: Request) -> Any:
        text, policy = (await _body(request, ConfigAsked)).text, self._source.policy
        plugins = policy.plugins()
        problems = await asyncio.to_thread(problems_of, text, policy.gates, plugins)
        return {"problems": problems, "weights": [] if problems else weights_of(text, policy.gates, plugins)}

    async def _weight(self, request: Request) -> Any:
        asked = await _body(request, WeightAsked)
        return {"text": with_weight(asked.text, asked.profile, asked.plugin, asked.weight)}

    async def _compare(self, request: Request) -> Any:
        text, clock = (await _body(request, ConfigAsked)).text, self._source.clock
        return await self._mirror.ask(lambda simulation: compare(simulation, text, clock.monotonic))

    async def _time(self, _request: Request) -> Any:
        return await self._source.read(self._history.columns)

    async def _trace(self, request: Request) -> Any:
        recorded = self._source.recorded
        if recorded is None:
            raise ConfigurationError(["this is no trace: its time cannot be chosen"])
        await recorded.seek((await _body(request, MomentAsked)).time)
        return {"now": recorded.now}

    async def _sample(self) -> None:
        while True:
            await self._source.clock.sleep(SAMPLE_SECONDS)
            await self._source.read(self._history.sample)


async def _body(request: Request, kind: type[T]) -> T:
    content = bytearray()
    async for part in request.stream():
        content += part
        if len(content) > MOST_BYTES:
            raise ConfigurationError(["the question is too long"])
    try:
        return msgspec.json.decode(bytes(content), type=kind)
    except msgspec.DecodeError as error:
        raise ConfigurationError([f"the question is not understood: {error}"]) from error


def _pod_of(request: Request) -> str:
    return f"{request.path_params['namespace']}/{request.path_params['name']}"


def _route(path: str, answer: Answer, method: str = "GET") -> Route:
    """Errors of ours are answers: one clear line."""

    async def respond(request: Request) -> Response:
        try:
            return Response(msgspec.json.encode(await answer(request)), media_type="application/json")
        except BusyError as error:
            return _problem(str(error), 503)
        except InvalidObjectError as error:
            return _problem(str(error), 404)
        except KubeschedError as error:
            return _problem(str(error), 400)
        except Exception as error:
            log.error("The page cannot answer", error, path=path)
            return _problem(f"this is a bug in the page: {what_and_where(error)}", 500)

    return Route(path, respond, methods=[method])


def _problem(message: str, code: int) -> Response:
    return Response(msgspec.json.encode({"message": message}), code, media_type="application/json")


def _static_files() -> dict[str, bytes]:
    folder = resources.files(STATIC) / "static"
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
