"""Bodies that were made to hurt: each is answered quickly, briefly, and without a crash."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from tests.unit.cluster.apiserver.http.conftest import Exchange, Requester

from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.apiserver.http.bodies import LIMIT

PODS = "/api/v1/namespaces/default/pods"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
STRICT = "?fieldValidation=Strict"
MOST_SECONDS = 1.0
MOST_BYTES = 3 << 20


def pod(metadata: dict[str, Any] | None = None, **spec: Any) -> bytes:
    value = {
        "metadata": {"name": "p", **(metadata or {})},
        "spec": {"containers": [{"name": "c", "image": "i"}], **spec},
    }
    return json.dumps(value, separators=(",", ":")).encode()


async def answered(
    request_app: Requester, target: str, body: bytes, content_type: str = "application/json"
) -> Exchange:
    """The answer, which must cost less than a second of CPU time and must not be larger than a request may be."""
    assert len(body) <= LIMIT
    started = time.process_time()
    answer = await request_app("POST", target, body, headers={"Content-Type": content_type})
    assert time.process_time() - started < MOST_SECONDS
    assert len(answer.body) < MOST_BYTES
    return answer


def owners(count: int) -> list[dict[str, Any]]:
    kind = {"apiVersion": "v1", "kind": "Pod", "controller": True}
    return [kind | {"name": f"o{number}", "uid": str(number)} for number in range(count)]


SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
MANY_KEYS = json.dumps({f"k{number}": "" for number in range(60_000)}).encode()


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        pytest.param(pod({"ownerReferences": owners(20_000)}), 422, b"Only one reference", id="20,000 controllers"),
        pytest.param(
            pod(topologySpreadConstraints=[SPREAD] * 2000), 422, b"Duplicate value", id="2,000 equal spread constraints"
        ),
        pytest.param(
            b'{"data":{"k0":"",' + MANY_KEYS[1:] + b"}", 400, b'duplicate field \\"k0\\"', id="60,000 keys, one twice"
        ),
        pytest.param(
            pod(tolerations=[{"key": f"-{number}"} for number in range(20_000)]), 422, b"more]", id="20,000 bad keys"
        ),
        pytest.param(b'{"metadata":{"name":"a\\ud800"}}', 400, b"", id="half a character"),
        pytest.param(b'{"a":' * 4000 + b"1" + b"}" * 4000, 400, b"depth", id="4,000 levels"),
    ],
)
async def test_a_hostile_object_is_refused(request_app: Requester, body: bytes, code: int, words: bytes) -> None:
    """It took minutes and gigabytes, or crashed."""
    answer = await answered(request_app, PODS + STRICT, body)
    assert answer.code == code
    assert words in answer.body


def doubled(last: int, line: str) -> bytes:
    return "\n".join(["a0: &a0 {k: v}", *(line.format(number, number - 1) for number in range(1, last))]).encode()


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(doubled(30, "a{0}: &a{0} {{<<: [*a{1}, *a{1}]}}"), id="merge keys that double"),
        pytest.param(
            doubled(4, "a{0}: &a{0} {{<<: [" + ", ".join(["*a{1}"] * 1000) + "]}}"), id="merge keys, a thousand each"
        ),
        pytest.param(doubled(40, "a{0}: &a{0} [*a{1}, *a{1}]"), id="aliases that double"),
    ],
)
@pytest.mark.parametrize("content_type", ["application/yaml", "application/apply-patch+yaml"])
async def test_yaml_does_not_explode(request_app: Requester, body: bytes, content_type: str) -> None:
    """A few lines that stand for billions of values (upstream: "document contains excessive aliasing")."""
    answer = await answered(request_app, PODS, body, content_type)
    assert answer.code == 400
    assert b"excessive aliasing" in answer.body


async def test_a_container_without_a_name_meets_a_limit_range(request_app: Requester, api: Api) -> None:
    """The range's defaults are noted by the container's name, before anybody has checked that there is one."""
    limits = {"metadata": {"name": "l"}, "spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}}]}}
    api.create(api.catalog.named("limitranges"), limits, "default")
    answer = await answered(request_app, PODS, pod(containers=[{"image": "i"}]))
    assert (answer.code, b"spec.containers[0].name: Required value" in answer.body) == (422, True)


async def test_unknown_fields_are_named_up_to_a_hundred(request_app: Requester) -> None:
    """As upstream's strict decoder does."""
    body = json.dumps({"metadata": {"name": "m"}} | {f"x{number}": 1 for number in range(5000)}).encode()
    answer = await answered(request_app, CONFIG_MAPS + STRICT, body)
    assert answer.code == 400
    assert answer.body.count(b"unknown field") == 100


async def test_warnings_are_short_and_stay_in_their_header(request_app: Requester) -> None:
    """A field's name may hold a line break, and there may be thousands of unknown ones."""
    body = json.dumps({"metadata": {"name": "m"}, "a\r\nX-Evil: 1": 1} | {"x" * 200 + str(n): 1 for n in range(500)})
    answer = await answered(request_app, CONFIG_MAPS + "?fieldValidation=Warn", body.encode())
    warnings = [value for name, value in answer.sent[0]["headers"] if name == b"warning"]
    assert answer.code == 201
    assert not any(b"\n" in value or b"\r" in value for value in warnings)
    assert 0 < sum(map(len, warnings)) < 8192
