"""What a pod counts for, as metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette

from kubesched.objects import Pod, convert
from kubesched.serving.metric_pages import pod_resources_route
from kubesched.serving.pod_resources import Kind, pod_total

if TYPE_CHECKING:
    from tests.unit.serving.conftest import Caller


def pod(**spec: Any) -> Pod:
    phase = spec.pop("phase", "Running")
    name = spec.pop("name", "web")
    manifest = {"metadata": {"namespace": "ns", "name": name}, "spec": spec, "status": {"phase": phase}}
    return convert(manifest, Pod)


def container(cpu: str = "", *, limit: str = "", restart: str = "") -> dict[str, Any]:
    resources = {"requests": {"cpu": cpu} if cpu else {}, "limits": {"cpu": limit} if limit else {}}
    return {"resources": resources} | ({"restartPolicy": restart} if restart else {})


@pytest.mark.parametrize(
    ("spec", "kind", "cores"),
    [
        pytest.param({"containers": [container("1"), container("500m")]}, "requests", 1.5, id="containers add up"),
        pytest.param(
            {"containers": [container("1")], "initContainers": [container("3"), container("2")]},
            "requests",
            3,
            id="the largest init container counts if it needs more",
        ),
        pytest.param(
            {"containers": [container("1")], "initContainers": [container("1", restart="Always"), container("2")]},
            "requests",
            3,
            id="an init container runs beside the sidecars before it",
        ),
        pytest.param(
            {"containers": [container("1")], "initContainers": [container("1", restart="Always")]},
            "requests",
            2,
            id="a sidecar runs beside the containers",
        ),
        pytest.param(
            {"containers": [container("1")], "resources": {"requests": {"cpu": "4"}}},
            "requests",
            4,
            id="pod-level requests replace the sum",
        ),
        pytest.param({"containers": [container("1")], "overhead": {"cpu": "1"}}, "requests", 2, id="overhead is added"),
        pytest.param(
            {"containers": [container("1", limit="2")], "overhead": {"cpu": "1"}}, "limits", 3, id="to limits too"
        ),
        pytest.param({"containers": [container("1")], "overhead": {"cpu": "1"}}, "limits", 0, id="not without limit"),
    ],
)
def test_the_total_of_a_pod(spec: dict[str, Any], kind: Kind, cores: float) -> None:
    """component-helpers' rules."""
    assert pod_total(pod(**spec), kind).get("cpu", 0) / 10**9 == cores


async def test_the_page_lists_live_pods_of_a_leader(call: Caller) -> None:
    """Finished pods and zero amounts are left out; a standby shows nothing."""
    pods = [
        pod(
            nodeName="n1",
            schedulerName="default-scheduler",
            priority=5,
            containers=[{"resources": {"requests": {"cpu": "100m", "memory": "1Ki", "x/gpu": "0"}}}],
        ),
        pod(name="done", nodeName="n1", phase="Succeeded", containers=[container("1")]),
        *(pod(name=f"p{number}", containers=[container("1")]) for number in range(600)),
    ]
    leading = True
    app = Starlette(routes=[pod_resources_route(lambda: pods, lambda: leading)])
    text = (await call(app, "/metrics/resources")).body
    family = next(iter(text_string_to_metric_families(text)))
    assert family.name == "kube_pod_resource_request"
    assert len(family.samples) == 602
    assert text.count("# TYPE kube_pod_resource_request gauge") == 1
    first = {(sample.labels["resource"], sample.labels["unit"]): sample.value for sample in family.samples[:2]}
    assert first == {("cpu", "cores"): 0.1, ("memory", "bytes"): 1024.0}
    assert family.samples[0].labels == {
        "namespace": "ns",
        "pod": "web",
        "node": "n1",
        "scheduler": "default-scheduler",
        "priority": "5",
        "resource": "cpu",
        "unit": "cores",
    }
    leading = False
    assert (await call(app, "/metrics/resources")).body == ""
