"""Health pages have the texts that Kubernetes' tools expect."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from prometheus_client import CollectorRegistry
from starlette.applications import Starlette

from kubesched.serving.health import HealthEndpoint, HealthSlis
from kubesched.telemetry.health import HealthCheck

if TYPE_CHECKING:
    from tests.unit.serving.conftest import Caller

FINE = HealthCheck("shutdown", lambda: None)
BROKEN = HealthCheck("sched-handler-sync", lambda: "handlers are not fully synchronized")


@pytest.mark.parametrize(
    ("checks", "path", "status", "text"),
    [
        pytest.param([], "/readyz", 200, "ok", id="no checks: ping"),
        pytest.param([], "/readyz/ping", 200, "ok", id="ping has a page"),
        pytest.param([], "/readyz?verbose", 200, "[+]ping ok\nreadyz check passed\n", id="verbose"),
        pytest.param([FINE], "/readyz?verbose=1", 200, "[+]shutdown ok\nreadyz check passed\n", id="any verbose value"),
        pytest.param(
            [FINE, BROKEN],
            "/readyz",
            500,
            "[+]shutdown ok\n[-]sched-handler-sync failed: reason withheld\nreadyz check failed\n",
            id="a failure is always verbose, without its reason",
        ),
        pytest.param(
            [FINE, BROKEN],
            "/readyz?verbose&exclude=sched-handler-sync",
            200,
            "[+]shutdown ok\n[+]sched-handler-sync excluded: ok\nreadyz check passed\n",
            id="an excluded check does not count",
        ),
        pytest.param(
            [FINE],
            "/readyz?verbose&exclude=x&exclude=a",
            200,
            "[+]shutdown ok\nwarn: some health checks cannot be excluded: no matches for "
            '"a","x"\nreadyz check passed\n',
            id="unknown exclusions are named",
        ),
        pytest.param(
            [BROKEN],
            "/readyz/sched-handler-sync",
            500,
            "internal server error: handlers are not fully synchronized\n",
            id="a check's own page gives the reason",
        ),
        pytest.param([FINE], "/readyz/ping", 404, "Not Found", id="a check that is not there"),
    ],
)
async def test_a_health_page(call: Caller, checks: list[HealthCheck], path: str, status: int, text: str) -> None:
    """Byte for byte as k8s.io/apiserver's healthz."""
    endpoint = HealthEndpoint("readyz", checks, HealthSlis(CollectorRegistry()))
    answer = await call(Starlette(routes=endpoint.routes()), path)
    assert (answer.status, answer.body) == (status, text)


async def test_results_are_counted_as_service_level_indicators(call: Caller) -> None:
    """Only checks that ran; not the pages of single checks."""
    registry = CollectorRegistry()
    app = Starlette(routes=HealthEndpoint("readyz", [FINE, BROKEN], HealthSlis(registry)).routes())
    for path in ("/readyz", "/readyz?exclude=sched-handler-sync", "/readyz/shutdown"):
        await call(app, path)

    def value(metric: str, **labels: str) -> float | None:
        return registry.get_sample_value(metric, {"type": "readyz", **labels})

    assert value("kubernetes_healthcheck", name="sched-handler-sync") == 0
    assert value("kubernetes_healthchecks_total", name="shutdown", status="success") == 2
    assert value("kubernetes_healthchecks_total", name="sched-handler-sync", status="error") == 1
