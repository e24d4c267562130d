from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import pytest

from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.apiserver.http.app import ApiServerApp

Message = MutableMapping[str, Any]


class Exchange:
    """One request to the application, without a network. `sent` is what it answered."""

    def __init__(self, app: ApiServerApp, method: str, target: str, body: list[bytes], headers: dict[str, str]) -> None:
        path, _, query = target.partition("?")
        pairs = [(key.lower().encode(), value.encode()) for key, value in headers.items()]
        self._app = app
        self._scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "headers": pairs,
        }
        chunks: list[Message] = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in body]
        chunks[-1]["more_body"] = False
        self._received = iter(chunks)
        self.sent: list[Message] = []

    async def run(self) -> Exchange:
        await self._app(self._scope, self._receive, self._send)
        return self

    async def _receive(self) -> Message:
        return next(self._received, {"type": "http.disconnect"})

    async def _send(self, message: Message) -> None:
        self.sent.append(message)

    @property
    def code(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def body(self) -> bytes:
        return b"".join(message["body"] for message in self.sent[1:])

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.sent[0]["headers"])


Requester = Callable[..., Awaitable[Exchange]]


@pytest.fixture
def app(api: Api) -> ApiServerApp:
    return ApiServerApp(api, token="secret", address="127.0.0.1:1", rng=random.Random(1))


@pytest.fixture
def request_app(app: ApiServerApp) -> Requester:
    async def send(
        method: str, target: str, *body: bytes, token: str = "secret", headers: dict[str, str] | None = None
    ) -> Exchange:
        given = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"} | (headers or {})
        return await Exchange(app, method, target, list(body) or [b""], given).run()

    return send
