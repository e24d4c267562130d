"""Endpoints of services: EndpointSlices, Endpoints objects, and those of default/kubernetes."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kubesched.clock import VirtualClock
from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.apiserver.bootstrap import bootstrap
from kubesched.cluster.apiserver.storage import Store
from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.controllers.endpoint_slices import Plan, plan_slices
from kubesched.cluster.controllers.endpoint_subsets import truncate
from kubesched.cluster.controllers.manager import ControllerManager
from kubesched.cluster.controllers.table import make_controllers
from kubesched.cluster.informer import Informer
from kubesched.cluster.records import EndpointSliceRecord, NodeRecord, PodRecord
from kubesched.objects.base import Json
from kubesched.objects.meta import ObjectMeta

SLICES = "endpointslices.discovery.k8s.io"
HTTP = [{"name": "http", "port": 8080, "protocol": "TCP"}]
ADMIN = [{"name": "admin", "port": 9090, "protocol": "TCP"}]


def service(name: str = "web", **spec: Any) -> Json:
    ports = [{"name": "http", "port": 80, "targetPort": "http"}]
    return {
        "metadata": {"name": name, "labels": {"team": "shop"}},
        "spec": {"selector": {"app": "web"}, "ports": ports, **spec},
    }


def pod(name: str, *, port: int = 8080, **spec: Any) -> Json:
    container = {"name": "c", "image": "i", "ports": [{"name": "http", "containerPort": port}]}
    return {"metadata": {"name": name, "labels": {"app": "web"}}, "spec": {"containers": [container], **spec}}


def create(rig: Any, resource: str, value: Json) -> None:
    rig.api.create(rig.api.catalog.named(resource), value, "default")


def delete(rig: Any, resource: str, name: str) -> None:
    rig.api.delete(rig.api.catalog.named(resource), name, "default")


def slices(rig: Any, name: str = "web") -> list[Json]:
    found = rig.items(SLICES, "default")
    return [item for item in found if item["metadata"]["labels"]["kubernetes.io/service-name"] == name]


def only_slice(rig: Any) -> Json:
    (found,) = slices(rig)
    return found


async def test_a_ready_pod_is_an_endpoint(rig: Any) -> None:
    """With everything that kube-controller-manager says about it; the older object says the same."""
    create(rig, "services", service())
    create(rig, "pods", pod("a"))
    await rig.advance(3)
    found, behind = only_slice(rig), rig.get("pods", "a")
    node = behind["spec"]["nodeName"]
    ip, target = behind["status"]["podIP"], {"kind": "Pod", "namespace": "default", "name": "a"}
    target["uid"] = behind["metadata"]["uid"]
    assert found["addressType"] == "IPv4"
    assert found["ports"] == HTTP
    assert found["endpoints"] == [
        {
            "addresses": [ip],
            "conditions": {"ready": True, "serving": True, "terminating": False},
            "nodeName": node,
            "targetRef": target,
            "zone": rig.get("nodes", node)["metadata"]["labels"]["topology.kubernetes.io/zone"],
        }
    ]
    assert found["metadata"]["generateName"] == "web-"
    assert found["metadata"]["labels"] == {
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "kubernetes.io/service-name": "web",
        "team": "shop",
    }
    (owner,) = found["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == (
        "Service",
        rig.get("services", "web")["metadata"]["uid"],
        True,
    )
    older = rig.get("endpoints", "web")
    assert older["metadata"]["labels"] == {"endpoints.kubernetes.io/managed-by": "endpoint-controller", "team": "shop"}
    assert older["subsets"] == [{"addresses": [{"ip": ip, "nodeName": node, "targetRef": target}], "ports": HTTP}]


async def test_a_service_without_pods_has_an_empty_slice(rig: Any) -> None:
    """The first endpoint goes into that one, and nothing is written when nothing changes."""
    create(rig, "services", service())
    await rig.advance(0.5)
    empty = only_slice(rig)
    assert not empty.get("ports")
    assert not empty.get("endpoints")
    assert "subsets" not in rig.get("endpoints", "web")
    create(rig, "pods", pod("a"))
    await rig.advance(3)
    filled, older = only_slice(rig), rig.get("endpoints", "web")
    assert filled["metadata"]["name"] == empty["metadata"]["name"]
    assert len(filled["endpoints"]) == 1
    rig.change("pods", "a", lambda value: value["metadata"]["labels"].update(seen="yes"))
    await rig.advance(5)
    assert only_slice(rig) == filled
    assert rig.get("endpoints", "web") == older
    rig.change("services", "web", lambda value: value["metadata"].update(labels={"team": "api"}))
    await rig.advance(0.5)
    assert only_slice(rig)["metadata"]["labels"]["team"] == "api"
    delete(rig, "pods", "a")
    await rig.advance(40)
    assert not only_slice(rig).get("endpoints")
    assert only_slice(rig)["metadata"]["name"] == empty["metadata"]["name"]


async def test_a_pod_that_stops_is_no_longer_ready(rig: Any) -> None:
    """It still serves until it is gone; the older object leaves it out at once."""
    create(rig, "services", service())
    create(rig, "pods", pod("a"))
    await rig.advance(3)
    delete(rig, "pods", "a")
    await rig.advance(0.3)
    (endpoint,) = only_slice(rig)["endpoints"]
    assert endpoint["conditions"] == {"ready": False, "serving": True, "terminating": True}
    assert "subsets" not in rig.get("endpoints", "web")


@pytest.mark.parametrize(
    ("publishes", "conditions", "listed"),
    [
        pytest.param(False, {"ready": False, "serving": False, "terminating": False}, "notReadyAddresses", id="as is"),
        pytest.param(True, {"ready": True, "serving": False, "terminating": False}, "addresses", id="published"),
    ],
)
async def test_a_pod_that_is_not_ready(rig: Any, publishes: bool, conditions: Json, listed: str) -> None:
    """It counts as ready only where the service says so."""
    create(rig, "services", service(publishNotReadyAddresses=publishes))
    slow = pod("a")
    slow["spec"]["containers"][0]["readinessProbe"] = {"initialDelaySeconds": 600, "tcpSocket": {"port": 8080}}
    create(rig, "pods", slow)
    await rig.advance(3)
    (endpoint,) = only_slice(rig)["endpoints"]
    assert endpoint["conditions"] == conditions
    (subset,) = rig.get("endpoints", "web")["subsets"]
    assert [item["ip"] for item in subset[listed]] == endpoint["addresses"]


@pytest.mark.parametrize(
    ("spec", "pods", "ports"),
    [
        pytest.param({}, [pod("a"), pod("b", port=9000)], [8080, 9000], id="a name that leads to two numbers"),
        pytest.param({"ports": [{"port": 80}]}, [pod("a"), pod("b", port=9000)], [80], id="no target: the port itself"),
        pytest.param({"ports": [{"port": 80, "targetPort": "none"}]}, [pod("a")], [], id="a name that no pod has"),
        pytest.param(
            {},
            [
                pod(
                    "a",
                    containers=[{"name": "c", "image": "i"}],
                    initContainers=[
                        {
                            "name": "s",
                            "image": "i",
                            "restartPolicy": "Always",
                            "ports": [{"name": "http", "containerPort": 7000}],
                        }
                    ],
                )
            ],
            [7000],
            id="the port of a sidecar",
        ),
    ],
)
async def test_target_ports(rig: Any, spec: Json, pods: list[Json], ports: list[int]) -> None:
    """Pods whose ports differ are in slices, and in subsets, of their own."""
    create(rig, "services", service(**spec))
    for item in pods:
        create(rig, "pods", item)
    await rig.advance(3)
    found = slices(rig)
    assert sorted(port["port"] for item in found for port in item.get("ports") or ()) == ports
    assert sum(len(item["endpoints"]) for item in found) == len(pods)
    subsets = rig.get("endpoints", "web").get("subsets") or []
    assert sorted(port["port"] for subset in subsets for port in subset["ports"]) == ports


async def test_a_headless_service_names_its_pods(rig: Any) -> None:
    """It needs no ports; a pod whose subdomain is the service has its hostname there."""
    create(rig, "services", service(clusterIP="None", ports=[]))
    create(rig, "pods", pod("a", hostname="first", subdomain="web"))
    create(rig, "pods", pod("b", hostname="second", subdomain="other"))
    await rig.advance(3)
    found = only_slice(rig)
    assert found["metadata"]["labels"]["service.kubernetes.io/headless"] == ""
    assert [item.get("hostname") for item in found["endpoints"]] == ["first", None]
    (subset,) = rig.get("endpoints", "web")["subsets"]
    assert "ports" not in subset
    assert sorted(item.get("hostname", "") for item in subset["addresses"]) == ["", "first"]


async def test_who_is_behind_a_service_may_change(rig: Any) -> None:
    """By the pods' labels and by the selector; finished pods are behind none."""
    create(rig, "services", service())
    create(rig, "pods", pod("a"))
    done = pod("b", restartPolicy="Never")
    done["metadata"]["annotations"] = {"kubesched.io/run-seconds": "1"}
    create(rig, "pods", done)
    await rig.advance(6)
    assert [item["targetRef"]["name"] for item in only_slice(rig)["endpoints"]] == ["a"]
    rig.change("pods", "a", lambda value: value["metadata"].update(labels={"app": "new"}))
    await rig.advance(0.5)
    assert not only_slice(rig).get("endpoints")
    rig.change("services", "web", lambda value: value["spec"].update(selector={"app": "new"}))
    await rig.advance(0.5)
    assert [item["targetRef"]["name"] for item in only_slice(rig)["endpoints"]] == ["a"]


async def test_endpoints_go_with_their_service(rig: Any) -> None:
    """While it is there, they come back; what is made by hand for services without a selector is left alone."""
    create(rig, "services", service())
    create(rig, "services", {"metadata": {"name": "manual"}, "spec": {"ports": [{"port": 80}]}})
    create(rig, "endpoints", {"metadata": {"name": "manual"}, "subsets": [{"addresses": [{"ip": "10.1.2.3"}]}]})
    await rig.advance(0.5)
    assert not slices(rig, "manual")
    assert rig.get("endpoints", "manual")["subsets"] == [{"addresses": [{"ip": "10.1.2.3"}]}]
    delete(rig, SLICES, only_slice(rig)["metadata"]["name"])
    delete(rig, "endpoints", "web")
    await rig.advance(0.5)
    assert only_slice(rig)
    assert "web" in rig.names("endpoints")
    delete(rig, "services", "web")
    await rig.advance(2)
    assert not slices(rig)
    assert "web" not in rig.names("endpoints")


@pytest.mark.parametrize(
    ("publishes", "left"),
    [pytest.param(False, [], id="left out"), pytest.param(True, ["a"], id="published all the same")],
)
async def test_a_pod_whose_node_is_gone(rig: Any, publishes: bool, left: list[str]) -> None:
    """Seen when the service is looked at for any other reason."""
    create(rig, "services", service(publishNotReadyAddresses=publishes))
    create(rig, "pods", pod("a"))
    await rig.advance(3)
    rig.api.delete(rig.api.catalog.named("nodes"), rig.get("pods", "a")["spec"]["nodeName"])
    rig.change("services", "web", lambda value: value["metadata"].update(labels={"seen": "yes"}))
    await rig.advance(0.3)
    assert rig.names("pods") == ["a"]
    assert [item["targetRef"]["name"] for item in only_slice(rig).get("endpoints") or ()] == left
    assert only_slice(rig)["metadata"]["labels"]["seen"] == "yes"


async def test_leftovers_of_a_service_are_found_at_the_start() -> None:
    """It was deleted just before the cluster stopped. Endpoints without a service that appear later are kept."""
    api = Api(store=Store(), clock=VirtualClock(), rng=random.Random(1))
    bootstrap(api)
    resource = api.catalog.named("endpoints")
    api.create(resource, {"metadata": {"name": "leftover"}}, "default")
    context = ControllerContext(api, Informer(api, "pods", PodRecord), Informer(api, "nodes", NodeRecord))
    manager = ControllerManager(context, make_controllers(context))
    api.create(resource, {"metadata": {"name": "later"}}, "default")
    await manager.round()
    assert sorted(entry.name for entry in api.list(resource, "default").entries) == ["kubernetes", "later"]


@pytest.mark.parametrize("resource", ["services", "endpoints", SLICES])
async def test_the_kubernetes_service_comes_back(rig: Any, resource: str) -> None:
    """And so do its endpoints, which lead to the API server."""
    delete(rig, resource, "kubernetes")
    await rig.advance(1)
    assert rig.get("services", "kubernetes")["spec"]["clusterIP"] == "10.96.0.1"
    found = rig.get(SLICES, "kubernetes")
    assert found["metadata"]["labels"] == {"kubernetes.io/service-name": "kubernetes"}
    assert found["ports"] == [{"name": "https", "port": 6443, "protocol": "TCP"}]
    assert found["endpoints"] == [{"addresses": ["172.16.0.1"], "conditions": {"ready": True}}]
    assert rig.get("endpoints", "kubernetes")["subsets"] == [
        {"addresses": [{"ip": "172.16.0.1"}], "ports": found["ports"]}
    ]


def endpoint(number: int, *, ready: bool = True) -> Json:
    return {"addresses": [f"10.0.{number // 200}.{number % 200}"], "conditions": {"ready": ready}}


def numbered(*numbers: int) -> list[Json]:
    return [endpoint(number) for number in numbers]


def slice_of(name: str, endpoints: list[Json], ports: list[Json] = HTTP) -> EndpointSliceRecord:
    return EndpointSliceRecord(metadata=ObjectMeta(name=name), ports=tuple(ports), endpoints=tuple(endpoints))


def outcome(plan: Plan) -> Json:
    written = {draft.name or f"new {number}": len(draft.endpoints) for number, draft in enumerate(plan.written)}
    return written | dict.fromkeys(plan.deleted, "deleted")


@pytest.mark.parametrize(
    ("wanted", "existing", "expected"),
    [
        pytest.param(numbered(*range(250)), [], {"new 0": 100, "new 1": 100, "new 2": 50}, id="a hundred a slice"),
        pytest.param(numbered(1, 2), [slice_of("s", numbered(2, 1))], {}, id="nothing to do"),
        pytest.param([endpoint(1, ready=False)], [slice_of("s", numbered(1))], {"s": 1}, id="changed in place"),
        pytest.param(
            numbered(*range(80), *range(100, 150), 200),
            [slice_of("large", numbered(*range(80))), slice_of("small", numbered(*range(100, 150)))],
            {"large": 81},
            id="the fullest that has room",
        ),
        pytest.param(
            numbered(*range(80), *range(100, 149), 200),
            [slice_of("large", numbered(*range(80))), slice_of("small", numbered(*range(100, 150)))],
            {"small": 50},
            id="one that is written anyway",
        ),
        pytest.param(
            numbered(*range(90), *range(100, 190), *range(200, 220)),
            [slice_of("a", numbered(*range(90))), slice_of("b", numbered(*range(100, 190)))],
            {"new 0": 20},
            id="no slice has room for all of them",
        ),
        pytest.param(
            numbered(1),
            [slice_of("a", numbered(1)), slice_of("b", numbered(2))],
            {"b": "deleted"},
            id="a slice that nobody needs",
        ),
        pytest.param(numbered(1), [slice_of("s", numbered(1), ADMIN)], {"s": 1}, id="other ports, the same slice"),
        pytest.param([], [slice_of("a", numbered(1)), slice_of("b", numbered(2))], {"a": 0, "b": "deleted"}, id="none"),
        pytest.param([], [slice_of("s", [], [])], {}, id="none, as before"),
    ],
)
def test_how_endpoints_are_divided(wanted: list[Json], existing: list[EndpointSliceRecord], expected: Json) -> None:
    """With as few writes as possible."""
    assert outcome(plan_slices([(HTTP, item) for item in wanted], existing, {})) == expected


def addresses(count: int) -> list[Json]:
    return [{"ip": f"10.0.{number // 200}.{number % 200}"} for number in range(count)]


@pytest.mark.parametrize(
    ("ready", "unready", "left"),
    [
        pytest.param([600], [400], [(600, 400)], id="just enough"),
        pytest.param([600], [600], [(600, 400)], id="those that are not ready go first"),
        pytest.param([1500, 500], [10, 10], [(750, 0), (250, 0)], id="too many ready ones"),
    ],
)
def test_an_endpoints_object_has_a_thousand_addresses(
    ready: list[int], unready: list[int], left: list[tuple[int, int]]
) -> None:
    """In proportion to its subsets."""
    pairs = zip(ready, unready, strict=True)
    subsets: list[Json] = [{"addresses": addresses(a), "notReadyAddresses": addresses(b)} for a, b in pairs]
    assert truncate(subsets) == (sum(ready) + sum(unready) > 1000)
    assert [(len(item.get("addresses", ())), len(item.get("notReadyAddresses", ()))) for item in subsets] == left
