"""What simulated nodes and pods use, and the metrics API that shows it."""

from __future__ import annotations

import pytest
from tests.unit.cluster.conftest import Rig

from kubesched.cluster.apiserver.options import ListOptions
from kubesched.cluster.apiserver.selectors import parse_label_selector
from kubesched.cluster.usage import USAGE, parse_usage
from kubesched.errors import RequestRefusedError
from kubesched.objects.base import Json

POD = """
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default, labels: {app: web}, annotations: {ANNOTATIONS}}
spec:
  initContainers:
  - {name: once, image: a, resources: {requests: {cpu: 8}}}
  - {name: proxy, image: a, restartPolicy: Always, resources: {requests: {cpu: 100m, memory: 64Mi}}}
  containers:
  - {name: main, image: a, resources: {requests: {cpu: 500m}, limits: {cpu: 2, memory: 256Mi}}}
"""


@pytest.mark.parametrize(
    ("text", "now", "amount", "share"),
    [
        pytest.param("cpu=250m", 7, 0.25, 0, id="an amount"),
        pytest.param("memory=1Gi,cpu=2", 7, 2, 0, id="several resources"),
        pytest.param("cpu=60%", 7, 0, 0.6, id="a share"),
        pytest.param("cpu=20%..80%/10m", 0, 0, 0.2, id="a curve begins low"),
        pytest.param("cpu=20%..80%/10m", 300, 0, 0.8, id="and is high after half of its period"),
        pytest.param("cpu=20%..80%/10m", 600, 0, 0.2, id="and low again after all of it"),
        pytest.param("cpu=1..50%/4s", 1, 0.5, 0.25, id="from an amount to a share"),
    ],
)
def test_forms_of_usage(text: str, now: float, amount: float, share: float) -> None:
    """Each at one moment."""
    level = parse_usage(text)["cpu"].at(now)
    assert (level.amount, level.share) == pytest.approx((amount, share))


@pytest.mark.parametrize(
    "text",
    ["cpu", "gpu=1", "cpu=x", "cpu=-1", "cpu=-5%", "cpu=nan%", "cpu=1..2", "cpu=1/5m", "cpu=1..2/0s", "cpu=1..2/x"],
)
def test_what_is_no_usage(text: str) -> None:
    """It raises an error that names the annotation's part or value."""
    with pytest.raises(ValueError, match=r".+"):
        parse_usage(text)


@pytest.mark.parametrize(
    ("annotation", "main", "proxy"),
    [
        pytest.param("", ("500000000n", "262144Ki"), ("100000000n", "65536Ki"), id="as requested, or as limited"),
        pytest.param(
            "cpu=3", ("1500000000n", "262144Ki"), ("1500000000n", "65536Ki"), id="an amount is shared equally"
        ),
        pytest.param("cpu=50%,memory=0", ("250000000n", "0Ki"), ("50000000n", "0Ki"), id="a share of each request"),
        pytest.param("nonsense", ("500000000n", "262144Ki"), ("100000000n", "65536Ki"), id="unreadable: as requested"),
    ],
)
async def test_a_pod(rig: Rig, annotation: str, main: tuple[str, str], proxy: tuple[str, str]) -> None:
    """Its containers and sidecars, from when it runs; init containers that ended use nothing."""
    rig.apply(POD.replace("ANNOTATIONS", f"{USAGE}: '{annotation}'"))
    with pytest.raises(RequestRefusedError, match="404"):
        rig.get("pods.metrics.k8s.io", "web")
    await rig.advance(5)
    found = rig.get("pods.metrics.k8s.io", "web")
    usages = {item["name"]: (item["usage"]["cpu"], item["usage"]["memory"]) for item in found["containers"]}
    assert usages == {"main": main, "proxy": proxy}


async def test_a_node_uses_what_its_pods_do_and_its_own(rig: Rig) -> None:
    """A node that is down is not measured, nor are its pods."""
    rig.apply(POD.replace("ANNOTATIONS", ""))
    await rig.advance(5)
    name = rig.get("pods", "web")["spec"]["nodeName"]
    annotate = {USAGE: "cpu=10%,memory=1Gi"}
    rig.change("nodes", name, lambda node: node["metadata"].update(annotations=annotate))
    offered = rig.get("nodes", name)["status"]["allocatable"]["cpu"]
    usage = rig.get("nodes.metrics.k8s.io", name)["usage"]
    assert usage == {"cpu": f"{600_000_000 + int(offered) * 100_000_000}n", "memory": f"{320 * 1024 + 1024**2}Ki"}
    assert name in rig.names("nodes.metrics.k8s.io", "")
    rig.change("nodes", name, lambda node: node["metadata"].update(annotations={"kubesched.io/down": "true"}))
    await rig.advance(1)
    assert set(rig.names("nodes", "")) - set(rig.names("nodes.metrics.k8s.io", "")) == {name}
    assert rig.items("pods.metrics.k8s.io") == []


async def test_lists_are_selected_by_labels_and_namespace(rig: Rig) -> None:
    """As `kubectl top pods -l app=web` asks."""
    rig.apply(POD.replace("ANNOTATIONS", ""))
    await rig.advance(5)
    metrics = rig.api.catalog.named("pods.metrics.k8s.io")

    def found(namespace: str, selector: str) -> list[Json]:
        options = ListOptions(labels=parse_label_selector(selector))
        return [entry.decode() for entry in rig.api.list(metrics, namespace, options).entries]

    assert [item["metadata"]["name"] for item in found("default", "app=web")] == ["web"]
    assert found("default", "app=other") == []
    assert found("kube-system", "app=web") == []
