"""/healthz, /livez and /readyz: all checks together, and each at a path of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from kubesched.cluster.apiserver.storage import Store
from kubesched.telemetry.health import PING, HealthCheck, examine

ENDPOINTS: Final = ("healthz", "livez", "readyz")
NOSNIFF: Final = {"X-Content-Type-Options": "nosniff"}


def health_routes(store: Store) -> list[Route]:
    # The storage goes by the name that it has in kube-apiserver: probes ask for /livez?exclude=etcd.
    storage = HealthCheck("etcd", lambda: "the data directory cannot be written" if store.failed else None)
    checks = (PING, storage)
    routes = [Route(f"/{endpoint}", _answer_all(endpoint, checks)) for endpoint in ENDPOINTS]
    routes += [Route(f"/{endpoint}/{check.name}", _answer_one(check)) for endpoint in ENDPOINTS for check in checks]
    return routes


def _answer_all(endpoint: str, checks: tuple[HealthCheck, ...]) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        report = examine(endpoint, checks, request.query_params.getlist("exclude"))
        text = report.text(verbose="verbose" in request.query_params)
        return PlainTextResponse(text, 500 if report.failures else 200, headers=NOSNIFF)

    return answer


def _answer_one(check: HealthCheck) -> Callable[[Request], Awaitable[Response]]:
    async def answer(_: Request) -> Response:
        text, status = check.page()
        return PlainTextResponse(text, status, headers=NOSNIFF if status != 200 else None)

    return answer
