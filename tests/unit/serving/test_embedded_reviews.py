"""The scheduler's own pages, with the embedded API server behind them: strangers stay outside."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from kubesched.clock import VirtualClock
from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.apiserver.bootstrap import bootstrap
from kubesched.cluster.apiserver.http.app import ApiServerApp
from kubesched.cluster.apiserver.storage import Store
from kubesched.serving.access_control import AccessControl
from kubesched.serving.authentication import Authenticator
from kubesched.serving.authorization import AuthorizationOptions, Authorizer
from kubesched.serving.trust import ClientTrust


async def ask(app: ASGIApp, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> tuple[int, bytes]:
    """One request without a network: the code and the body of the answer."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    pairs = [(key.lower().encode(), value.encode()) for key, value in headers.items()]
    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": pairs}
    await app(scope, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


class EmbeddedReviews:
    """Asks the embedded API server, in this process."""

    def __init__(self, clock: VirtualClock) -> None:
        api = Api(store=Store(), clock=clock, rng=random.Random(1))
        bootstrap(api)
        self._app = ApiServerApp(api, token="secret", address="127.0.0.1:1", rng=random.Random(1))

    async def create(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        headers = {"Authorization": "Bearer secret", "Content-Type": "application/json"}
        _, answer = await ask(self._app, "POST", path, headers, json.dumps(body).encode())
        reviewed: Mapping[str, Any] = json.loads(answer)
        return reviewed


async def _page(_: Request) -> Response:
    return PlainTextResponse("numbers")


@pytest.mark.parametrize(
    ("path", "headers", "code"),
    [
        pytest.param("/metrics", {}, 403, id="a stranger asks for metrics"),
        pytest.param("/debug/pprof", {}, 403, id="a stranger asks for a profile"),
        pytest.param("/metrics", {"Authorization": "Bearer guess"}, 401, id="a token of nobody"),
        pytest.param("/metrics", {"Authorization": "Bearer secret"}, 200, id="the token of the kubeconfig"),
        pytest.param("/healthz", {}, 200, id="a probe"),
    ],
)
async def test_who_sees_which_page(path: str, headers: dict[str, str], code: int) -> None:
    """Every token used to be the administrator's, and everybody was allowed everything."""
    clock = VirtualClock()
    reviews = EmbeddedReviews(clock)
    routes = [Route(item, _page) for item in ("/metrics", "/debug/pprof", "/healthz")]
    app = AccessControl(
        Starlette(routes=routes),
        authenticator=Authenticator(
            trust=ClientTrust(), reviews=reviews, token_cache_ttl=timedelta(seconds=10), clock=clock
        ),
        authorizer=Authorizer(AuthorizationOptions(), reviews=reviews, clock=clock),
    )
    assert (await ask(app, "GET", path, headers))[0] == code
