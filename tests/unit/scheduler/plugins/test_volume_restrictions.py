from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched.objects import Pod
from kubesched.objects.volume import Volume
from kubesched.scheduler.columns import WhatIf
from kubesched.scheduler.framework import Code, CycleState, DependsOn, Hint
from kubesched.scheduler.plugins.volume_restrictions import VolumeRestrictions
from kubesched.testing import make_node, make_pod, make_pvc
from kubesched.testing.handle import FakeHandle, ask

DISK = "node(s) had no available disk"
CLAIM = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
ALONE = ("ReadWriteOncePod",)


def gce(name: str, *, read_only: bool = False) -> dict[str, Any]:
    return {"name": "v", "gcePersistentDisk": {"pdName": name, "readOnly": read_only}}


def aws(name: str, *, read_only: bool = False) -> dict[str, Any]:
    return {"name": "v", "awsElasticBlockStore": {"volumeID": name, "readOnly": read_only}}


def iscsi(iqn: str, *, read_only: bool = False) -> dict[str, Any]:
    return {"name": "v", "iscsi": {"targetPortal": "t", "iqn": iqn, "lun": 0, "readOnly": read_only}}


def rbd(image: str, *monitors: str, read_only: bool = False) -> dict[str, Any]:
    return {"name": "v", "rbd": {"monitors": list(monitors), "image": image, "pool": "p", "readOnly": read_only}}


@pytest.mark.parametrize(
    ("held", "wanted", "fits"),
    [
        pytest.param(gce("a"), gce("a"), False, id="the same GCE disk"),
        pytest.param(gce("a"), gce("b"), True, id="another GCE disk"),
        pytest.param(gce("a", read_only=True), gce("a", read_only=True), True, id="a GCE disk that both only read"),
        pytest.param(gce("a"), gce("a", read_only=True), False, id="a GCE disk that one of them writes"),
        pytest.param(aws("a", read_only=True), aws("a", read_only=True), False, id="an AWS disk, even to read"),
        pytest.param(aws("a"), gce("a"), True, id="disks of different clouds"),
        pytest.param(iscsi("a"), iscsi("a"), False, id="the same iSCSI target"),
        pytest.param(iscsi("a", read_only=True), iscsi("a", read_only=True), True, id="an iSCSI target to read"),
        pytest.param(rbd("i", "m1", "m2"), rbd("i", "m2"), False, id="an RBD image with a monitor in common"),
        pytest.param(rbd("i", "m1"), rbd("i", "m2"), True, id="an RBD image of another cluster"),
        pytest.param(rbd("i", "m1"), rbd("j", "m1"), True, id="another RBD image"),
        pytest.param(rbd("i", "m", read_only=True), rbd("i", "m", read_only=True), True, id="an RBD image to read"),
    ],
)
def test_disks(held: dict[str, Any], wanted: dict[str, Any], fits: bool) -> None:
    """The same disk is mounted once per node, unless everybody only reads it."""
    handle = FakeHandle().load(make_node("n"), make_node("m"), make_pod("there", volumes=[held], node="n"))
    statuses = ask(VolumeRestrictions(None, handle), make_pod(volumes=[wanted]), handle.cluster).statuses
    assert statuses["m"].is_success
    assert statuses["n"].is_success is fits
    if not fits:
        assert (statuses["n"].code, statuses["n"].reasons) == (Code.UNSCHEDULABLE, (DISK,))


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(make_pod(), Code.SKIP, id="no volumes"),
        pytest.param(make_pod(claims=["shared"]), Code.SKIP, id="a claim that pods share"),
        pytest.param(make_pod(claims=["alone"]), Code.SKIP, id="a claim for one pod that nobody uses"),
        pytest.param(make_pod(claims=["taken"]), Code.SUCCESS, id="a claim for one pod that a pod uses"),
        pytest.param(make_pod(claims=["imaginary"]), Code.SKIP, id="a claim used on a node that does not exist"),
        pytest.param(make_pod(volumes=[gce("a")]), Code.SUCCESS, id="a disk"),
    ],
)
def test_what_concerns_the_plugin(pod: Pod, expected: Code) -> None:
    """PreFilter skips pods for which no node can be wrong."""
    names = ("alone", "taken", "imaginary")
    handle = FakeHandle().load(
        make_node("n"),
        make_pvc("shared"),
        *(make_pvc(name, access_modes=ALONE) for name in names),
        make_pod("q", claims=["taken", "shared"], node="n"),
        make_pod("r", claims=["imaginary"], node="gone"),
    )
    answer = ask(VolumeRestrictions(None, handle), pod, handle.cluster)
    assert answer.pre_filter is not None
    assert answer.pre_filter.code is expected


def test_a_claim_in_use_rejects_every_node() -> None:
    """Wherever the user is, no other pod can have its claim: but preemption of the user can help."""
    handle = FakeHandle().load(
        make_node("n"), make_node("m"), make_pvc("c", access_modes=ALONE), make_pod("q", claims=["c"], node="n")
    )
    statuses = ask(VolumeRestrictions(None, handle), make_pod(claims=["c"]), handle.cluster).statuses
    assert {(s.code, s.reasons) for s in statuses.values()} == {(Code.UNSCHEDULABLE, (CLAIM,))}


def test_a_claim_is_free_once_its_user_is_gone() -> None:
    """The claims in use follow what is placed and displaced."""
    handle = FakeHandle().load(make_node("n"), make_pvc("c", access_modes=ALONE))
    plugin, pod = VolumeRestrictions(None, handle), make_pod(claims=["c"])
    handle.load(make_pod("q", claims=["c"], node="n"), make_pod("r", claims=["c"], node="n"))
    assert not ask(plugin, pod, handle.cluster).statuses["n"].is_success
    handle.cluster.displace("default/q")
    assert not ask(plugin, pod, handle.cluster).statuses["n"].is_success
    handle.cluster.displace("default/r")
    assert ask(plugin, pod, handle.cluster).statuses["n"].is_success


def test_removing_the_user_in_thought_frees_the_claim_on_that_node_only() -> None:
    """Preemption asks each node by itself, and pods of other namespaces count by the claim's name (as upstream)."""
    handle = FakeHandle().load(
        make_node("n"),
        make_node("m"),
        make_node("o"),
        make_pvc("c", access_modes=ALONE),
        make_pod("user", claims=["c"], node="n"),
        make_pod("namesake", namespace="other", claims=["c"], node="m"),
    )
    plugin = VolumeRestrictions(None, handle)
    info = handle.cluster.templates.info(make_pod(claims=["c"]))
    state, nodes = CycleState(info), handle.cluster.view()
    assert plugin.pre_filter(state, info, nodes).is_success
    rows = nodes.row_ids()[:2]
    pods = handle.cluster.pods
    pod_rows = np.array([pods.row_of("default/user"), pods.row_of("other/namesake")], dtype=np.intp)
    view = nodes.supposing(WhatIf.removed(pods, pod_rows, rows))
    assert plugin.filter_nodes(state, info.template, view).fitting.tolist() == [True, True, False]


def test_a_missing_claim_rejects_the_pod() -> None:
    """Its access modes cannot be known."""
    handle = FakeHandle().load(make_node("n"))
    status = ask(VolumeRestrictions(None, handle), make_pod(claims=["c"]), handle.cluster).pre_filter
    assert status is not None
    assert (status.code, status.reasons) == (Code.UNRESOLVABLE, ('persistentvolumeclaim "c" not found',))


def test_pods_without_claims_are_asked_about_once() -> None:
    """Only what claims are used for can change from cycle to cycle."""
    handle = FakeHandle()
    plugin, info = VolumeRestrictions(None, handle), handle.cluster.templates.info
    assert plugin.depends_on_for(info(make_pod(volumes=[gce("a")])).template) is DependsOn.NODE_AND_PODS
    assert plugin.depends_on_for(info(make_pod(claims=["c"])).template) is DependsOn.ANYTHING


@pytest.mark.parametrize(
    ("deleted", "expected"),
    [
        pytest.param(make_pod("q", claims=["c"]), Hint.QUEUE, id="it used the same claim"),
        pytest.param(make_pod("q", claims=["d"]), Hint.SKIP, id="it used another claim"),
        pytest.param(make_pod("q", volumes=[aws("a")]), Hint.QUEUE, id="it used the same disk"),
        pytest.param(make_pod("q", volumes=[aws("b")]), Hint.SKIP, id="it used another disk"),
        pytest.param(make_pod("q", namespace="o", claims=["c"]), Hint.SKIP, id="it was in another namespace"),
    ],
)
def test_hint_after_a_pod_was_deleted(deleted: Pod, expected: Hint) -> None:
    """A pod helps by leaving if it had what the waiting pod wants."""
    handle = FakeHandle()
    waiting = handle.cluster.templates.info(make_pod(claims=["c"], volumes=[aws("a")]))
    hint = VolumeRestrictions(None, handle).events_to_register()[0].hint
    assert hint is not None
    assert hint(waiting, deleted, None) is expected


@pytest.mark.parametrize(
    ("name", "namespace", "expected"),
    [
        pytest.param("c", "default", Hint.QUEUE, id="the claim that it waits for"),
        pytest.param("d", "default", Hint.SKIP, id="another claim"),
        pytest.param("c", "other", Hint.SKIP, id="a claim of another namespace"),
    ],
)
def test_hint_after_a_claim_was_added(name: str, namespace: str, expected: Hint) -> None:
    """A claim that was missing is there."""
    handle = FakeHandle()
    waiting = handle.cluster.templates.info(make_pod(claims=["c"]))
    hint = VolumeRestrictions(None, handle).events_to_register()[2].hint
    assert hint is not None
    assert hint(waiting, None, make_pvc(name, namespace=namespace)) is expected


DISKS = st.builds(
    lambda make, name, read_only: make(name, read_only=read_only),
    st.sampled_from((gce, aws, iscsi)),
    st.sampled_from("ab"),
    st.booleans(),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.lists(DISKS, max_size=2)), max_size=6), st.lists(DISKS, min_size=1))
def test_equals_a_look_at_every_pod_on_every_node(
    worlds: Any, placed: list[tuple[int, list[dict[str, Any]]]], wanted: list[dict[str, Any]]
) -> None:
    """The count of conflicting pods says the same as comparing volumes node by node, also hypothetically."""
    handle = FakeHandle().load(*(make_node(f"n{k}") for k in range(3)))
    handle.load(*(make_pod(f"q{k}", volumes=v, node=f"n{node}") for k, (node, v) in enumerate(placed)))
    plugin, info = VolumeRestrictions(None, handle), handle.cluster.templates.info(make_pod(volumes=wanted))
    state = CycleState(info)
    plugin.pre_filter(state, info, handle.cluster.view())
    for view, nodes in worlds(handle.cluster, make_pod("added", volumes=wanted[:1])):
        fitting = plugin.filter_nodes(state, info.template, view).fitting
        for position, node in nodes:
            theirs = [volume for pod in node.pods for volume in pod.spec.volumes]
            conflict = any(_same_disk(a, b) for a in info.pod.spec.volumes for b in theirs)
            assert fitting[position] == (not conflict)


def _same_disk(a: Volume, b: Volume) -> bool:
    if a.gce_persistent_disk and b.gce_persistent_disk:
        read = a.gce_persistent_disk.read_only and b.gce_persistent_disk.read_only
        return a.gce_persistent_disk.pd_name == b.gce_persistent_disk.pd_name and not read
    if a.aws_elastic_block_store and b.aws_elastic_block_store:
        return a.aws_elastic_block_store.volume_id == b.aws_elastic_block_store.volume_id
    if a.iscsi and b.iscsi:
        return a.iscsi.iqn == b.iscsi.iqn and not (a.iscsi.read_only and b.iscsi.read_only)
    return False
