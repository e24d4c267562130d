"""Health pages of the API server, as kube-apiserver words them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.apiserver.storage import Store

if TYPE_CHECKING:
    from tests.unit.cluster.apiserver.http.conftest import Requester


@pytest.mark.parametrize("endpoint", ["healthz", "livez", "readyz"])
@pytest.mark.parametrize(
    ("rest", "broken", "code", "text"),
    [
        pytest.param("", False, 200, "ok", id="fine"),
        pytest.param("?verbose", False, 200, "[+]ping ok\n[+]etcd ok\n{} check passed\n", id="verbose"),
        pytest.param(
            "?verbose&exclude=etcd",
            True,
            200,
            "[+]ping ok\n[+]etcd excluded: ok\n{} check passed\n",
            id="an excluded check does not count",
        ),
        pytest.param(
            "",
            True,
            500,
            "[+]ping ok\n[-]etcd failed: reason withheld\n{} check failed\n",
            id="storage that fails, without its reason",
        ),
        pytest.param("/ping", True, 200, "ok", id="one check"),
        pytest.param(
            "/etcd",
            True,
            500,
            "internal server error: the data directory cannot be written\n",
            id="the reason is on the check's own page",
        ),
        pytest.param("/log", False, 404, "404 page not found\n", id="a check that is not there"),
    ],
)
async def test_a_health_page(
    request_app: Requester,
    api: Api,
    monkeypatch: pytest.MonkeyPatch,
    endpoint: str,
    rest: str,
    broken: bool,
    code: int,
    text: str,
) -> None:
    """For everybody: no token is asked for."""
    monkeypatch.setattr(Store, "failed", broken)
    answer = await request_app("GET", f"/{endpoint}{rest}", token="")
    assert (answer.code, answer.body.decode()) == (code, text.format(endpoint))
