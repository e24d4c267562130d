"""All pages together: what each shows, and who may see it."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
import yaml
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from kubesched.clock import VirtualClock
from kubesched.serving.access_control import AccessControl
from kubesched.serving.app import Pages, build_app, routes_of
from kubesched.serving.authentication import Authenticator
from kubesched.serving.authorization import AuthorizationOptions, Authorizer
from kubesched.serving.trust import ClientTrust
from kubesched.telemetry.health import HealthCheck
from kubesched.telemetry.logging import Logger
from kubesched.telemetry.metrics import SchedulerMetrics

if TYPE_CHECKING:
    from tests.unit.serving.conftest import Caller, FakeReviews


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def log() -> Logger:
    return Logger()


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def metrics(registry: CollectorRegistry) -> SchedulerMetrics:
    return SchedulerMetrics(registry)


@pytest.fixture
def pages(registry: CollectorRegistry, metrics: SchedulerMetrics) -> Pages:
    return Pages(
        registry=registry,
        reset_metrics=metrics.reset,
        config=lambda: {"kind": "KubeSchedulerConfiguration", "parallelism": 16},
        pods=list,
        is_leader=lambda: True,
        flags={"v": "2", "config": "/etc/s.yaml"},
        readyz=[HealthCheck("shutdown", lambda: None)],
        more_routes=[Route("/explain", lambda _request: PlainTextResponse("because"))],
    )


@pytest.fixture
def open_app(pages: Pages, clock: VirtualClock, log: Logger) -> Starlette:
    """The pages without access control."""
    return Starlette(routes=routes_of(pages, clock, log))


@pytest.fixture
def guarded_app(pages: Pages, clock: VirtualClock, log: Logger, reviews: FakeReviews) -> AccessControl:
    return build_app(
        pages,
        authenticator=Authenticator(
            trust=ClientTrust(), reviews=reviews, token_cache_ttl=timedelta(seconds=10), clock=clock
        ),
        authorizer=Authorizer(AuthorizationOptions(), reviews=reviews, clock=clock),
        clock=clock,
        log=log,
    )


async def test_metrics_can_be_scraped_and_reset(call: Caller, open_app: Starlette, metrics: SchedulerMetrics) -> None:
    """The content type is the text format's; DELETE starts counting again."""
    metrics.schedule_attempts.inc("scheduled", "default-scheduler")
    answer = await call(open_app, "/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"
    families = {family.name: family for family in text_string_to_metric_families(answer.body)}
    assert families["scheduler_schedule_attempts"].samples[0].value == 1
    assert (await call(open_app, "/metrics", method="DELETE")).body == "metrics reset\n"
    answer = await call(open_app, "/metrics")
    families = {family.name: family for family in text_string_to_metric_families(answer.body)}
    assert families["scheduler_schedule_attempts"].samples[0].value == 0


async def test_metrics_are_compressed_for_who_likes_it(call: Caller, open_app: Starlette) -> None:
    """Prometheus does."""
    plain = await call(open_app, "/metrics")
    packed = await call(open_app, "/metrics", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.content).decode() == plain.body
    assert len(packed.content) < len(plain.body) / 3


async def test_health_results_show_among_the_slis(call: Caller, open_app: Starlette) -> None:
    """Each health endpoint counts under its own type."""
    await call(open_app, "/readyz")
    answer = await call(open_app, "/metrics/slis")
    assert 'kubernetes_healthcheck{name="shutdown",type="readyz"} 1.0' in answer.body


async def test_configz_shows_the_configuration(call: Caller, open_app: Starlette) -> None:
    """Under the key that tools look for."""
    answer = await call(open_app, "/configz")
    assert json.loads(answer.body) == {"componentconfig": {"kind": "KubeSchedulerConfiguration", "parallelism": 16}}


async def test_flagz_and_statusz_in_text(call: Caller, open_app: Starlette, clock: VirtualClock) -> None:
    """For people."""
    clock.tick(3725)
    flagz = (await call(open_app, "/flagz")).body
    assert flagz.startswith("\nkube-scheduler flagz\nWarning: This endpoint is not meant to be machine parseable")
    assert flagz.endswith("\nconfig=/etc/s.yaml\nv=2\n")
    statusz = (await call(open_app, "/statusz")).body
    assert "Started: Tue Nov 14 22:13:20 UTC 2023\nUp: 1 hr 02 min 05 sec\n" in statusz
    assert "Emulation version: 1.37\nPaths: /configz /explain /flagz /healthz /livez /metrics /readyz\n" in statusz


@pytest.mark.parametrize(
    ("accept", "status", "api_version"),
    [
        pytest.param("application/json;as=Statusz;v=v1beta1;g=config.k8s.io", 200, "config.k8s.io/v1beta1", id="beta"),
        pytest.param("application/json;as=Statusz;v=v1alpha1;g=config.k8s.io", 200, "config.k8s.io/v1alpha1", id="old"),
        pytest.param("application/json;as=Flagz;v=v1beta1;g=config.k8s.io", 406, "", id="another kind"),
        pytest.param("application/yaml;as=Statusz;v=v1beta1;g=config.k8s.io", 200, "config.k8s.io/v1beta1", id="YAML"),
        pytest.param("application/json", 406, "", id="JSON without a kind"),
        pytest.param("text/html", 406, "", id="what is not served"),
    ],
)
async def test_statusz_as_an_object(
    call: Caller, open_app: Starlette, accept: str, status: int, api_version: str
) -> None:
    """For programs, which name kind and version."""
    answer = await call(open_app, "/statusz", headers={"Accept": accept})
    assert answer.status == status
    body = yaml.safe_load(answer.body)
    if status == 406:
        assert (body["kind"], body["reason"]) == ("Status", "NotAcceptable")
    else:
        assert answer.headers["content-type"].startswith(accept.partition(";")[0])
        assert (body["kind"], body["apiVersion"], body["emulationVersion"]) == ("Statusz", api_version, "1.37")
        assert ("warning" in answer.headers) is ("alpha" in api_version)


@pytest.mark.parametrize(("gate", "status"), [(True, 200), (False, 406)])
async def test_flagz_in_cbor(
    call: Caller, pages: Pages, clock: VirtualClock, log: Logger, gate: bool, status: int
) -> None:
    """With the gate CBORServingAndStorage."""
    app = Starlette(routes=routes_of(replace(pages, cbor=gate), clock, log))
    asked = "application/cbor;as=Flagz;v=v1beta1;g=config.k8s.io"
    answer = await call(app, "/flagz", headers={"Accept": asked})
    assert answer.status == status
    if gate:
        assert answer.headers["content-type"] == "application/cbor;g=config.k8s.io;v=v1beta1;as=Flagz"
        assert answer.content.startswith(b"\xd9\xd9\xf7\xa4DkindEFlagzEflags\xa2AvA2")


@pytest.mark.parametrize("path", ["/metrics/", "/healthz/", "/nosuch"])
async def test_what_is_no_page(
    call: Caller, pages: Pages, clock: VirtualClock, log: Logger, reviews: FakeReviews, path: str
) -> None:
    """Nor is anybody led to one by a redirect."""
    anybody = Authenticator(trust=ClientTrust(), reviews=reviews, token_cache_ttl=timedelta(), clock=clock)
    anything = Authorizer(AuthorizationOptions(always_allow_paths=("*",)), reviews=reviews, clock=clock)
    app = build_app(pages, authenticator=anybody, authorizer=anything, clock=clock, log=log)
    answer = await call(app, path)
    assert (answer.status, answer.body) == (404, "404 page not found\n")


async def test_a_browser_gets_text(call: Caller, open_app: Starlette) -> None:
    """It asks for pages, and takes anything."""
    accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    answer = await call(open_app, "/flagz", headers={"Accept": accept})
    assert (answer.status, answer.headers["content-type"]) == (200, "text/plain; charset=utf-8")


@pytest.mark.parametrize(
    ("method", "body", "status", "text", "verbosity"),
    [
        pytest.param("PUT", b"5", 200, "successfully set klog.logging.verbosity to 5\n", 5, id="a level"),
        pytest.param("PUT", b"loud", 400, 'strconv.ParseUint: parsing "loud": invalid syntax\n', 0, id="no number"),
        pytest.param("PUT", b"99999999999", 400, "log verbosity must be", 0, id="too large"),
        pytest.param("GET", b"", 406, "unsupported http method\n", 0, id="another method"),
    ],
)
async def test_the_log_level_can_be_put(
    call: Caller, open_app: Starlette, log: Logger, method: str, body: bytes, status: int, text: str, verbosity: int
) -> None:
    """As with kube-scheduler: `curl -X PUT --data 5 …/debug/flags/v`."""
    answer = await call(open_app, "/debug/flags/v", method=method, body=body)
    assert (answer.status, log.verbosity) == (status, verbosity)
    assert answer.body.startswith(text)


async def test_stacks_show_what_every_task_does(call: Caller, open_app: Starlette) -> None:
    """The first thing to look at when something hangs."""

    async def waits_for_godot() -> None:
        await asyncio.Event().wait()

    async def binds() -> None:
        await waits_for_godot()

    task = asyncio.create_task(binds(), name="binding ns/web")
    await asyncio.sleep(0)
    answer = await call(open_app, "/debug/pprof/goroutine")
    task.cancel()
    assert re.search(r"Task binding ns/web:\n.*binds\n.*\n.*waits_for_godot\n", answer.body)
    assert "Thread MainThread:" in answer.body


@pytest.mark.parametrize(
    ("page", "shows"),
    [
        pytest.param("profile", "function calls", id="where the time goes"),
        pytest.param("heap", "bytes allocated in 2 s and still there", id="where the memory goes"),
    ],
)
async def test_a_measurement_lasts_as_asked_and_runs_alone(
    call: Caller, open_app: Starlette, clock: VirtualClock, page: str, shows: str
) -> None:
    """A second one at the same time is refused."""
    first = asyncio.ensure_future(call(open_app, f"/debug/pprof/{page}?seconds=2"))
    for _ in range(10):
        await asyncio.sleep(0)
    assert (await call(open_app, f"/debug/pprof/{page}")).status == 500
    await clock.advance(2)
    assert shows in (await first).body


async def test_the_rest_of_pprof(call: Caller, open_app: Starlette) -> None:
    """An index, the command line, and a plain refusal of what Python does not have."""
    assert (await call(open_app, "/debug/pprof")).headers["location"] == "/debug/pprof/"
    assert "goroutine" in (await call(open_app, "/debug/pprof/")).body
    assert (await call(open_app, "/debug/pprof/cmdline")).body
    assert (await call(open_app, "/debug/pprof/mutex")).body == "Unknown profile\n"
    assert "full flags configurable" in (await call(open_app, "/debug/flags/")).body


async def test_without_profiling_there_are_no_debug_pages(call: Caller, log: Logger, clock: VirtualClock) -> None:
    """enableProfiling: false."""
    registry = CollectorRegistry()
    pages = Pages(
        registry=registry,
        reset_metrics=SchedulerMetrics(registry).reset,
        config=dict,
        pods=list,
        is_leader=lambda: False,
        profiling=False,
        flagz=False,
        statusz=False,
    )
    app = Starlette(routes=routes_of(pages, clock, log))
    for path in ("/debug/pprof/", "/debug/flags", "/flagz", "/statusz"):
        assert (await call(app, path)).status == 404


@pytest.mark.parametrize(
    ("path", "method", "token", "status", "message"),
    [
        pytest.param("/livez", "GET", "", 200, None, id="health is for everybody"),
        pytest.param("/livez", "GET", "bad", 401, "Unauthorized", id="but not with a wrong token"),
        pytest.param("/metrics", "GET", "good", 200, None, id="who may"),
        pytest.param(
            "/metrics",
            "DELETE",
            "good",
            403,
            'forbidden: User "ann" cannot delete path "/metrics": no rule',
            id="not everything",
        ),
        pytest.param(
            "/livez/ping",
            "GET",
            "",
            403,
            'forbidden: User "system:anonymous" cannot get path "/livez/ping": no rule',
            id="the details of health are not for everybody",
        ),
    ],
)
async def test_access(
    call: Caller, guarded_app: AccessControl, path: str, method: str, token: str, status: int, message: str | None
) -> None:
    """Refusals are Status objects, as kubectl and people know them."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    answer = await call(guarded_app, path, method=method, headers=headers)
    assert answer.status == status
    assert answer.headers["cache-control"] == "no-cache, private"
    if message is not None:
        body = json.loads(answer.body)
        assert (body["kind"], body["code"], body["message"]) == ("Status", status, message)


async def test_an_unreachable_api_server_is_an_internal_error(
    call: Caller, guarded_app: AccessControl, reviews: FakeReviews
) -> None:
    """Not a refusal: the caller may be allowed."""
    reviews.failing = True
    answer = await call(guarded_app, "/metrics")
    assert (answer.status, answer.body.splitlines()[0]) == (
        500,
        'Internal Server Error: "/metrics": 503 ServiceUnavailable: try later',
    )


async def test_an_unknown_page_reads_like_gos(call: Caller, guarded_app: AccessControl, reviews: FakeReviews) -> None:
    """After access control, so that strangers learn nothing."""
    reviews.allowed.add(("ann", "get", "/nothing"))
    answer = await call(guarded_app, "/nothing", headers={"Authorization": "Bearer good"})
    assert (answer.status, answer.body) == (404, "404 page not found\n")
