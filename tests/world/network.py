"""The network between replicas and the API server, in this process: it calls the server's application, or does not.

A request is a message to the server and an answer back, each with a delay of its own; a watch is a stream whose chunks
arrive in order. What may go wrong with them is decided by `Faults`, from the seed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping
from random import Random
from typing import Any, Final, Protocol

import msgspec
from tests.world.faults import Fate, Faults
from tests.world.history import History
from tests.world.loop import Process, VirtualLoop

from kubesched.client.transport import JSON, Response, raise_status
from kubesched.errors import TransportError
from kubesched.scheduler.build import Assembled

Message = MutableMapping[str, Any]
PING_TIMEOUT: Final = 45.0
"""After so much silence of the whole network a client takes its connection for dead (HTTP/2 pings)."""

SENT_AGAIN: Final = 1.0
IN_ORDER: Final = 1e-9
"""Seconds between two chunks at least: timers of one moment have no order."""


class Server(Protocol):
    """Whoever answers, as long as its process lives."""

    process: Process

    async def app(
        self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
    ) -> None: ...


class Watcher(Protocol):
    """Who looks at what passes."""

    def leaves(self, transport: WorldTransport, method: str, path: str, body: bytes | None) -> None:
        """A request leaves its process."""
        ...

    def scheduler_made(self, process: str, assembled: Assembled) -> None:
        """A replica has started."""
        ...

    def answered(self, transport: WorldTransport, method: str, path: str, response: Response) -> None:
        """An answer reaches the process that waits for it."""
        ...


class Network:
    def __init__(self, loop: VirtualLoop, random: Random, faults: Faults, history: History, watcher: Watcher) -> None:
        self.loop = loop
        self.random = random
        self.faults = faults
        self.history = history
        self.watcher = watcher
        self.server: Server | None = None
        self.cut_off: dict[str, None] = {}
        """Names of processes that no message reaches or leaves."""
        self._streams: dict[Stream, None] = {}
        self._numbers = 0

    def number(self) -> int:
        self._numbers += 1
        return self._numbers

    def opened(self, stream: Stream) -> None:
        self._streams[stream] = None

    def closed(self, stream: Stream) -> None:
        self._streams.pop(stream, None)

    def reconnect(self, name: str) -> None:
        """Messages pass again; what a stream had to say meanwhile arrives."""
        self.cut_off.pop(name, None)
        for stream in tuple(self._streams):
            if stream.process.name == name:
                stream.unsilence()

    def heal(self) -> None:
        """Nothing goes wrong from now on, and what was held back is delivered."""
        self.faults.end()
        self.cut_off.clear()
        for stream in tuple(self._streams):
            stream.unsilence()

    @property
    def open_streams(self) -> int:
        return len(self._streams)

    def random_stream(self) -> Stream | None:
        return self.random.choice(list(self._streams)) if self._streams else None


class WorldTransport:
    """A `Transport` of one process. `role` says which of its clients it carries."""

    host = "world"

    def __init__(self, network: Network, process: Process, role: str) -> None:
        self._network = network
        self.process = process
        self.role = role

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: str = "",
        content_type: str = JSON,
        body: bytes | None = None,
        time_limit: float,
        discard: bool = False,
        check: Callable[[], None] | None = None,
    ) -> Response:
        network = self._network
        if not self.process.is_alive:
            await network.loop.create_future()  # it has ended in this very step
        if check is not None:
            check()
        number = network.number()
        fate = network.faults.of_request(method, path)
        network.history.add(self.process.name, f"#{number} {method} {path}?{query} {_short(body)}{fate.told}")
        network.watcher.leaves(self, method, path, body)
        answer: asyncio.Future[Response] = network.loop.create_future()
        scope = _scope(method, path, query, content_type, body)
        exchange = Exchange(network, self.process, number, fate, scope, body or b"", answer)
        exchange.send()
        try:
            async with asyncio.timeout(time_limit):
                response = await answer
        except TimeoutError:
            network.history.add(self.process.name, f"#{number} timed out")
            raise TransportError(f"{method} {path}: operation timed out", request_sent=True, timed_out=True) from None
        network.history.add(self.process.name, f"#{number} answered {response.status}")
        network.watcher.answered(self, method, path, response)
        return response

    async def stream(self, path: str, *, query: str = "", time_limit: float) -> AsyncGenerator[bytes, None]:
        network = self._network
        if not self.process.is_alive:
            await network.loop.create_future()
        stream = Stream(network, self.process, network.number(), path, query)
        network.history.add(self.process.name, f"#{stream.number} WATCH {path}?{query}")
        try:
            async with asyncio.timeout(time_limit):
                stream.open()
                while (chunk := await stream.read()) is not None:
                    yield chunk
        except TimeoutError:
            raise TransportError(f"GET {path}: operation timed out", request_sent=True, timed_out=True) from None
        finally:
            stream.close()

    async def close(self) -> None: ...


class Exchange:
    """One request on its way: to the server, through it, and back."""

    def __init__(
        self,
        network: Network,
        process: Process,
        number: int,
        fate: Fate,
        scope: Message,
        body: bytes,
        answer: asyncio.Future[Response],
    ) -> None:
        self._network = network
        self._process = process
        self._number = number
        self._fate = fate
        self._scope = scope
        self._body = body
        self._answer = answer
        self._status = 0
        self._headers: dict[str, str] = {}
        self._chunks: list[bytes] = []

    def send(self) -> None:
        fate, loop = self._fate, self._network.loop
        if fate.refusal is not None:
            self._deliver(fate.refusal, fate.there + fate.back)
        elif fate.reset_before:
            self._break(fate.there)
        elif not fate.request_lost:
            for copy in range(fate.copies):
                loop.outside(fate.there + copy * fate.copy_delay, self._arrive, copy)

    def _arrive(self, copy: int) -> None:
        network = self._network
        if self._process.name in network.cut_off:
            return
        server = network.server
        if server is None or not server.process.is_alive:
            error = TransportError("connection refused", request_sent=False)
            network.loop.outside(self._fate.back, self._fail, error)
            return
        server.process.on_end[self._server_died] = None
        server.process.start(self._execute(server, copy))

    async def _execute(self, server: Server, copy: int) -> None:
        self._network.history.add(server.process.name, f"#{self._number} arrives{' again' if copy else ''}")
        body = deque([{"type": "http.request", "body": self._body, "more_body": False}])
        status, headers, chunks = 0, {}, []

        async def receive() -> Message:
            return body.popleft() if body else await self._network.loop.create_future()

        async def send(message: Message) -> None:
            nonlocal status, headers
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = {name.decode(): value.decode() for name, value in message["headers"]}
            else:
                chunks.append(message.get("body", b""))

        await server.app(self._scope, receive, send)
        server.process.on_end.pop(self._server_died, None)
        if copy:
            return  # whoever sent it twice takes the first answer
        if self._fate.fails_after:
            status, headers, chunks = 504, {}, [b"the answer came too late"]
        response = Response(status, b"".join(chunks), {k: v for k, v in headers.items() if k == "retry-after"})
        if not self._fate.answer_lost:
            self._deliver(response, self._fate.back)
        elif self._fate.reset_after:
            self._break(self._fate.back)

    def _deliver(self, response: Response, delay: float) -> None:
        self._network.loop.outside(delay, self._reach, response)

    def _reach(self, response: Response) -> None:
        if self._process.name not in self._network.cut_off and not self._answer.done():
            self._answer.set_result(response)

    def _break(self, delay: float) -> None:
        error = TransportError("connection reset by peer", request_sent=True)
        self._network.loop.outside(delay, self._fail, error)

    def _server_died(self) -> None:
        self._break(self._fate.back)

    def _fail(self, error: TransportError) -> None:
        if self._process.name not in self._network.cut_off and not self._answer.done():
            self._network.history.add(self._process.name, f"#{self._number} {error}")
            self._answer.set_exception(error)


class Stream:
    """One watch. Its chunks come in their order, torn anywhere; it may fall silent, or break."""

    def __init__(self, network: Network, process: Process, number: int, path: str, query: str) -> None:
        self._network = network
        self.process = process
        self.number = number
        self.path = path
        self._scope = _scope("GET", path, query, JSON, None)
        self._arrived: deque[bytes | Exception | None] = deque()
        self._news = asyncio.Event()
        self._last_arrival = 0.0
        self._status = 0
        self._withheld: list[bytes | Exception | None] | None = None
        self._is_closed = False
        self._gone: asyncio.Future[Message] = network.loop.create_future()
        self._server: Process | None = None

    def open(self) -> None:
        network, fate = self._network, self._network.faults.of_watch()
        network.opened(self)
        self.process.on_end[self.close] = None
        if fate.refusal is not None:
            network.loop.outside(fate.there, self._refuse, fate.refusal)
        else:
            network.loop.outside(fate.there, self._arrive)
        network.loop.outside(PING_TIMEOUT, self._ping)

    async def read(self) -> bytes | None:
        while not self._arrived:
            self._news.clear()
            await self._news.wait()
        item = self._arrived.popleft()
        if isinstance(item, Exception):
            raise item
        return item

    def close(self) -> None:
        """The client is not interested any more."""
        self._network.closed(self)
        self.process.on_end.pop(self.close, None)
        if not self._is_closed:
            self._is_closed = True
            self._network.loop.outside(0.001, self._tell_server)

    def cut(self) -> None:
        """The connection breaks; the server learns of it, too."""
        self._network.history.add("network", f"#{self.number} watch of {self.path} cut")
        self._withheld = None
        self._pass(TransportError("connection reset by peer", request_sent=True), 0.0)
        self._tell_server()

    def silence(self) -> None:
        """Nothing arrives any more, and the connection stays."""
        if self._withheld is None:
            self._network.history.add("network", f"#{self.number} watch of {self.path} falls silent")
            self._withheld = []

    def unsilence(self) -> None:
        withheld, self._withheld = self._withheld, None
        for item in withheld or ():  # before what is on its way
            self._take(item)

    def expire(self) -> None:
        """The server says that it has forgotten where this watch was."""
        status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}
        self._network.history.add("network", f"#{self.number} watch of {self.path} expires")
        self._pass(msgspec.json.encode({"type": "ERROR", "object": status}) + b"\n", 0.0)
        self._pass(None, 0.0)
        self._tell_server()

    def _ping(self) -> None:
        """A connection over which nothing comes back is given up."""
        if self._is_closed:
            return
        if self.process.name in self._network.cut_off:
            self._withheld = None
            self._take(TransportError("keep-alive timed out", request_sent=True))
            self._tell_server()
        else:
            self._network.loop.outside(PING_TIMEOUT, self._ping)

    def _refuse(self, refusal: Response) -> None:
        self._status = refusal.status
        self._pass(refusal.body, 0.0)
        self._pass(None, 0.0)

    def _arrive(self) -> None:
        network = self._network
        if self._is_closed:
            return
        if self.process.name in network.cut_off:  # it is sent again, until somebody loses patience
            network.loop.outside(SENT_AGAIN, self._arrive)
            return
        server = network.server
        if server is None or not server.process.is_alive:
            self._pass(TransportError("connection refused", request_sent=False), 0.0)
            return
        self._server = server.process
        server.process.on_end[self._server_died] = None
        server.process.start(self._execute(server))

    async def _execute(self, server: Server) -> None:
        await server.app(self._scope, self._receive, self._send)
        server.process.on_end.pop(self._server_died, None)
        self._pass(None, self._network.faults.delay())

    async def _receive(self) -> Message:
        return await asyncio.shield(self._gone)

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
        elif chunk := message.get("body", b""):
            for piece in self._network.faults.torn(chunk):
                self._pass(piece, self._network.faults.delay())

    def _server_died(self) -> None:
        self._pass(TransportError("connection reset by peer", request_sent=True), 0.01)

    def _pass(self, item: bytes | Exception | None, delay: float) -> None:
        if self._is_closed:
            return
        loop = self._network.loop
        self._last_arrival = max(self._last_arrival + IN_ORDER, loop.time() + delay)
        loop.outside(self._last_arrival - loop.time(), self._take, item)

    def _take(self, item: bytes | Exception | None) -> None:
        if self._is_closed:
            return
        if self._withheld is not None or self.process.name in self._network.cut_off:
            self._withheld = self._withheld if self._withheld is not None else []
            self._withheld.append(item)
            return
        if isinstance(item, bytes) and self._status >= 300:
            try:
                raise_status(self._status, item, {}, method="GET", url=self.path)
            except Exception as error:
                item = error
        self._arrived.append(item)
        self._news.set()

    def _tell_server(self) -> None:
        if not self._gone.done():
            self._gone.set_result({"type": "http.disconnect"})


def _scope(method: str, path: str, query: str, content_type: str, body: bytes | None) -> Message:
    headers = [(b"user-agent", b"kubesched/world")]
    if body is not None:
        headers += [(b"content-type", content_type.encode()), (b"content-length", str(len(body)).encode())]
    return {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": headers}


def _short(body: bytes | None) -> str:
    return "" if body is None else body[:300].decode(errors="replace")
