"""A page in a browser gets nothing from a server on loopback; curl and kubectl do not notice the guard."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from starlette.types import Receive, Scope, Send

from kubesched.browser_guard import BrowserGuard, LinkLogin, PagePolicy

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


# ---- pages that are opened with a link ----------------------------------------------------------------------------

LINK = LinkLogin(page, "the-token", 8002)


async def visit(path: str, query: str = "", cookie: str = "") -> tuple[int, dict[bytes, bytes], bytes]:
    sent: list[Any] = []

    async def receive() -> Any:
        raise AssertionError("nothing is read")

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"cookie", cookie.encode())] if cookie else []
    scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": headers}
    await LINK(scope, receive, send)
    return sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"]


async def test_the_link_is_exchanged_for_a_cookie() -> None:
    """The cookie opens what is private; the token is gone from the address, and scripts cannot read the cookie."""
    code, headers, _ = await visit("/", "token=the-token")
    assert (code, headers[b"location"]) == (303, b"/")
    cookie, *attributes = headers[b"set-cookie"].decode().split("; ")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} == set(attributes)
    assert "the-token" not in cookie
    code, _, body = await visit("/api/queue", cookie=cookie)
    assert (code, body) == (200, b"secrets")


@pytest.mark.parametrize(
    ("path", "query", "cookie"),
    [
        pytest.param("/api/queue", "", "", id="no cookie"),
        pytest.param("/api/queue", "token=the-token", "", id="the token elsewhere than at the entrance"),
        pytest.param("/api/queue", "", "kubesched-page-8002=guess", id="a guessed cookie"),
        pytest.param("/api/queue", "", "kubesched-page-8001=x; other=y", id="cookies of other servers"),
        pytest.param("/api/queue", "", "kubesched-page-8002=the-token", id="the token as cookie"),
        pytest.param("/", "token=guess", "", id="a guessed token"),
        pytest.param("/", "token=%ff%00", "", id="a token that is no text"),
    ],
)
async def test_who_has_no_link_gets_nothing(path: str, query: str, cookie: str) -> None:
    code, headers, body = await visit(path, query, cookie)
    assert code == 401
    assert b"secrets" not in body
    assert b"set-cookie" not in headers


async def test_every_answer_carries_the_policy() -> None:
    """Nothing is loaded from elsewhere, no text becomes a script, no other page shows ours in a frame."""
    _, headers, _ = await visit("/")
    policy = headers[b"content-security-policy"].decode()
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy


@pytest.mark.parametrize(
    ("path", "headers", "code"),
    [
        pytest.param("/", {"sec-fetch-dest": "document"}, 200, id="a link on another site leads to the entrance"),
        pytest.param("/api/queue", {"sec-fetch-dest": "document"}, 403, id="but not to what is private"),
        pytest.param("/", {"sec-fetch-dest": "script"}, 403, id="nor can the entrance be loaded as a script"),
        pytest.param("/", {"sec-fetch-dest": "iframe"}, 403, id="nor be shown in a frame"),
    ],
)
async def test_links_of_other_sites(path: str, headers: dict[str, str], code: int) -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    all_headers = {"host": "127.0.0.1:1", "sec-fetch-site": "cross-site"} | headers
    pairs = [(key.encode(), value.encode()) for key, value in all_headers.items()]
    scope = {"type": "http", "method": "GET", "path": path, "headers": pairs}
    await BrowserGuard(page, entrances={"/"})(scope, None, send)  # type: ignore[arg-type]  # nothing is read
    assert sent[0]["status"] == code


@pytest.mark.parametrize(
    ("method", "headers", "code"),
    [
        pytest.param("GET", {}, 200, id="curl"),
        pytest.param("POST", {"sec-fetch-site": "same-origin"}, 200, id="the page itself"),
        pytest.param("GET", {"sec-fetch-site": "cross-site", "sec-fetch-dest": "document"}, 200, id="a link to it"),
        pytest.param("GET", {"sec-fetch-site": "cross-site", "sec-fetch-dest": "iframe"}, 403, id="in a frame"),
        pytest.param("POST", {"sec-fetch-site": "cross-site", "sec-fetch-dest": "empty"}, 403, id="another site asks"),
    ],
)
async def test_a_page_whose_users_others_know(method: str, headers: dict[str, str], code: int) -> None:
    """A browser sends a client certificate for any site that asks it to."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    pairs = [(key.encode(), value.encode()) for key, value in headers.items()]
    scope = {"type": "http", "method": method, "path": "/page/api/what-if", "headers": pairs}
    await PagePolicy(page)(scope, None, send)  # type: ignore[arg-type]  # nothing is read
    assert sent[0]["status"] == code
