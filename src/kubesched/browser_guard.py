"""What a server without a password needs so that no web page can use it: checks of Host, Origin and content type.

A server on loopback is reachable for every page in a browser on the same machine. Three doors are shut:

    DNS rebinding       a page's own name is pointed at 127.0.0.1: the Host header says that name, not an address
    cross-site writes   a page posts a form or a fetch: the browser says so in Origin and Sec-Fetch-Site
    plain bodies        what a form can send without being asked first (text/plain and the like) is no content type here

For a page that people open with a link, `LinkLogin` exchanges the token in the link for a cookie of that browser, and
gives every answer a content security policy: nothing is loaded from elsewhere, and no text becomes a script.

What is read across sites is kept from the page by the browser itself, since no CORS header is ever sent; scripts and
pictures of other sites are refused by Sec-Fetch-Site, and in older browsers by the two headers of every answer.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection, Iterable, Mapping
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from typing import Final
from urllib.parse import parse_qs, urlsplit

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SAFE_SITES: Final = frozenset({b"", b"same-origin", b"none"})
_FORM_TYPES: Final = frozenset({"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"})
_REASONS: Final = {401: "Unauthorized", 403: "Forbidden", 415: "UnsupportedMediaType"}
_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


_POLICY: Final = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    ]
)
_PAGE_HEADERS: Final = (
    (b"content-security-policy", _POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cache-control", b"no-store"),
)
TOKEN: Final = "token"  # noqa: S105 - the name of a parameter


class BrowserGuard:
    """ASGI middleware. `names` are host names, besides localhost, under which the server may be asked for.

    An address as Host is always fine: a page cannot make a browser say one unless it was loaded from there, and then
    it is refused by its Origin. `entrances` are paths to which a link of another site may lead; what is there must not
    be secret.
    """

    def __init__(self, app: ASGIApp, names: Collection[str] = (), entrances: Collection[str] = ()) -> None:
        self._app = app
        self._names = frozenset({"localhost", *(name.lower() for name in names)})
        self._entrances = frozenset(entrances)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        code, problem = self._problem(scope.get("method", "GET"), scope.get("path", ""), headers)
        if not problem:
            await self._app(scope, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": problem})
        else:
            await _refuse(send, problem, code)

    def _problem(self, method: str, path: str, headers: Mapping[bytes, bytes]) -> tuple[int, str]:
        """Why the request is refused, and with which code; empty if it is not."""
        host = headers.get(b"host", b"").decode("latin-1")
        if not self._is_ours(host):
            return 403, f"Host {host!r} is not a name of this server"
        origin = headers.get(b"origin", b"").decode("latin-1")
        if origin and urlsplit(origin).netloc.lower() != host.lower():
            return 403, f"requests from {origin!r} are not allowed"
        enters = method == "GET" and path in self._entrances and headers.get(b"sec-fetch-dest") == b"document"
        if headers.get(b"sec-fetch-site", b"") not in _SAFE_SITES and not enters:
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


class LinkLogin:
    """ASGI middleware: `private` paths are for browsers that were opened once with `?token=` at the root.

    The cookie is sent by the same site only and cannot be read by scripts; its name has the `port` in it, since
    browsers share cookies between the ports of a host.
    """

    def __init__(self, app: ASGIApp, token: str, port: int, private: str = "/api/") -> None:
        self._app = app
        self._token = token.encode()
        self._private = private
        self._cookie = f"kubesched-page-{port}"
        self._session = secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["path"] == "/" and (given := parse_qs(scope["query_string"].decode("latin-1")).get(TOKEN)):
            await self._log_in(given[0], send)
        elif scope["path"].startswith(self._private) and not self._is_known(dict(scope["headers"])):
            await _refuse(send, "open the page with the link that the command printed", 401, _PAGE_HEADERS)
        else:
            await self._app(scope, receive, _with_headers(send, _PAGE_HEADERS))

    async def _log_in(self, token: str, send: Send) -> None:
        """To the page without the token, so that it is in no address that is copied; the rest of the link stays."""
        if not hmac.compare_digest(token.encode(errors="surrogateescape"), self._token):
            await _refuse(send, "this link is not, or no longer, valid: take the one that was printed last", 401)
            return
        cookie = f"{self._cookie}={self._session}; Path=/; HttpOnly; SameSite=Strict"
        headers = [(b"location", b"/"), (b"set-cookie", cookie.encode()), (b"content-length", b"0"), *_PAGE_HEADERS]
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    def _is_known(self, headers: Mapping[bytes, bytes]) -> bool:
        try:
            cookies = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1"))
        except CookieError:
            return False
        found = cookies.get(self._cookie)
        return found is not None and hmac.compare_digest(found.value.encode(), self._session.encode())


class PagePolicy:
    """ASGI middleware for a page whose users others know, by certificates or tokens: the content security policy, and
    nothing for other sites but links to the page.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        enters = scope["method"] == "GET" and headers.get(b"sec-fetch-dest") == b"document"
        if headers.get(b"sec-fetch-site", b"") not in _SAFE_SITES and not enters:
            await _refuse(send, "requests from other sites are not allowed", 403)
        else:
            await self._app(scope, receive, _with_headers(send, (*_HEADERS, *_PAGE_HEADERS)))


async def _refuse(send: Send, problem: str, code: int, more: Iterable[tuple[bytes, bytes]] = ()) -> None:
    """With a Kubernetes Status, which kubectl shows as one line."""
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": problem}
    body = msgspec.json.encode(status | {"reason": _REASONS[code], "code": code})
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *_HEADERS, *more]
    await send({"type": "http.response.start", "status": code, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _with_headers(send: Send, headers: Iterable[tuple[bytes, bytes]] = _HEADERS) -> Send:
    async def send_with(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *headers]
        await send(message)

    return send_with
