"""Typed REST calls to an API server: rate-limited, retried where that is safe, measured.

Structs are slim: they hold a part of an object's fields. Hence there is no `update` of a struct that was read;
change an object with a patch (its `metadata.resourceVersion` in the patch makes a concurrent change a conflict).
"""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any, Final, Protocol, TypeVar

import msgspec

from kubesched.client.fence import Fence
from kubesched.client.paths import collection_path, object_path
from kubesched.client.rate_limit import NO_LIMIT, RateLimiter
from kubesched.client.retries import MOST_RETRIES, retry_delay
from kubesched.client.transport import JSON, TIME_LIMIT, Transport, raise_status
from kubesched.clock import Clock
from kubesched.errors import ApiStatusError, ClientError, SupersededError
from kubesched.objects import KIND_OF, Kind, decode, encode
from kubesched.objects.meta import ListMeta, ObjectMeta
from kubesched.telemetry.logging import log

STRATEGIC_MERGE: Final = "application/strategic-merge-patch+json"
MERGE: Final = "application/merge-patch+json"

LONG_THROTTLE: Final = 1.0
# Logged at most this often: a client at its limit waits before every request.
THROTTLE_LOG_SECONDS: Final = 10.0


class ApiObject(Protocol):
    """A struct of a kind that the API server serves."""

    @property
    def metadata(self) -> ObjectMeta: ...


T = TypeVar("T", bound=ApiObject)
S = TypeVar("S")


class FinishedRequest(msgspec.Struct, frozen=True, gc=False):
    """What is measured of a request."""

    verb: str
    host: str
    code: str
    """The status, or `<error>` where none came."""
    throttled: float
    """Seconds for which the rate limit held it back before."""
    seconds: float
    sent_bytes: int
    received_bytes: int


class RequestObserver(Protocol):
    """Who measures requests: the `rest_client_*` metrics."""

    def request_finished(self, request: FinishedRequest) -> None: ...

    def request_retried(self, *, verb: str, host: str, code: str) -> None: ...


class RestClient:
    """Calls to one API server. Errors are ApiStatusError (the server said no) and TransportError (no answer)."""

    def __init__(
        self,
        transport: Transport,
        clock: Clock,
        rng: random.Random,
        *,
        limiter: RateLimiter | None = None,
        observer: RequestObserver | None = None,
        time_limit: float = TIME_LIMIT,
        fence: Fence | None = None,
        older: dict[type, Kind] | None = None,
    ) -> None:
        """Behind a `fence`, writes (all but GET) leave only while it is open: NotLeadingError.

        `older` is shared by clients of one server: kinds that it has in an older API version (`use_version`).
        """
        self._fence = fence.check if fence is not None else None
        self._transport = transport
        self._host = transport.host
        self._clock = clock
        self._rng = rng
        self._limiter = limiter or RateLimiter(clock, qps=NO_LIMIT, burst=0)
        self._observer = observer
        self._time_limit = time_limit
        self._throttling_told = -THROTTLE_LOG_SECONDS
        self._older = older if older is not None else {}

    def kind(self, struct: type) -> Kind:
        """How this server has a kind: in the current API version, unless `use_version` said otherwise."""
        return self._older.get(struct) or KIND_OF[struct]

    def use_version(self, struct: type, api_version: str) -> None:
        """Read and write a kind in one of its `older_versions`, which a server of an older release has."""
        self._older[struct] = KIND_OF[struct]._replace(api_version=api_version)

    async def get(self, struct: type[T], name: str, namespace: str = "") -> T:
        return decode(await self.call("GET", object_path(self.kind(struct), name, namespace)), struct)

    async def list_all(self, struct: type[T], namespace: str = "") -> list[T]:
        """Every object in one answer: for small sets. Large ones are an informer's."""
        body = await self.call("GET", collection_path(self.kind(struct), namespace))
        return [decode(bytes(item), struct) for item in msgspec.json.decode(body, type=Items).items]

    async def create(self, value: S) -> S:
        """Create an object that is whole in our struct; its namespace is where it goes."""
        metadata: ObjectMeta = value.metadata  # type: ignore[attr-defined] # every object of a kind has it
        kind = self.kind(type(value))
        path = collection_path(kind, metadata.namespace)
        return decode(await self.call("POST", path, body=manifest_json(value, kind)), type(value))

    async def patch(
        self, struct: type[S], name: str, body: Mapping[str, Any], *, namespace: str = "", subresource: str = ""
    ) -> S:
        """JSON merge patch; with `metadata.resourceVersion` in the body, a concurrent change is a 409 Conflict."""
        path = object_path(self.kind(struct), name, namespace, subresource)
        return decode(await self.call("PATCH", path, body=encode(body), content_type=MERGE), struct)

    async def delete(self, struct: type, name: str, namespace: str = "", *, uid: str = "") -> None:
        """Delete an object; with a `uid`, only if it still is that one (409 Conflict otherwise)."""
        options: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if uid:
            options["preconditions"] = {"uid": uid}
        path = object_path(self.kind(struct), name, namespace)
        await self.call("DELETE", path, body=encode(options), discard=True)

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: str = "",
        body: bytes | None = None,
        content_type: str = JSON,
        retries: int = MOST_RETRIES,
        discard: bool = False,
        gives_way: Callable[[], bool] | None = None,
    ) -> bytes:
        """One request with its retries; the body of the answer, which may be empty for who wants to `discard` it.

        `gives_way` is asked after every wait before the request is sent: if it says yes, SupersededError.
        """
        attempt = 0
        while True:
            if (throttled := self._limiter.reserve()) > 0.0:
                await self._throttle(throttled, method, path)
            if gives_way is not None and (throttled or attempt) and gives_way():
                self._limiter.give_back()
                raise SupersededError(f"{method} {path}: a newer write takes its place")
            started = self._clock.monotonic()
            code, received = "<error>", 0
            try:
                response = await self._transport.request(
                    method,
                    path,
                    query=query,
                    body=body,
                    content_type=content_type,
                    time_limit=self._time_limit,
                    discard=discard,
                    check=None if method == "GET" else self._fence,
                )
                code, received = str(response.status), len(response.body) + response.discarded_bytes
                if response.status >= 300:
                    raise_status(response.status, response.body, response.headers, method=method, url=path)
                return response.body
            except ClientError as error:
                delay = retry_delay(method, error, attempt, self._rng) if attempt < retries else None
                if delay is None:
                    raise
                log.info("Retrying a request", v=4, method=method, path=path, delay=delay, err=error)
            finally:
                if self._observer is not None:
                    sent = len(body) if body is not None else 0
                    seconds = self._clock.monotonic() - started
                    finished = FinishedRequest(method, self._host, code, throttled, seconds, sent, received)
                    self._observer.request_finished(finished)
                    if attempt:
                        self._observer.request_retried(verb=method, host=self._host, code=code)
            await self._clock.sleep(delay)
            attempt += 1

    def check_fence(self) -> None:
        """For a write that goes another way: NotLeadingError if it must not be made."""
        if self._fence is not None:
            self._fence()

    async def watch(self, path: str, *, query: str, time_limit: float) -> AsyncGenerator[bytes, None]:
        """The chunks of a watch; close it with `aclosing`. Never retried here: the reflector knows where to go on."""
        if (throttled := self._limiter.reserve()) > 0.0:
            await self._throttle(throttled, "GET", path)
        started = self._clock.monotonic()
        code, counted = "<error>", False
        async with aclosing(self._transport.stream(path, query=query, time_limit=time_limit)) as chunks:
            try:
                async for chunk in chunks:
                    if not counted:
                        counted = True
                        self._watch_answered("200", throttled, started)
                    yield chunk
                code = "200"
            except ApiStatusError as error:
                code = str(error.code)
                raise
            finally:
                if not counted:
                    self._watch_answered(code, throttled, started)

    def _watch_answered(self, code: str, throttled: float, started: float) -> None:
        if self._observer is not None:
            seconds = self._clock.monotonic() - started
            self._observer.request_finished(FinishedRequest("GET", self._host, code, throttled, seconds, 0, 0))

    async def _throttle(self, delay: float, method: str, path: str) -> None:
        if delay > LONG_THROTTLE and self._clock.monotonic() >= self._throttling_told + THROTTLE_LOG_SECONDS:
            self._throttling_told = self._clock.monotonic()
            log.info(
                "Waited before sending request",
                reason="client-side throttling",
                delay=delay,
                method=method,
                path=path,
            )
        try:
            await self._clock.sleep(delay)
        except BaseException:
            self._limiter.give_back()
            raise


class Items(msgspec.Struct, frozen=True):
    """A list, its items not decoded yet (Go writes null for none)."""

    metadata: ListMeta = ListMeta()
    raw_items: list[msgspec.Raw] | None = msgspec.field(name="items", default=None)

    @property
    def items(self) -> list[msgspec.Raw]:
        return self.raw_items or []


def _opening(kind: Kind) -> bytes:
    return f'{{"apiVersion":"{kind.api_version}","kind":"{kind.name}"'.encode()


_OPENINGS: Final = {struct: _opening(kind) for struct, kind in KIND_OF.items()}


def manifest_json(value: object, kind: Kind | None = None) -> bytes:
    """A struct as JSON, with its apiVersion and kind in front; those of `kind` where a server has it otherwise."""
    opening = _OPENINGS.get(type(value)) if kind is None else None
    opening, fields = opening or _opening(kind or KIND_OF[type(value)]), encode(value)
    return opening + b"," + fields[1:] if fields != b"{}" else opening + b"}"
