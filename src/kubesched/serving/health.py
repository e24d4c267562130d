"""/healthz, /livez and /readyz, with the texts of Kubernetes components."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from prometheus_client import CollectorRegistry
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from kubesched.telemetry.health import PING, HealthCheck, examine
from kubesched.telemetry.instruments import STABLE, InstrumentSet
from kubesched.telemetry.logging import log

NOSNIFF: Final = {"X-Content-Type-Options": "nosniff"}


class HealthSlis:
    """Service-level indicators: what the checks answered, as metrics of their own registry (/metrics/slis)."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._instruments = made = InstrumentSet()
        self._last = made.gauge(
            "kubernetes_healthcheck", STABLE, "This metric records the result of a single healthcheck.", "name", "type"
        )
        self._total = made.counter(
            "kubernetes_healthchecks_total",
            STABLE,
            "This metric records the results of all healthcheck.",
            *("name", "type", "status"),
        )
        registry.register(made)

    def observe(self, name: str, endpoint: str, *, healthy: bool) -> None:
        self._last.set(1.0 if healthy else 0.0, name, endpoint)
        self._total.inc(name, endpoint, "success" if healthy else "error")

    def reset(self) -> None:
        self._instruments.reset()


class HealthEndpoint:
    """One of healthz, livez, readyz: all checks together at its root, each one at a path of its own."""

    def __init__(self, name: str, checks: Sequence[HealthCheck], slis: HealthSlis) -> None:
        self._name = name
        self._checks = tuple(checks) or (PING,)
        self._slis = slis

    def routes(self) -> list[Route]:
        single = [Route(f"/{self._name}/{check.name}", _answer_one(check)) for check in self._checks]
        return [Route(f"/{self._name}", self._answer_all), *single]

    async def _answer_all(self, request: Request) -> Response:
        report = examine(self._name, self._checks, request.query_params.getlist("exclude"))
        for name in (*report.passed, *report.failures):
            self._slis.observe(name, self._name, healthy=name not in report.failures)
        if report.failures:
            log.info("Health check failed", v=2, endpoint=self._name, failures=report.failures)
        text = report.text(verbose="verbose" in request.query_params)
        return PlainTextResponse(text, 500 if report.failures else 200, headers=NOSNIFF)


def _answer_one(check: HealthCheck) -> Callable[[Request], Awaitable[Response]]:
    async def answer(_request: Request) -> Response:
        text, status = check.page()
        return PlainTextResponse(text, status, headers=NOSNIFF if status != 200 else None)

    return answer
