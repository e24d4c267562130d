"""All pages together, behind access control."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from kubesched.clock import Clock
from kubesched.objects import Pod
from kubesched.serving.access_control import AccessControl
from kubesched.serving.authentication import Authenticator
from kubesched.serving.authorization import Authorizer
from kubesched.serving.debug import DebugPages, SchedulerLoop
from kubesched.serving.health import NOSNIFF, HealthEndpoint, HealthSlis
from kubesched.serving.metric_pages import metrics_route, pod_resources_route
from kubesched.serving.zpages import configz_route, flagz_route, statusz_route
from kubesched.telemetry.health import HealthCheck
from kubesched.telemetry.logging import Logger
from kubesched.telemetry.version import KUBERNETES_MINOR


@dataclass(frozen=True, kw_only=True)
class Pages:
    """What the pages show. Callbacks are asked at the time of each request."""

    registry: CollectorRegistry
    reset_metrics: Callable[[], None]
    config: Callable[[], Mapping[str, Any]]
    pods: Callable[[], Sequence[Pod]]
    is_leader: Callable[[], bool]
    scheduler: SchedulerLoop | None = None
    """Where the scheduler runs, if not on the loop that serves."""
    flags: Mapping[str, str] = field(default_factory=dict)
    healthz: Sequence[HealthCheck] = ()
    livez: Sequence[HealthCheck] = ()
    readyz: Sequence[HealthCheck] = ()
    profiling: bool = True
    flagz: bool = True
    """Feature gate ComponentFlagz."""
    statusz: bool = True
    """Feature gate ComponentStatusz."""
    cbor: bool = False
    """Feature gate CBORServingAndStorage."""
    emulated_version: str = KUBERNETES_MINOR
    more_routes: Sequence[BaseRoute] = ()
    """Pages of other packages."""


def routes_of(pages: Pages, clock: Clock, log: Logger) -> list[BaseRoute]:
    """Every page, without access control."""
    sli_registry = CollectorRegistry()
    slis = HealthSlis(sli_registry)
    routes: list[BaseRoute] = [
        *HealthEndpoint("healthz", pages.healthz, slis).routes(),
        *HealthEndpoint("livez", pages.livez, slis).routes(),
        *HealthEndpoint("readyz", pages.readyz, slis).routes(),
        configz_route(pages.config),
        metrics_route("/metrics", pages.registry, pages.reset_metrics),
        pod_resources_route(pages.pods, pages.is_leader),
        metrics_route("/metrics/slis", sli_registry, slis.reset),
        *pages.more_routes,
    ]
    if pages.flagz:
        routes.append(flagz_route(pages.flags, cbor=pages.cbor))
    if pages.statusz:
        paths = _top_folders(routes)
        routes.append(statusz_route(clock, paths, emulated_version=pages.emulated_version, cbor=pages.cbor))
    if pages.profiling:
        routes += DebugPages(clock, log, pages.scheduler).routes()
    return routes


def build_app(
    pages: Pages, *, authenticator: Authenticator, authorizer: Authorizer, clock: Clock, log: Logger
) -> AccessControl:
    """The ASGI application that `server` runs."""
    app = Starlette(routes=routes_of(pages, clock, log), exception_handlers={404: _not_found})
    app.router.redirect_slashes = False  # /metrics/ is no page; a redirect would lead where the Host header says
    return AccessControl(app, authenticator=authenticator, authorizer=authorizer)


def _top_folders(routes: Sequence[BaseRoute]) -> list[str]:
    return sorted({"/" + route.path.split("/")[1] for route in routes if isinstance(route, Route)})


async def _not_found(_request: Request, _error: Exception) -> Response:
    return PlainTextResponse("404 page not found\n", 404, headers=NOSNIFF)
