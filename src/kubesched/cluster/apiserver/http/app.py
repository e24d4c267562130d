"""The ASGI application: authenticate, route, answer. Nothing that a request does gets past it as a traceback."""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request as PageRequest
from starlette.responses import Response
from starlette.routing import Route

from kubesched.cluster.apiserver import status
from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.apiserver.authorization import Attributes, Authorizer, refusal
from kubesched.cluster.apiserver.http import queries
from kubesched.cluster.apiserver.http.answers import (
    Answer,
    Send,
    encode,
    refusal_answer,
    send_answer,
)
from kubesched.cluster.apiserver.http.bodies import ClientGoneError, Receive, read_body
from kubesched.cluster.apiserver.http.discovery import Discovery, version_info
from kubesched.cluster.apiserver.http.encoding import ResponseEncoder
from kubesched.cluster.apiserver.http.health import health_routes
from kubesched.cluster.apiserver.http.negotiation import negotiate
from kubesched.cluster.apiserver.http.openapi import OpenApi
from kubesched.cluster.apiserver.http.paths import PageNotFoundError, Target, find_target
from kubesched.cluster.apiserver.http.resources import Request, ResourceRequests
from kubesched.cluster.apiserver.http.watch_streams import WatchStreams
from kubesched.cluster.apiserver.storage import Store
from kubesched.cluster.apiserver.users import ADMIN, Tokens, User, impersonated
from kubesched.cluster.apiserver.verbs.reviews import Reviewer
from kubesched.errors import RequestRefusedError

Scope = MutableMapping[str, Any]
logger = logging.getLogger(__name__)

_PUBLIC: Final = ("/healthz", "/livez", "/readyz", "/version")
_NO_PAGE: Final = Answer(404, b"404 page not found\n", content_type=b"text/plain; charset=utf-8")
_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class ApiServerApp:
    """Resource requests take a path of their own; the few fixed pages go through Starlette's routes.

    Starlette's routing and request objects cost as much as a whole binding does, and this is a scheduler's hot path.
    """

    def __init__(self, api: Api, *, token: str, address: str, rng: random.Random) -> None:
        self._api = api
        self._tokens = Tokens(token)
        self._authorizer = Authorizer(api.store, api.catalog)
        self._resources = ResourceRequests(api, Reviewer(self._tokens, self._authorizer))
        self._discovery = Discovery(api.catalog, address)
        self._openapi = OpenApi(api.catalog)
        self._streams = WatchStreams(api.store, rng)
        self._pages = _pages(self._openapi, api.store)

    def close_watches(self) -> None:
        self._streams.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            answer = await self._answer(scope, receive, send)
        except ClientGoneError:
            return
        except PageNotFoundError:
            answer = _NO_PAGE
        except RequestRefusedError as refusal:
            answer = refusal_answer(refusal)
        except RecursionError:
            answer = refusal_answer(status.bad_request("the object is nested too deeply"))
        except Exception as error:
            if self._api.store.failed:  # no bug, and the same for every request from now on
                answer = refusal_answer(status.internal(str(error)))
            else:
                logger.exception("request failed: %s %s", scope["method"], scope["path"])
                answer = refusal_answer(status.internal("the request failed; the server's log says why"))
        if answer is not None:
            await send_answer(send, answer)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> Answer | None:
        path: str = scope["path"]
        headers = _headers(scope)
        user = ADMIN
        if not path.startswith(_PUBLIC):
            user = self._tokens.authenticate(headers.get(b"authorization", b""))
            user = impersonated(scope["headers"]) or user
        if path.startswith(("/api/", "/apis/")) and path.count("/", 0, -1) > (2 if path.startswith("/api/") else 3):
            return await self._resource_answer(scope, path, headers, user, receive, send)
        self._authorize(user, Attributes(verb=scope["method"].lower(), path=path))
        if path.startswith("/api"):
            form = negotiate(headers.get(b"accept", b"").decode("latin-1"), discovery=True)
            answer = self._discovery.answer(path, form)
            return answer or _NO_PAGE
        await self._pages(scope, receive, send)
        return None

    async def _resource_answer(
        self, scope: Scope, path: str, headers: dict[bytes, bytes], user: User, receive: Receive, send: Send
    ) -> Answer | None:
        target = find_target(path, self._api.catalog)
        method: str = scope["method"]
        query = queries.parse_query(scope["query_string"])
        if not user.is_master:
            self._authorize(user, _wanted(target, method, watches=queries.is_watch(query)))
        form = negotiate(headers.get(b"accept", b"").decode("latin-1"))
        if method == "GET" and not target.subresource and queries.is_watch(query):
            await self._watch(target, query, Request(method, query, form), receive, send)
            return None
        body = b""
        if method in _WITH_BODY:
            body = await read_body(receive, int(headers.get(b"content-length", b"0") or 0))
        content_type = headers.get(b"content-type", b"application/json").decode("latin-1")
        agent = headers.get(b"user-agent", b"").decode("latin-1")
        answer = self._resources.handle(target, Request(method, query, form, body, content_type, agent, user))
        await self._api.store.settled()
        return answer

    async def _watch(
        self, target: Target, query: queries.Query, request: Request, receive: Receive, send: Send
    ) -> None:
        resource = target.resource
        if "watch" not in resource.verbs:
            raise status.method_not_allowed()
        options = queries.watch_options(query, resource, target.name)
        encoder = ResponseEncoder(resource, request.form, query.get("includeObject", ""), self._api.clock.time())
        watch = self._api.watch(resource, target.namespace, options)
        await self._streams.serve(watch, encoder, receive, send)

    def _authorize(self, user: User, wanted: Attributes) -> None:
        """The administrator may do everything; whoever it acts as, what the roles say."""
        decision = self._authorizer.decide(user, wanted)
        if not decision.allowed:
            raise refusal(user, wanted, decision)


def _wanted(target: Target, method: str, *, watches: bool) -> Attributes:
    """What a request for a resource wants to do (`RequestInfo` upstream)."""
    removing = "delete" if target.name else "deletecollection"
    verbs = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": removing}
    reading = "watch" if watches else "get" if target.name else "list"
    return Attributes(
        verb=verbs.get(method, reading),
        group=target.resource.group,
        resource=target.resource.plural,
        subresource=target.subresource,
        namespace=target.namespace,
        name=target.name,
    )


def _headers(scope: Scope) -> dict[bytes, bytes]:
    return dict(scope["headers"])


def _pages(openapi: OpenApi, store: Store) -> Callable[..., Awaitable[None]]:
    async def version(_: PageRequest) -> Response:
        return Response(msgspec.json.format(encode(version_info())), media_type="application/json")

    async def openapi_document(request: PageRequest) -> Response:
        answer = openapi.answer(request.url.path, request.headers.get("accept", ""))
        if answer is None:
            return await missing(request)
        return Response(answer.body, media_type=answer.content_type.decode())

    async def missing(_: PageRequest, __: Exception | None = None) -> Response:
        return Response(_NO_PAGE.body, _NO_PAGE.code, media_type="text/plain")

    async def not_allowed(_: PageRequest, __: Exception) -> Response:
        answer = refusal_answer(status.method_not_allowed())
        return Response(answer.body, answer.code, media_type="application/json")

    async def root(_: PageRequest) -> Response:
        paths = ["/api", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"]
        return Response(encode({"paths": paths}), media_type="application/json")

    return Starlette(
        routes=[
            Route("/", root),
            *health_routes(store),
            Route("/version", version),
            Route("/openapi/{rest:path}", openapi_document),
        ],
        exception_handlers={404: missing, 405: not_allowed},
    )
