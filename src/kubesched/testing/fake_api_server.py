"""An API server in memory, as a transport: for tests of whatever talks to one. No network, no process.

It keeps manifests as dicts, numbers every change, answers get, list (paged), create, replace, merge patch, delete
(with preconditions), pods/binding and watch (from a version, or with initial events), and fails when a test asks it to.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable
from typing import Any, Final
from urllib.parse import parse_qs

import msgspec

from kubesched.client.transport import JSON, Response, raise_for_status
from kubesched.errors import TransportError

Manifest = dict[str, Any]

_PATH: Final = re.compile(
    r"(?P<root>/apis?/(?:[^/]+/)?v[^/]+)(?:/namespaces/(?P<namespace>[^/]+))?/(?P<plural>[^/]+)"
    r"(?:/(?P<name>[^/]+))?(?:/(?P<subresource>[^/]+))?"
)


class Call(msgspec.Struct, frozen=True):
    """A request that came in."""

    method: str
    path: str
    query: str
    body: Any


class _Change(msgspec.Struct, frozen=True):
    version: int
    collection: str
    type: str
    manifest: Manifest


class FakeApiServer:
    """A `Transport`. Put objects in with `put` and `remove`; look at `calls`; break it with the switches."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.down = False
        """Every request fails as a refused connection does."""
        self.streams_lists = True
        """Whether a watch with initial events is offered."""
        self.failures: list[Response | TransportError] = []
        """What the next requests end with, one each."""
        self.objects: dict[str, dict[str, Manifest]] = {}
        self._version = 0
        self._history: list[_Change] = []
        self._oldest = 0
        self._changed = asyncio.Event()
        self._watches: set[asyncio.Event] = set()

    @property
    def host(self) -> str:
        return "fake:443"

    def put(self, path: str, manifest: Manifest) -> Manifest:
        """Create or replace an object of the collection (`/api/v1/pods`), as if somebody else did."""
        metadata = manifest.setdefault("metadata", {})
        key = _key(metadata)
        before = self.objects.setdefault(path, {}).get(key)
        self._version += 1
        stored = {**manifest, "metadata": {**metadata, "resourceVersion": str(self._version)}}
        self.objects[path][key] = stored
        self._note(path, "ADDED" if before is None else "MODIFIED", stored)
        return stored

    def remove(self, path: str, key: str) -> None:
        gone = self.objects[path].pop(key)
        self._version += 1
        self._note(path, "DELETED", {**gone, "metadata": {**gone["metadata"], "resourceVersion": str(self._version)}})

    def compact(self) -> None:
        """Forget the history: watches from older versions get 410 Gone."""
        self._version += 1
        self._oldest = self._version
        self._history.clear()

    def break_watches(self) -> None:
        """Cut every open watch."""
        for broken in self._watches:
            broken.set()
        self._wake()

    def calls_of(self, method: str, path_part: str = "") -> list[Call]:
        return [call for call in self.calls if call.method == method and path_part in call.path]

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
        if check is not None:
            check()
        self._admit(method, path, query, body)
        if self.failures:
            failure = self.failures.pop(0)
            if isinstance(failure, TransportError):
                raise failure
            return failure
        match = _PATH.fullmatch(path)
        if match is None:
            return _status(404, "NotFound", f"no such path {path}")
        collection = f"{match['root']}/{match['plural']}"
        payload = msgspec.json.decode(body) if body else {}
        if match["name"] is None:
            if method == "POST":
                return self._create(collection, payload, match["namespace"] or "")
            return self._list(collection, match["namespace"], parse_qs(query))
        key = f"{match['namespace']}/{match['name']}" if match["namespace"] else match["name"]
        known = self.objects.get(collection, {}).get(key)
        if known is None:
            return _status(404, "NotFound", f'{match["plural"]} "{match["name"]}" not found')
        return self._change(method, collection, key, known, payload, match["subresource"])

    def _admit(self, method: str, path: str, query: str, body: bytes | None) -> None:
        if self.down:
            raise TransportError("connection refused", request_sent=False)
        self.calls.append(Call(method, path, query, msgspec.json.decode(body) if body else None))

    def _create(self, collection: str, manifest: Manifest, namespace: str) -> Response:
        if namespace:
            manifest["metadata"].setdefault("namespace", namespace)
        if _key(manifest["metadata"]) in self.objects.get(collection, {}):
            return _status(409, "AlreadyExists", f'"{manifest["metadata"]["name"]}" already exists')
        return _ok(self.put(collection, manifest), 201)

    def _change(
        self, method: str, collection: str, key: str, known: Manifest, payload: Manifest, subresource: str | None
    ) -> Response:
        if method == "GET":
            return _ok(known)
        metadata = payload.get("metadata", {}) if method != "DELETE" else payload.get("preconditions", {})
        for field in ("uid", "resourceVersion"):
            if field in metadata and metadata[field] != known["metadata"].get(field):
                return _status(409, "Conflict", f"the {field} in the precondition does not match")
        if method == "DELETE":
            self.remove(collection, key)
            return _ok(known)
        if subresource == "binding":
            if known.get("spec", {}).get("nodeName"):
                return _status(409, "Conflict", f"pod is already assigned to node {known['spec']['nodeName']}")
            self.put(collection, _merged(known, {"spec": {"nodeName": payload["target"]["name"]}}))
            return _ok({"kind": "Status", "status": "Success"}, 201)
        changed = payload if method == "PUT" else _merged(known, payload)
        return _ok(self.put(collection, changed))

    def _list(self, collection: str, namespace: str | None, query: dict[str, list[str]]) -> Response:
        start, limit = int(query.get("continue", ["0"])[0]), int(query.get("limit", ["0"])[0])
        found = list(self._of(collection, namespace))
        page = found[start : start + limit] if limit else found
        metadata: Manifest = {"resourceVersion": str(self._version)}
        if limit and start + limit < len(found):
            metadata["continue"] = str(start + limit)
        return _ok({"metadata": metadata, "items": page})

    def _of(self, collection: str, namespace: str | None) -> list[Manifest]:
        objects = self.objects.get(collection, {}).values()
        return [value for value in objects if _is_in(namespace, value)]

    async def stream(self, path: str, *, query: str = "", time_limit: float) -> AsyncGenerator[bytes, None]:
        self._admit("GET", path, query, None)
        if self.failures:
            failure = self.failures.pop(0)
            if isinstance(failure, TransportError):
                raise failure
            raise_for_status(failure, method="GET", url=path)
        options = parse_qs(query)
        match = _PATH.fullmatch(path)
        assert match is not None, path
        collection, namespace = f"{match['root']}/{match['plural']}", match["namespace"]
        if "sendInitialEvents" in options:
            if not self.streams_lists:
                refusal = _status(422, "Invalid", "sendInitialEvents: Forbidden: the WatchList feature is disabled")
                raise_for_status(refusal, method="GET", url=path)
            for manifest in self._of(collection, namespace):
                yield _line("ADDED", manifest)
            version = self._version
            annotations = {"k8s.io/initial-events-end": "true"}
            metadata = {"resourceVersion": str(version), "annotations": annotations}
            yield _line("BOOKMARK", {"metadata": metadata})
        else:
            version = int(options["resourceVersion"][0])
        broken = asyncio.Event()
        self._watches.add(broken)
        try:
            async for line in self._changes_since(collection, namespace, version, broken):
                yield line
        finally:
            self._watches.discard(broken)

    async def _changes_since(
        self, collection: str, namespace: str | None, version: int, broken: asyncio.Event
    ) -> AsyncGenerator[bytes, None]:
        while not (broken.is_set() or self.down):
            if version < self._oldest:
                yield _line("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"})
                return
            for change in [change for change in self._history if change.version > version]:
                version = change.version
                if change.collection == collection and _is_in(namespace, change.manifest):
                    yield _line(change.type, change.manifest)
            changed = self._changed
            if not any(change.version > version for change in self._history):
                await changed.wait()
        raise TransportError("connection reset by peer")

    async def close(self) -> None:
        self.break_watches()

    def _note(self, collection: str, kind: str, manifest: Manifest) -> None:
        self._history.append(_Change(self._version, collection, kind, manifest))
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


def _key(metadata: Manifest) -> str:
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else str(metadata["name"])


def _is_in(namespace: str | None, manifest: Manifest) -> bool:
    return namespace in (None, manifest["metadata"].get("namespace"))


def _merged(base: Manifest, patch: Manifest) -> Manifest:
    """A JSON merge patch (RFC 7386), without strategic merging of lists."""
    result = dict(base)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict):
            result[name] = _merged(result.get(name) or {}, value)
        else:
            result[name] = value
    return result


def _line(kind: str, manifest: Manifest) -> bytes:
    return msgspec.json.encode({"type": kind, "object": manifest}) + b"\n"


def _ok(manifest: Manifest, code: int = 200) -> Response:
    return Response(code, msgspec.json.encode(manifest))


def _status(code: int, reason: str, message: str, *, retry_after: int | None = None) -> Response:
    headers = {} if retry_after is None else {"retry-after": str(retry_after)}
    return Response(code, msgspec.json.encode({"code": code, "reason": reason, "message": message}), headers)


def failure(code: int, reason: str = "", message: str = "", *, retry_after: int | None = None) -> Response:
    """An answer for `FakeApiServer.failures`."""
    return _status(code, reason, message, retry_after=retry_after)
