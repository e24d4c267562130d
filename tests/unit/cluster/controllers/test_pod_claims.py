"""Resource claims that are made from templates, for pods and for pod groups."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubesched.clock import VirtualClock
from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.apiserver.bootstrap import bootstrap
from kubesched.cluster.apiserver.storage import SqliteJournal, Store
from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.controllers.pod_claims import PodClaimController
from kubesched.cluster.controllers.resource_claims import name_base
from kubesched.cluster.informer import Informer
from kubesched.cluster.manifests import create_all
from kubesched.cluster.records import NodeRecord, PodRecord
from kubesched.objects.base import Json

CLAIMS = "resourceclaims.resource.k8s.io"
GROUPS = "podgroups.scheduling.k8s.io"
TEMPLATE = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu}
spec:
  metadata: {labels: {team: a}, annotations: {note: b}}
  spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  %s
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}]
  containers: [{name: c, image: x}]
"""
PLAIN_POD = """
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {nodeName: node-1, resourceClaims: [{name: gpu, resourceClaimName: c}], containers: [{name: c, image: x}]}
"""
CLAIM = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}
"""
GROUP = """
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: g}
spec:
  schedulingPolicy: {basic: {}}
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}]
"""


def set_status(rig: Any, resource: str, name: str, change: Callable[[Json], Any]) -> None:
    def changed(value: Json) -> Json:
        change(value.setdefault("status", {}))
        return value

    rig.api.change(rig.api.catalog.named(resource), name, "default", changed, subresource="status")


def told(rig: Any, resource: str, name: str) -> list[Json]:
    """What a status says of the claims that were made."""
    statuses: list[Json] = rig.get(resource, name)["status"].get("resourceClaimStatuses", [])
    return statuses


@pytest.fixture
def unscheduled(rig: Any) -> Any:
    """A cluster without a scheduler."""
    rig.schedules = False
    return rig


async def test_a_claim_is_made_from_the_template(unscheduled: Any) -> None:
    """It belongs to the pod, says for which entry it was made, and the pod's status says its name."""
    unscheduled.apply(TEMPLATE)
    unscheduled.apply(POD % "")
    await unscheduled.advance(0.2)
    (claim,) = unscheduled.items(CLAIMS)
    metadata, pod = claim["metadata"], unscheduled.get("pods", "p")["metadata"]
    assert metadata["generateName"] == "p-gpu-"
    assert metadata["labels"] == {"team": "a"}
    assert metadata["annotations"] == {"note": "b", "resource.kubernetes.io/pod-claim-name": "gpu"}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": pod["uid"], "controller": True}
    assert metadata["ownerReferences"] == [owner]
    assert claim["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"] == "gpu"
    assert told(unscheduled, "pods", "p") == [{"name": "gpu", "resourceClaimName": metadata["name"]}]


async def test_a_claim_that_was_never_told_is_found_again(unscheduled: Any) -> None:
    """As after a crash between the two writes: there is one claim, and the pod's status names it."""
    unscheduled.apply(TEMPLATE)
    unscheduled.apply(POD % "")
    await unscheduled.advance(0.2)
    before = told(unscheduled, "pods", "p")
    set_status(unscheduled, "pods", "p", lambda status: status.pop("resourceClaimStatuses"))
    await unscheduled.advance(0.2)
    assert told(unscheduled, "pods", "p") == before
    assert unscheduled.names(CLAIMS) == [before[0]["resourceClaimName"]]


async def test_a_claim_that_is_gone_is_made_again(unscheduled: Any) -> None:
    """Somebody deleted it: the pod gets another one, under another name."""
    unscheduled.apply(TEMPLATE)
    unscheduled.apply(POD % "")
    await unscheduled.advance(0.2)
    (before,) = unscheduled.names(CLAIMS)
    unscheduled.api.delete(unscheduled.api.catalog.named(CLAIMS), before, "default")
    await unscheduled.advance(0.2)
    (after,) = unscheduled.names(CLAIMS)
    assert after != before
    assert told(unscheduled, "pods", "p") == [{"name": "gpu", "resourceClaimName": after}]


@pytest.mark.parametrize(
    ("manifest", "resource", "name"),
    [pytest.param(POD % "", "pods", "p", id="of a pod"), pytest.param(GROUP, GROUPS, "g", id="of a group")],
)
async def test_a_claim_of_somebody_else_is_not_taken(unscheduled: Any, manifest: str, resource: str, name: str) -> None:
    """The status names a claim that was not made for the pod or group: it gets its own."""
    unscheduled.apply(CLAIM)
    unscheduled.apply(manifest)
    strange = [{"name": "gpu", "resourceClaimName": "c"}]
    set_status(unscheduled, resource, name, lambda status: status.update(resourceClaimStatuses=strange))
    unscheduled.apply(TEMPLATE)
    await unscheduled.advance(0.2)
    (own,) = set(unscheduled.names(CLAIMS)) - {"c"}
    assert told(unscheduled, resource, name) == [{"name": "gpu", "resourceClaimName": own}]


async def test_every_entry_has_a_claim_of_its_own(unscheduled: Any) -> None:
    """Also of the same template. If one is lost, the other one stays."""
    unscheduled.apply(TEMPLATE)
    two = "{name: gpu, resourceClaimTemplateName: one-gpu}, {name: nic, resourceClaimTemplateName: one-gpu}"
    unscheduled.apply((POD % "").replace("{name: gpu, resourceClaimTemplateName: one-gpu}", two))
    await unscheduled.advance(0.2)
    before = {item["name"]: item["resourceClaimName"] for item in told(unscheduled, "pods", "p")}
    assert before["gpu"].startswith("p-gpu-")
    assert before["nic"].startswith("p-nic-")
    unscheduled.api.delete(unscheduled.api.catalog.named(CLAIMS), before["gpu"], "default")
    await unscheduled.advance(0.2)
    after = {item["name"]: item["resourceClaimName"] for item in told(unscheduled, "pods", "p")}
    assert sorted(after.values()) == sorted(unscheduled.names(CLAIMS))
    assert after["gpu"] != before["gpu"]
    assert after["nic"] == before["nic"]


async def test_an_entry_that_needs_no_claim_gets_none(unscheduled: Any) -> None:
    """A status without a name says that it was decided so."""
    unscheduled.apply(POD % "")
    decided = [{"name": "gpu"}]
    set_status(unscheduled, "pods", "p", lambda status: status.update(resourceClaimStatuses=decided))
    unscheduled.apply(TEMPLATE)
    await unscheduled.advance(0.2)
    assert unscheduled.names(CLAIMS) == []
    assert told(unscheduled, "pods", "p") == decided


async def test_a_missing_template_is_told_and_waited_for(unscheduled: Any) -> None:
    """An event in upstream's words; when the template comes, so does the claim, long before the next attempt."""
    unscheduled.apply(POD % "")
    await unscheduled.advance(20)
    (event,) = [item for item in unscheduled.items("events") if item["involvedObject"]["name"] == "p"]
    assert (event["type"], event["reason"]) == ("Warning", "FailedResourceClaimCreation")
    assert event["source"]["component"] == "resource_claim"
    assert event["message"] == (
        'PodResourceClaim gpu: resource claim template "one-gpu": '
        'resourceclaimtemplate.resource.k8s.io "one-gpu" not found'
    )
    unscheduled.apply(TEMPLATE)
    await unscheduled.advance(0.2)
    assert len(told(unscheduled, "pods", "p")) == 1


async def test_a_pod_that_came_without_the_scheduler_reserves_its_claim(unscheduled: Any) -> None:
    """Its claim has devices already, or gets them later; nobody else would reserve it."""
    unscheduled.apply(CLAIM)
    unscheduled.apply(PLAIN_POD)
    await unscheduled.advance(0.2)
    assert "reservedFor" not in unscheduled.get(CLAIMS, "c")["status"]
    allocation: Json = {"devices": {"results": []}}
    set_status(unscheduled, CLAIMS, "c", lambda status: status.update(allocation=allocation))
    await unscheduled.advance(0.2)
    uid = unscheduled.get("pods", "p")["metadata"]["uid"]
    assert unscheduled.get(CLAIMS, "c")["status"]["reservedFor"] == [{"resource": "pods", "name": "p", "uid": uid}]


async def test_a_group_has_one_claim_for_all_of_its_pods(unscheduled: Any) -> None:
    """Pods that name it in the same words are told the group's claim; they wait for their group."""
    unscheduled.apply(TEMPLATE)
    member = POD % "schedulingGroup: {podGroupName: g}"
    unscheduled.apply(member)
    unscheduled.apply(member.replace("name: p", "name: q"))
    await unscheduled.advance(0.2)
    assert unscheduled.names(CLAIMS) == []
    unscheduled.apply(GROUP)
    await unscheduled.advance(0.3)
    (claim,) = unscheduled.items(CLAIMS)
    (owner,) = claim["metadata"]["ownerReferences"]
    assert (owner["apiVersion"], owner["kind"], owner["name"]) == ("scheduling.k8s.io/v1beta1", "PodGroup", "g")
    expected = [{"name": "gpu", "resourceClaimName": claim["metadata"]["name"]}]
    assert told(unscheduled, GROUPS, "g") == expected
    assert told(unscheduled, "pods", "p") == told(unscheduled, "pods", "q") == expected


async def test_pods_that_came_without_the_scheduler_reserve_a_claim_for_their_group(tmp_path: Path) -> None:
    """Once, whatever name they have for it, and also if the first reservation is not durable yet."""
    store = Store(journal=SqliteJournal(tmp_path))
    api = Api(store=store, clock=VirtualClock(), rng=random.Random(1))
    bootstrap(api)
    group = GROUP.replace("resourceClaimTemplateName: one-gpu", "resourceClaimName: c")
    member = PLAIN_POD.replace("nodeName", "schedulingGroup: {podGroupName: g}, nodeName")
    others = [
        member.replace("name: p", "name: q"),
        member.replace("name: p", "name: r").replace("name: gpu", "name: x"),
    ]
    create_all(api, (("test", yaml.safe_load(text)) for text in (CLAIM, group, member, *others)))
    claims = api.catalog.named(CLAIMS)
    allocated: Json = {"status": {"allocation": {"devices": {"results": []}}}}
    api.change(claims, "c", "default", lambda value: {**value, **allocated}, subresource="status")
    await store.settled()
    context = ControllerContext(api, Informer(api, "pods", PodRecord), Informer(api, "nodes", NodeRecord))
    controller = PodClaimController(context)
    controller.reconcile("default", "p")
    controller.reconcile("default", "q")
    await store.settled()
    controller.reconcile("default", "r")
    claim, uid = (
        api.get(claims, "c", "default"),
        api.get(context.pod_groups.resource, "g", "default")["metadata"]["uid"],
    )
    await store.close()
    consumer = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": uid}
    assert claim["status"]["reservedFor"] == [consumer]


async def test_a_group_waits_for_its_template(unscheduled: Any) -> None:
    """And says so; a claim of it that is gone is made again."""
    unscheduled.apply(GROUP)
    await unscheduled.advance(20)
    assert unscheduled.reasons("g") == ["FailedResourceClaimCreation"]
    unscheduled.apply(TEMPLATE)
    await unscheduled.advance(0.2)
    (before,) = unscheduled.names(CLAIMS)
    unscheduled.api.delete(unscheduled.api.catalog.named(CLAIMS), before, "default")
    await unscheduled.advance(0.2)
    (after,) = unscheduled.names(CLAIMS)
    assert told(unscheduled, GROUPS, "g") == [{"name": "gpu", "resourceClaimName": after}]


@pytest.mark.parametrize(
    ("owner", "entry", "expected"),
    [
        pytest.param("p", "gpu", "p-gpu-", id="short names stay whole"),
        pytest.param("p" * 51, "gpus", "p" * 51 + "-gpus-", id="57 characters are not cut"),
        pytest.param("p" * 60, "gpu" * 5, "p" * 44 + "-" + "gpugpugpugp", id="two long names are cut in proportion"),
    ],
)
def test_names_that_are_too_long_are_cut(owner: str, entry: str, expected: str) -> None:
    """So that the entry can still be read in the claim's name."""
    assert name_base(owner, entry) == expected
