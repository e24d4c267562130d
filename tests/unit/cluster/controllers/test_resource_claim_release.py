"""Resource claims whose users have gone."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubesched.clock import VirtualClock
from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.apiserver.bootstrap import bootstrap
from kubesched.cluster.apiserver.storage import SqliteJournal, Store
from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.controllers.resource_claim_release import ClaimReleaseController
from kubesched.cluster.informer import Informer
from kubesched.cluster.records import NodeRecord, PodRecord
from kubesched.objects.base import Json

CLAIMS = "resourceclaims.resource.k8s.io"
GROUPS = "podgroups.scheduling.k8s.io"
PROTECTION = "resource.kubernetes.io/delete-protection"
ALLOCATION: Json = {"devices": {"results": [{"request": "r", "driver": "d", "pool": "p", "device": "x"}]}}
DEVICES: list[Json] = [{"driver": "d", "pool": "p", "device": "x"}]
TEMPLATE = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu}
spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}
"""
CLAIM = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c, finalizers: [%s]}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}
"""
# Ends after two seconds, or runs on.
POD = """
apiVersion: v1
kind: Pod
metadata: {name: %s, annotations: {kubesched.io/run-seconds: "%s"}}
spec:
  restartPolicy: Never
  resourceClaims: [{name: gpu, %s}]
  containers: [{name: c, image: x}]
"""
NAMED, GENERATED = "resourceClaimName: c", "resourceClaimTemplateName: one-gpu"
GROUP = """
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: g}
spec: {schedulingPolicy: {basic: {}}, resourceClaims: [{name: gpu, resourceClaimName: c}]}
"""


def allocate(rig: Any, name: str, *consumers: Json) -> None:
    """The scheduler's part: devices and reservations."""

    def change(value: Json) -> Json:
        value["status"] = {"allocation": ALLOCATION, "devices": DEVICES}
        if consumers:
            value["status"]["reservedFor"] = list(consumers)
        return value

    rig.api.change(rig.api.catalog.named(CLAIMS), name, "default", change, subresource="status")


def protect(rig: Any, name: str) -> None:
    rig.change(CLAIMS, name, lambda value: value["metadata"].update(finalizers=[PROTECTION]))


def pod(rig: Any, name: str) -> Json:
    """The consumer that this pod is."""
    return {"resource": "pods", "name": name, "uid": rig.get("pods", name)["metadata"]["uid"]}


def delete(rig: Any, resource: str, name: str) -> None:
    rig.api.delete(rig.api.catalog.named(resource), name, "default")


async def test_reservations_end_with_their_pods(rig: Any) -> None:
    """Of a pod that has ended, one that is gone, and one of whose name there is another by now; others stay."""
    rig.apply(CLAIM % PROTECTION)
    rig.apply(POD % ("ends", 2, NAMED))
    rig.apply(POD % ("runs", 3600, NAMED))
    await rig.advance(1)
    replaced = {**pod(rig, "runs"), "uid": "of-an-earlier-one"}
    gone = {"resource": "pods", "name": "gone", "uid": "u"}
    strange = {"apiGroup": "example.com", "resource": "things", "name": "t", "uid": "v"}
    allocate(rig, "c", pod(rig, "ends"), replaced, gone, strange, pod(rig, "runs"))
    await rig.advance(0.2)
    assert rig.get(CLAIMS, "c")["status"]["reservedFor"] == [pod(rig, "ends"), strange, pod(rig, "runs")]
    await rig.advance(5)
    assert rig.get("pods", "ends")["status"]["phase"] == "Succeeded"
    claim = rig.get(CLAIMS, "c")
    assert claim["status"]["reservedFor"] == [strange, pod(rig, "runs")]
    assert claim["status"]["allocation"] == ALLOCATION
    assert claim["metadata"]["finalizers"] == [PROTECTION]


async def test_a_pod_that_is_stopping_still_uses_its_devices(rig: Any) -> None:
    """Devices are free when it has stopped, not when it was told to."""
    rig.apply(CLAIM % PROTECTION)
    rig.apply(POD % ("p", 3600, NAMED))
    await rig.advance(2)
    allocate(rig, "c", pod(rig, "p"))
    delete(rig, "pods", "p")
    await rig.advance(0.5)
    assert rig.get(CLAIMS, "c")["status"]["reservedFor"] == [pod(rig, "p")]
    await rig.advance(2)
    assert rig.names("pods") == []
    claim = rig.get(CLAIMS, "c")
    assert claim["status"] == {}
    assert "finalizers" not in claim["metadata"]


@pytest.mark.parametrize(
    ("finalizer", "reserved", "stays"),
    [
        pytest.param(PROTECTION, True, False, id="the scheduler's devices are free when the last pod is gone"),
        pytest.param("example.com/other", True, True, id="an allocation that is not the scheduler's stays"),
        pytest.param(PROTECTION, False, True, id="an allocation that nobody has used yet stays"),
    ],
)
async def test_devices_are_given_back_by_the_last_user(rig: Any, finalizer: str, reserved: bool, stays: bool) -> None:
    """With them goes what drivers said of them, and the protection."""
    rig.apply(CLAIM % finalizer)
    allocate(rig, "c", *([{"resource": "pods", "name": "gone", "uid": "u"}] if reserved else []))
    await rig.advance(0.2)
    claim = rig.get(CLAIMS, "c")
    assert claim["status"] == ({"allocation": ALLOCATION, "devices": DEVICES} if stays else {})
    assert claim["metadata"].get("finalizers") == ([finalizer] if stays else None)


async def test_a_reservation_counts_before_it_is_durable(tmp_path: Path) -> None:
    """With a data directory a write is seen a little later: devices that are in use again by then stay."""
    store = Store(journal=SqliteJournal(tmp_path))
    api = Api(store=store, clock=VirtualClock(), rng=random.Random(1))
    bootstrap(api)
    claims = api.catalog.named(CLAIMS)
    api.create(claims, yaml.safe_load(CLAIM % PROTECTION), "default")
    consumers: list[Json] = [{"resource": "pods", "name": name, "uid": name} for name in ("gone", "next")]

    def reserve(*consumers: Json) -> None:
        status = {"allocation": ALLOCATION, "reservedFor": list(consumers)}
        api.change(claims, "c", "default", lambda value: {**value, "status": status}, subresource="status")

    reserve(consumers[0])
    await store.settled()
    context = ControllerContext(api, Informer(api, "pods", PodRecord), Informer(api, "nodes", NodeRecord))
    controller = ClaimReleaseController(context)
    reserve(*consumers)
    controller.reconcile("default", "c")
    claim = api.get(claims, "c", "default")
    await store.close()
    assert claim["status"] == {"allocation": ALLOCATION, "reservedFor": [consumers[1]]}
    assert claim["metadata"]["finalizers"] == [PROTECTION]


async def test_a_deleted_claim_goes_when_nobody_uses_it(rig: Any) -> None:
    """At once if nobody does, else with its last user."""
    rig.apply(CLAIM % PROTECTION)
    rig.apply(POD % ("p", 3600, NAMED))
    await rig.advance(1)
    allocate(rig, "c", pod(rig, "p"))
    delete(rig, CLAIMS, "c")
    await rig.advance(0.5)
    assert rig.names(CLAIMS) == ["c"]
    delete(rig, "pods", "p")
    await rig.advance(2)
    assert rig.names(CLAIMS) == []
    rig.apply(CLAIM % PROTECTION)
    allocate(rig, "c")
    delete(rig, CLAIMS, "c")
    await rig.advance(0.2)
    assert rig.names(CLAIMS) == []


async def test_a_claim_made_for_a_pod_goes_when_it_ends(rig: Any) -> None:
    """The pod stays and says how it went; it gets no new claim."""
    rig.apply(TEMPLATE)
    rig.apply(POD % ("p", 2, GENERATED))
    await rig.advance(1)
    (claim,) = rig.names(CLAIMS)
    protect(rig, claim)
    allocate(rig, claim, pod(rig, "p"))
    await rig.advance(0.5)
    assert rig.get(CLAIMS, claim)["status"]["allocation"] == ALLOCATION
    await rig.advance(5)
    assert rig.get("pods", "p")["status"]["phase"] == "Succeeded"
    assert rig.names(CLAIMS) == []


async def test_a_pod_that_never_got_a_node_gives_its_claim_up_at_once(rig: Any) -> None:
    """It is being deleted and only waits for a finalizer: nothing of it runs, or ever will."""
    rig.schedules = False
    rig.apply(TEMPLATE)
    rig.apply((POD % ("p", 2, GENERATED)).replace("name: p,", "name: p, finalizers: [example.com/slow],"))
    await rig.advance(0.2)
    (claim,) = rig.names(CLAIMS)
    protect(rig, claim)
    allocate(rig, claim, pod(rig, "p"))
    delete(rig, "pods", "p")
    await rig.advance(0.2)
    assert rig.names("pods") == ["p"]
    assert rig.names(CLAIMS) == []


async def test_a_claim_made_for_a_pod_goes_with_it(rig: Any) -> None:
    """Garbage collection deletes it; its devices are given back first, as long as the pod stops they are in use."""
    rig.apply(TEMPLATE)
    rig.apply(POD % ("p", 3600, GENERATED))
    await rig.advance(1)
    (claim,) = rig.names(CLAIMS)
    protect(rig, claim)
    allocate(rig, claim, pod(rig, "p"))
    delete(rig, "pods", "p")
    await rig.advance(0.5)
    assert rig.names(CLAIMS) == [claim]
    await rig.advance(2)
    assert rig.names(CLAIMS) == []


async def test_a_claim_for_extended_resources_goes_when_its_pod_ends(rig: Any) -> None:
    """The scheduler makes it: the pod's spec does not name it, its status does."""
    rig.apply(POD.replace("resourceClaims: [{name: gpu, %s}]", "") % ("p", 2))
    owner = {"apiVersion": "v1", "kind": "Pod", "controller": True, "name": "p", "uid": pod(rig, "p")["uid"]}
    annotations = {"resource.kubernetes.io/extended-resource-claim": "true"}
    metadata = {"name": "c", "finalizers": [PROTECTION], "annotations": annotations, "ownerReferences": [owner]}
    rig.api.create(rig.api.catalog.named(CLAIMS), {"metadata": metadata, "spec": {}}, "default")
    allocate(rig, "c", pod(rig, "p"))
    extended: Json = {"resourceClaimName": "c", "requestMappings": []}

    def tell(value: Json) -> Json:
        value["status"]["extendedResourceClaimStatus"] = extended
        return value

    rig.api.change(rig.api.catalog.named("pods"), "p", "default", tell, subresource="status")
    await rig.advance(1)
    assert rig.names(CLAIMS) == ["c"]
    await rig.advance(5)
    assert rig.get("pods", "p")["status"]["phase"] == "Succeeded"
    assert rig.names(CLAIMS) == []


async def test_a_group_keeps_its_claim_until_it_is_deleted(rig: Any) -> None:
    """Whatever becomes of its pods."""
    rig.apply(CLAIM % PROTECTION)
    rig.apply(GROUP)
    uid = rig.get(GROUPS, "g")["metadata"]["uid"]
    group = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": uid}
    allocate(rig, "c", {**group, "uid": "of-an-earlier-one"}, group)
    await rig.advance(0.5)
    assert rig.get(CLAIMS, "c")["status"]["reservedFor"] == [group]
    delete(rig, GROUPS, "g")
    await rig.advance(0.5)
    assert rig.get(CLAIMS, "c")["status"] == {}
