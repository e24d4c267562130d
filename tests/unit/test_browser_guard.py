"""A page in a browser gets nothing from a server on loopback; curl and kubectl do not notice the guard."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from starlette.types import Receive, Scope, Send

from kubesched.browser_guard import BrowserGuard

JSON = {"content-type": "application/json", "content-length": "2"}


async def page(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"secrets"})


async def ask(method: str, headers: dict[str, str]) -> tuple[int, dict[bytes, bytes], bytes]:
    sent: list[Any] = []

    async def receive() -> Any:
        raise AssertionError("a refused request is not read")

    async def send(message: Any) -> None:
        sent.append(message)

    pairs = [(key.encode(), value.encode()) for key, value in headers.items()]
    await BrowserGuard(page, {"box.lan"})({"type": "http", "method": method, "headers": pairs}, receive, send)
    return sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"]


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        pytest.param("GET", {"host": "127.0.0.1:8001"}, id="curl by address"),
        pytest.param("GET", {"host": "[::1]:8001"}, id="curl by the other address"),
        pytest.param("GET", {"host": "localhost:8001"}, id="curl by name"),
        pytest.param("GET", {"host": "LOCALHOST"}, id="a name in capitals"),
        pytest.param("GET", {"host": "box.lan:80"}, id="a name that was allowed"),
        pytest.param("POST", {"host": "127.0.0.1:8001"} | JSON, id="kubectl writes"),
        pytest.param("DELETE", {"host": "127.0.0.1:8001"}, id="a deletion without a body"),
        pytest.param("POST", {"host": "127.0.0.1:8001", "content-length": "0"}, id="nothing is posted"),
        pytest.param("GET", {"host": "localhost:1", "sec-fetch-site": "none"}, id="somebody types the address"),
        pytest.param(
            "POST",
            {"host": "localhost:1", "origin": "http://localhost:1", "sec-fetch-site": "same-origin"} | JSON,
            id="the server's own page writes",
        ),
    ],
)
async def test_who_is_let_through(method: str, headers: dict[str, str]) -> None:
    """With headers that keep other sites from using what they get."""
    code, answered, body = await ask(method, headers)
    assert (code, body) == (200, b"secrets")
    assert answered[b"x-content-type-options"] == b"nosniff"
    assert b"access-control-allow-origin" not in answered


@pytest.mark.parametrize(
    ("method", "headers", "code"),
    [
        pytest.param("GET", {"host": "evil.example:8001"}, 403, id="a name that was pointed at us"),
        pytest.param("GET", {"host": "127.0.0.1.evil.example"}, 403, id="a name that looks like an address"),
        pytest.param("GET", {"host": "localhost@evil.example"}, 403, id="a name behind ours"),
        pytest.param("GET", {}, 403, id="no Host"),
        pytest.param("GET", {"host": "[::1"}, 403, id="a broken Host"),
        pytest.param("POST", {"host": "localhost:1", "origin": "http://evil.example"} | JSON, 403, id="another origin"),
        pytest.param("POST", {"host": "localhost:1", "origin": "null"} | JSON, 403, id="a sandboxed frame"),
        pytest.param("POST", {"host": "localhost:1", "origin": "http://localhost:2"} | JSON, 403, id="another port"),
        pytest.param("GET", {"host": "localhost:1", "sec-fetch-site": "cross-site"}, 403, id="a script of a page"),
        pytest.param("GET", {"host": "localhost:1", "sec-fetch-site": "same-site"}, 403, id="a neighbour's page"),
        pytest.param("POST", {"host": "localhost:1", "content-length": "2"}, 415, id="a body without a type"),
        pytest.param(
            "POST",
            {"host": "localhost:1", "content-length": "2", "content-type": "text/plain; charset=utf-8"},
            415,
            id="a form's body",
        ),
        pytest.param(
            "PUT",
            {"host": "localhost:1", "transfer-encoding": "chunked", "content-type": "multipart/form-data"},
            415,
            id="a form's body in pieces",
        ),
    ],
)
async def test_who_is_not(method: str, headers: dict[str, str], code: int) -> None:
    """With a Status that says why."""
    answered, _, body = await ask(method, headers)
    assert answered == code
    assert b"secrets" not in body
    assert msgspec.json.decode(body)["code"] == code
