"""The filter in front of every page: authentication, authorization, and what a refused request gets to read."""

from __future__ import annotations

import json

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kubesched.errors import KubeschedError
from kubesched.serving.authentication import Authenticator
from kubesched.serving.authorization import Authorizer
from kubesched.serving.status_answer import status_answer
from kubesched.telemetry.logging import log

PEER_CERTIFICATE = "peer_certificate"
"""Key of the connection's state that holds the client certificate (DER), see `server`."""


class AccessControl:
    """ASGI middleware: lets a request through to `app` when its user may make it."""

    def __init__(self, app: ASGIApp, *, authenticator: Authenticator, authorizer: Authorizer) -> None:
        self._app = app
        self._authenticator = authenticator
        self._authorizer = authorizer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = await self._refusal(scope)
        await (refusal or self._app)(scope, receive, _without_caching(send))

    async def _refusal(self, scope: Scope) -> Response | None:
        certificate = scope.get("state", {}).get(PEER_CERTIFICATE)
        verb, path = scope["method"].lower(), scope["path"]
        user = await self._authenticator.authenticate(Headers(scope=scope), certificate)
        if user is None:
            return status_answer(401, "Unauthorized", "Unauthorized")
        try:
            decision = await self._authorizer.decide(user, verb, path)
        except (KubeschedError, TimeoutError) as error:
            log.error("Unable to authorize the request", error, user=user.name, path=path)
            return PlainTextResponse(f"Internal Server Error: {json.dumps(path)}: {error}\n", 500)
        if decision.allowed:
            return None
        log.info("Forbidden", v=4, user=user.name, path=path, reason=decision.reason)
        message = f"forbidden: User {json.dumps(user.name)} cannot {verb} path {json.dumps(path)}"
        return status_answer(
            403, "Forbidden", f"{message}: {decision.reason}" if decision.reason else message, details={}
        )


def _without_caching(send: Send) -> Send:
    async def send_uncached(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message)["Cache-Control"] = "no-cache, private"
        await send(message)

    return send_uncached
