"""A page of a small cluster, asked without a network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest
from starlette.types import ASGIApp

from kubesched.apps.page.app import Page
from kubesched.apps.page.policies import Policy
from kubesched.apps.page.source import PageSource
from kubesched.apps.page.sources import loaded_cluster
from kubesched.config import FeatureGates
from kubesched.testing import make_node, make_pod

ZONE = "topology.kubernetes.io/zone"


def small_cluster() -> list[Any]:
    return [
        make_node("node-1", cpu="4", memory="8Gi", zone="a"),
        make_node("node-2", cpu="4", memory="8Gi", zone="b"),
        make_node("node-3", cpu="2", memory="4Gi", zone="b"),
        make_pod("web-1", cpu="3", node="node-1"),
        make_pod("web-2", cpu="1"),
        make_pod("db", cpu="8"),
    ]


def source_of(objects: Sequence[Any]) -> PageSource:
    return loaded_cluster(objects, "a test", Policy(gates=FeatureGates.parse("")))


class Asked:
    """The application's answers, decoded."""

    def __init__(self, page: Page, app: ASGIApp | None = None) -> None:
        self._app = app or page.app

    async def __call__(self, path: str, body: Any = None) -> tuple[int, Any]:
        sent: list[Any] = []
        path, _, query = path.partition("?")
        content = msgspec.json.encode(body) if body is not None else b""

        async def receive() -> Any:
            return {"type": "http.request", "body": content, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        method = "GET" if body is None else "POST"
        scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": []}
        await self._app(scope, receive, send)
        content = b"".join(message.get("body", b"") for message in sent[1:])
        is_json = any(value == b"application/json" for _, value in sent[0]["headers"])
        return sent[0]["status"], msgspec.json.decode(content) if is_json else content


@pytest.fixture
def ask() -> Iterator[Asked]:
    page = Page(source_of(small_cluster()))
    yield Asked(page)
    page.close()
