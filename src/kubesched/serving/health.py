"""/healthz, /livez and /readyz, with the texts of Kubernetes components."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from kubesched.telemetry.instruments import STABLE, InstrumentSet
from kubesched.telemetry.logging import log

NOSNIFF: Final = {"X-Content-Type-Options": "nosniff"}


class HealthCheck(NamedTuple):
    """A named check; `check` returns why it fails, or None."""

    name: str
    check: Callable[[], str | None]


PING: Final = HealthCheck("ping", lambda: None)


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
        excluded = request.query_params.getlist("exclude")
        lines, failures = self._run(frozenset(excluded))
        unknown = sorted(set(excluded) - {check.name for check in self._checks})
        if unknown:
            names = ",".join(map(json.dumps, unknown))
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
        if failures:
            log.info("Health check failed", v=2, endpoint=self._name, failures=failures)
            text = "\n".join([*lines, f"{self._name} check failed", ""])
            return PlainTextResponse(text, 500, headers=NOSNIFF)
        if "verbose" not in request.query_params:
            return PlainTextResponse("ok", headers=NOSNIFF)
        return PlainTextResponse("\n".join([*lines, f"{self._name} check passed", ""]), headers=NOSNIFF)

    def _run(self, excluded: frozenset[str]) -> tuple[list[str], dict[str, str]]:
        """One line per check, and the reasons of those that failed: for the log only, since the endpoint is public."""
        lines: list[str] = []
        failures: dict[str, str] = {}
        for check in self._checks:
            if check.name in excluded:
                lines.append(f"[+]{check.name} excluded: ok")
                continue
            reason = check.check()
            self._slis.observe(check.name, self._name, healthy=reason is None)
            if reason is None:
                lines.append(f"[+]{check.name} ok")
            else:
                lines.append(f"[-]{check.name} failed: reason withheld")
                failures[check.name] = reason
        return lines, failures


def _answer_one(check: HealthCheck) -> Callable[[Request], Response]:
    def answer(_request: Request) -> Response:
        reason = check.check()
        if reason is None:
            return PlainTextResponse("ok")
        return PlainTextResponse(f"internal server error: {reason}\n", 500, headers=NOSNIFF)

    return answer
