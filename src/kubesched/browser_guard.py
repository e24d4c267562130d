"""What a server without a password needs so that no web page can use it: checks of Host, Origin and content type.

A server on loopback is reachable for every page in a browser on the same machine. Three doors are shut:

    DNS rebinding       a page's own name is pointed at 127.0.0.1: the Host header says that name, not an address
    cross-site writes   a page posts a form or a fetch: the browser says so in Origin and Sec-Fetch-Site
    plain bodies        what a form can send without being asked first (text/plain and the like) is no content type here

What is read across sites is kept from the page by the browser itself, since no CORS header is ever sent; scripts and
pictures of other sites are refused by Sec-Fetch-Site, and in older browsers by the two headers of every answer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SAFE_SITES: Final = frozenset({b"", b"same-origin", b"none"})
_FORM_TYPES: Final = frozenset({"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"})
_REASONS: Final = {403: "Forbidden", 415: "UnsupportedMediaType"}
_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class BrowserGuard:
    """ASGI middleware. `names` are host names, besides localhost, under which the server may be asked for.

    An address as Host is always fine: a page cannot make a browser say one unless it was loaded from there, and then
    it is refused by its Origin.
    """

    def __init__(self, app: ASGIApp, names: Collection[str] = ()) -> None:
        self._app = app
        self._names = frozenset({"localhost", *(name.lower() for name in names)})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        code, problem = self._problem(scope.get("method", "GET"), headers)
        if not problem:
            await self._app(scope, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": problem})
        else:
            await _refuse(send, problem, code)

    def _problem(self, method: str, headers: Mapping[bytes, bytes]) -> tuple[int, str]:
        """Why the request is refused, and with which code; empty if it is not."""
        host = headers.get(b"host", b"").decode("latin-1")
        if not self._is_ours(host):
            return 403, f"Host {host!r} is not a name of this server"
        origin = headers.get(b"origin", b"").decode("latin-1")
        if origin and urlsplit(origin).netloc.lower() != host.lower():
            return 403, f"requests from {origin!r} are not allowed"
        if headers.get(b"sec-fetch-site", b"") not in _SAFE_SITES:
            return 403, "requests from other sites are not allowed"
        has_body = headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers
        media = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()
        if has_body and method not in ("GET", "HEAD") and media in _FORM_TYPES:
            return 415, "a body needs a content type, e.g. application/json (curl: --json instead of -d)"
        return 200, ""

    def _is_ours(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
            return name in self._names or bool(ip_address(name))
        except ValueError:
            return False


async def _refuse(send: Send, problem: str, code: int) -> None:
    """With a Kubernetes Status, which kubectl shows as one line."""
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": problem}
    body = msgspec.json.encode(status | {"reason": _REASONS[code], "code": code})
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *_HEADERS]
    await send({"type": "http.response.start", "status": code, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _with_headers(send: Send) -> Send:
    async def send_with(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *_HEADERS]
        await send(message)

    return send_with
