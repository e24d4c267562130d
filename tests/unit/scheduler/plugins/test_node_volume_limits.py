from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched.config.feature_gates import FeatureGates
from kubesched.objects import CSIDriver, PersistentVolume, PersistentVolumeClaim, Pod, VolumeAttachment, convert
from kubesched.scheduler.columns import NodeView, WhatIf
from kubesched.scheduler.framework import Code, CycleState, Hint
from kubesched.scheduler.plugins.node_volume_limits import NodeVolumeLimits
from kubesched.testing import (
    make_csi_node,
    make_node,
    make_pod,
    make_pv,
    make_pvc,
    make_storage_class,
    make_volume_attachment,
)
from kubesched.testing.handle import FakeHandle, ask

DRIVER, EBS = "csi.example.com", "ebs.csi.aws.com"
EXCEEDED = "node(s) exceed max volume count"


def csi(handle: str, driver: str = DRIVER) -> dict[str, Any]:
    return {"csi": {"driver": driver, "volumeHandle": handle}}


def bound(name: str, handle: str = "", driver: str = DRIVER) -> list[Any]:
    """A claim with its volume."""
    volume = make_pv(f"pv-{name}", claim=f"default/{name}", spec=csi(handle or name, driver))
    return [make_pvc(name, volume=f"pv-{name}"), volume]


def ebs(volume_id: str) -> dict[str, Any]:
    return {"name": "v", "awsElasticBlockStore": {"volumeID": volume_id}}


def decide(handle: FakeHandle, pod: Pod, node: str = "n") -> tuple[Code, tuple[str, ...]]:
    status = ask(NodeVolumeLimits(None, handle), pod, handle.cluster).statuses[node]
    return status.code, status.reasons


FITS = (Code.SUCCESS, ())
FULL = (Code.UNSCHEDULABLE, (EXCEEDED,))


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        pytest.param(make_csi_node("n", limits={DRIVER: 3}), FITS, id="just enough room"),
        pytest.param(make_csi_node("n", limits={DRIVER: 2}), FULL, id="one too many"),
        pytest.param(make_csi_node("n", limits={DRIVER: None}), FITS, id="a driver without a limit"),
        pytest.param(make_csi_node("n", limits={"other": 1}), FITS, id="another driver's limit"),
        pytest.param(make_csi_node("m", limits={DRIVER: 1}), FITS, id="no CSINode"),
    ],
)
def test_limit(limit: Any, expected: tuple[Code, tuple[str, ...]]) -> None:
    """Two volumes are attached, a third one comes."""
    objects = [obj for name in "abc" for obj in bound(name)]
    handle = FakeHandle().load(make_node("n"), limit, *objects, make_pod("q", claims=["a", "b"], node="n"))
    assert decide(handle, make_pod(claims=["c"])) == expected


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        pytest.param(["a"], FITS, id="a volume that is attached already is not new"),
        pytest.param(["same"], FITS, id="another claim of an attached volume"),
        pytest.param(["a", "b"], FULL, id="one that is attached, and a new one"),
        pytest.param(["plain"], FITS, id="a volume of no driver"),
        pytest.param(["homeless"], FITS, id="a claim without volume and class"),
        pytest.param(["waiting"], FULL, id="a volume that is yet to be provisioned"),
        pytest.param(["lost"], FULL, id="a claim whose volume is gone counts by its class"),
    ],
)
def test_what_counts_as_new(claims: list[str], expected: tuple[Code, tuple[str, ...]]) -> None:
    """The node is full: only what needs no further attachment fits."""
    handle = FakeHandle().load(
        make_node("n"),
        make_csi_node("n", limits={DRIVER: 1}),
        make_storage_class("sc", provisioner=DRIVER, wait_for_first_consumer=True),
        *bound("a"),
        *bound("same", "a"),
        *bound("b"),
        make_pvc("plain", volume="hostpath"),
        make_pv("hostpath", spec={"hostPath": {"path": "/x"}}),
        make_pvc("homeless"),
        make_pvc("waiting", storage_class="sc"),
        make_pvc("lost", volume="gone", storage_class="sc"),
        make_pod("q", claims=["a"], node="n"),
    )
    assert decide(handle, make_pod(claims=claims)) == expected


@pytest.mark.parametrize(
    ("claims", "limits", "are_alike"),
    [
        pytest.param(("b", "c"), {DRIVER: 1}, True, id="disks that nobody uses yet"),
        pytest.param(("b", "foreign"), {DRIVER: 1}, False, id="disks of two drivers"),
        pytest.param(("a", "b"), {DRIVER: 1}, False, id="a disk in use, and a new one"),
        pytest.param(("a", "same"), {DRIVER: 1}, True, id="two claims of one disk in use"),
        pytest.param(("a", "b"), {"other": 1}, True, id="a disk in use, of a driver that nobody limits"),
    ],
)
def test_pods_that_share_answers(claims: tuple[str, str], limits: dict[str, int], are_alike: bool) -> None:
    """Where nodes may answer otherwise about one of two pods, their answers are kept apart."""
    handle = FakeHandle().load(make_node("n"), make_csi_node("n", limits=limits))
    handle.load(*bound("a"), *bound("same", "a"), *bound("b"), *bound("c"), *bound("foreign", driver="other"))
    handle.load(make_pod("q", claims=["a"], node="n"))
    plugin = NodeVolumeLimits(None, handle)
    one, other = [plugin.signature(handle.cluster.templates.info(make_pod(claims=[name])).template) for name in claims]
    assert (one == other) is are_alike


def test_attachments_count_beside_pods() -> None:
    """An attached volume counts without a pod, but not twice where a pod uses it; a new pod's own counts twice."""
    handle = FakeHandle().load(
        make_node("n"), make_csi_node("n", limits={DRIVER: 2}), *bound("a"), *bound("b"), *bound("c")
    )
    plugin = NodeVolumeLimits(None, handle)

    def code(claim: str) -> Code:
        return ask(plugin, make_pod(claims=[claim]), handle.cluster).statuses["n"].code

    handle.load(make_pod("q", claims=["a"], node="n"))
    handle.load(make_volume_attachment("va", attacher=DRIVER, node="n", volume="pv-a"))
    assert code("c") is Code.SUCCESS
    attachment = make_volume_attachment("vb", attacher=DRIVER, node="n", volume="pv-b")
    handle.load(attachment)
    assert code("c") is Code.UNSCHEDULABLE
    assert code("b") is Code.UNSCHEDULABLE
    assert code("a") is Code.SUCCESS
    handle.objects.of(VolumeAttachment).remove(attachment)
    assert code("c") is Code.SUCCESS


@pytest.mark.parametrize(
    "attachment",
    [
        pytest.param(make_volume_attachment(attacher="", node="n", volume="pv-b"), id="no attacher"),
        pytest.param(make_volume_attachment(attacher=DRIVER, node="m", volume="pv-b"), id="another node"),
        pytest.param(make_volume_attachment(attacher=DRIVER, node="n", volume="gone"), id="an unknown volume"),
        pytest.param(
            convert({"metadata": {"name": "x"}, "spec": {"attacher": DRIVER, "nodeName": "n"}}, VolumeAttachment),
            id="an inline volume",
        ),
    ],
)
def test_attachments_that_do_not_count(attachment: VolumeAttachment) -> None:
    """Only CSI volumes that are known and attached to the node count."""
    handle = FakeHandle().load(
        make_node("n"), make_csi_node("n", limits={DRIVER: 1}), *bound("a"), *bound("b"), attachment
    )
    assert decide(handle, make_pod(claims=["a"])) == FITS


def test_migrated_in_tree_volumes() -> None:
    """A disk of an in-tree plugin counts for the CSI driver that has replaced it, by whatever way it is named."""
    handle = FakeHandle().load(
        make_node("n"),
        make_csi_node("n", limits={EBS: 1}),
        make_storage_class("old", provisioner="kubernetes.io/aws-ebs", wait_for_first_consumer=True),
        make_pvc("in-tree", volume="v1"),
        make_pv("v1", spec={"awsElasticBlockStore": {"volumeID": "aws://zone/vol-1"}}),
        make_pvc("new", storage_class="old"),
        *bound("driver", "vol-1", EBS),
        make_pod("q", volumes=[ebs("vol-1")], node="n"),
    )
    for fitting in (make_pod(claims=["in-tree"]), make_pod(claims=["driver"]), make_pod(volumes=[ebs("vol-1")])):
        assert decide(handle, fitting) == FITS
    for excess in (make_pod(claims=["new"]), make_pod(volumes=[ebs("vol-2")])):
        assert decide(handle, excess) == FULL


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(make_pod(), True, id="no volumes"),
        pytest.param(make_pod(volumes=[{"name": "v", "configMap": {}}]), True, id="a config map"),
        pytest.param(make_pod(claims=["c"]), False, id="a claim"),
        pytest.param(make_pod(volumes=[{"name": "v", "ephemeral": {}}]), False, id="an ephemeral volume"),
        pytest.param(make_pod(volumes=[ebs("v")]), False, id="a disk of a replaced plugin"),
        pytest.param(make_pod(volumes=[{"name": "v", "vsphereVolume": {}}]), False, id="one that is not counted"),
    ],
)
def test_pre_filter_skips_pods_without_attachable_volumes(pod: Pod, expected: bool) -> None:
    """Filter has nothing to say about them."""
    status = ask(NodeVolumeLimits(None, handle := FakeHandle()), pod, handle.cluster).pre_filter
    assert status is not None
    assert status.is_skip is expected


EPHEMERAL = make_pod("p", volumes=[{"name": "v", "ephemeral": {}}])


@pytest.mark.parametrize(
    ("pod", "objects", "code", "message"),
    [
        pytest.param(
            make_pod(claims=["c"]),
            [],
            Code.UNRESOLVABLE,
            'looking up PVC default/c: persistentvolumeclaim "c" not found',
            id="a claim that is missing",
        ),
        pytest.param(
            EPHEMERAL,
            [make_pvc("p-v")],
            Code.ERROR,
            "PVC default/p-v was not created for pod default/p (pod is not owner)",
            id="an ephemeral volume's claim that is somebody else's",
        ),
        pytest.param(
            make_pod(volumes=[ebs("aws:///nonsense")]),
            [make_csi_node("n")],
            Code.ERROR,
            "converting volume(v) from inline to csi: failed to translate Kubernetes ID to EBS Volume ID "
            "Invalid format for AWS volume (aws:///nonsense)",
            id="a disk that does not translate",
        ),
        pytest.param(make_pod(volumes=[ebs("aws:///nonsense")]), [], Code.SUCCESS, "", id="unless there is no CSINode"),
        pytest.param(make_pod(claims=[""]), [], Code.ERROR, "PersistentVolumeClaim had no name", id="no name"),
    ],
)
def test_volumes_that_cannot_be_told(pod: Pod, objects: list[Any], code: Code, message: str) -> None:
    """What is wrong with the pod's own volumes is said for every node."""
    handle = FakeHandle().load(make_node("n"), *objects)
    status = ask(NodeVolumeLimits(None, handle), pod, handle.cluster).statuses["n"]
    assert (status.code, status.message) == (code, message)


def test_a_placed_pod_whose_volumes_cannot_be_told_is_an_error_on_limited_nodes() -> None:
    """A claim that a placed pod lost does not count; one that is not its own is an error, as upstream."""
    handle = FakeHandle().load(
        make_node("n"),
        make_csi_node("n", limits={DRIVER: 1}),
        *bound("a"),
        make_pod("q", claims=["never-made"], node="n"),
    )
    assert decide(handle, make_pod(claims=["a"])) == FITS
    handle.load(make_pvc("r-v"), make_pod("r", volumes=[{"name": "v", "ephemeral": {}}], node="n"))
    assert decide(handle, make_pod(claims=["a"]))[0] is Code.ERROR


def test_a_broken_placed_pod_matters_to_its_node_alone_and_not_once_it_is_gone() -> None:
    """The limits of other nodes hold all the same; and preemption may remove the pod."""
    handle = FakeHandle().load(*(make_node(name) for name in "abc"), *bound("new"), *bound("old"))
    handle.load(*(make_csi_node(name, limits={DRIVER: 1}) for name in "abc"))
    handle.load(make_pvc("r-v"), make_pod("r", volumes=[{"name": "v", "ephemeral": {}}], node="a"))
    handle.load(make_pod("q", claims=["old"], node="b"))
    plugin, info = NodeVolumeLimits(None, handle), handle.cluster.templates.info(make_pod(claims=["new"]))
    nodes = handle.cluster.view()

    def codes(view: NodeView) -> list[Code]:
        verdict = plugin.filter_nodes(CycleState(info), info.template, view)
        return [verdict.status(position, plugin.name).code for position in range(len(view))]

    assert codes(nodes) == [Code.ERROR, Code.UNSCHEDULABLE, Code.SUCCESS]
    gone = WhatIf.removed(handle.cluster.pods, np.array([0, 1]), np.array([0, 1]))
    assert codes(nodes.supposing(gone)) == [Code.SUCCESS, Code.SUCCESS, Code.SUCCESS]


def test_follows_claims_volumes_classes_nodes_and_limits() -> None:
    """What is kept about nodes changes with everything that it was read from."""
    handle = FakeHandle().load(make_node("n"), make_csi_node("n", limits={DRIVER: 1}), *bound("new"))
    handle.load(make_pvc("c", storage_class="sc"), make_pod("q", claims=["c"], node="n"))
    plugin, pod = NodeVolumeLimits(None, handle), make_pod(claims=["new"])

    def code() -> Code:
        return ask(plugin, pod, handle.cluster).statuses["n"].code

    assert code() is Code.SUCCESS
    handle.load(make_storage_class("sc", provisioner=DRIVER))
    assert code() is Code.UNSCHEDULABLE
    handle.load(make_csi_node("n", limits={DRIVER: 2}))
    assert code() is Code.SUCCESS
    handle.load(make_csi_node("n", limits={DRIVER: 1}), *bound("c", driver="other"))
    assert code() is Code.SUCCESS
    handle.load(make_pv("pv-c", spec=csi("c")))
    assert code() is Code.UNSCHEDULABLE
    handle.objects.of(PersistentVolume).remove(make_pv("pv-c"))
    assert code() is Code.SUCCESS
    handle.objects.of(PersistentVolumeClaim).remove(make_pvc("c"))
    handle.load(make_pod("r", claims=["new"], node="n"))
    assert code() is Code.SUCCESS
    handle.cluster.displace("default/q")
    handle.cluster.displace("default/r")
    handle.cluster.remove_node("n")
    handle.load(make_node("m"), make_csi_node("m", limits={DRIVER: 0}))
    assert ask(plugin, pod, handle.cluster).statuses["m"].code is Code.UNSCHEDULABLE


def test_a_driver_that_must_be_installed() -> None:
    """With the gate, a driver can keep pods from nodes where it is missing."""
    gates = FeatureGates({"VolumeLimitScaling": True})
    handle = FakeHandle(gates=gates).load(make_node("n"), make_node("m"), make_csi_node("m", limits={DRIVER: 1}))
    driver = {"metadata": {"name": DRIVER}, "spec": {"preventPodSchedulingIfMissing": True}}
    handle.load(*bound("a"), convert(driver, CSIDriver))
    message = f"{DRIVER} CSI driver is not installed on the node"
    assert decide(handle, make_pod(claims=["a"])) == (Code.UNSCHEDULABLE, (message,))
    assert decide(handle, make_pod(claims=["a"]), "m") == FITS


@pytest.mark.parametrize(
    ("event", "old", "new", "expected"),
    [
        pytest.param(
            1, make_csi_node(limits={DRIVER: 1}), make_csi_node(limits={DRIVER: 2}), Hint.QUEUE, id="a limit grew"
        ),
        pytest.param(
            1, make_csi_node(limits={DRIVER: 2}), make_csi_node(limits={DRIVER: 1}), Hint.SKIP, id="a limit shrank"
        ),
        pytest.param(
            1,
            make_csi_node(limits={DRIVER: 1}),
            make_csi_node(limits={DRIVER: 1}, annotations={"a": "b"}),
            Hint.SKIP,
            id="a limit stayed",
        ),
        pytest.param(1, make_csi_node(), make_csi_node(limits={DRIVER: 1}), Hint.QUEUE, id="a driver came"),
        pytest.param(2, make_pod("q", claims=["x"], node="n"), None, Hint.QUEUE, id="a pod with a claim left"),
        pytest.param(2, make_pod("q", claims=["x"]), None, Hint.SKIP, id="that pod was nowhere"),
        pytest.param(2, make_pod("q", node="n"), None, Hint.SKIP, id="a pod without volumes left"),
        pytest.param(2, make_pod("q", volumes=[ebs("v")], node="n"), None, Hint.QUEUE, id="a pod with a disk left"),
        pytest.param(
            2,
            make_pod("q", volumes=[{"name": "e", "ephemeral": {}}], node="n"),
            None,
            Hint.QUEUE,
            id="a pod with an ephemeral volume left",
        ),
        pytest.param(
            2,
            make_pod("q", volumes=[{"name": "e", "emptyDir": {}}], node="n"),
            None,
            Hint.SKIP,
            id="a pod with nothing to attach left",
        ),
        pytest.param(3, None, make_pvc("c"), Hint.QUEUE, id="the pod's claim came"),
        pytest.param(3, None, make_pvc("p-e"), Hint.QUEUE, id="its ephemeral volume's claim came"),
        pytest.param(3, None, make_pvc("d"), Hint.SKIP, id="another claim came"),
        pytest.param(
            4, make_volume_attachment(attacher="x", node="n", volume="v"), None, Hint.QUEUE, id="a volume was detached"
        ),
    ],
)
def test_hints(event: int, old: Any, new: Any, expected: Hint) -> None:
    """Only what may make room is worth another attempt."""
    handle = FakeHandle()
    waiting = handle.cluster.templates.info(make_pod("p", claims=["c"], volumes=[{"name": "e", "ephemeral": {}}]))
    hint = NodeVolumeLimits(None, handle).events_to_register()[event].hint
    assert hint is not None
    assert hint(waiting, old, new) is expected


@pytest.mark.parametrize(
    ("attacher", "volume", "expected"),
    [
        pytest.param(EBS, ebs("v"), Hint.QUEUE, id="by the driver of the pod's disk"),
        pytest.param(DRIVER, ebs("v"), Hint.SKIP, id="by another driver"),
        pytest.param(DRIVER, ebs("aws:///x"), Hint.QUEUE, id="and the disk cannot be told"),
        pytest.param("file.csi.azure.com", {"name": "v", "azureFile": {}}, Hint.QUEUE, id="also of uncounted drivers"),
    ],
)
def test_hint_after_a_detachment_for_disks(attacher: str, volume: dict[str, Any], expected: Hint) -> None:
    """A pod without claims cares for its disks' driver alone."""
    handle = FakeHandle()
    waiting = handle.cluster.templates.info(make_pod(volumes=[volume]))
    hint = NodeVolumeLimits(None, handle).events_to_register()[4].hint
    assert hint is not None
    assert hint(waiting, make_volume_attachment(attacher=attacher, node="n", volume="v"), None) is expected


CLAIMS = tuple("abcd")
POD_CLAIMS = st.lists(st.sampled_from(CLAIMS), max_size=3, unique=True)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), POD_CLAIMS), max_size=6),
    POD_CLAIMS.filter(bool),
    st.lists(st.none() | st.integers(0, 3), min_size=3, max_size=3),
    st.sets(st.tuples(st.integers(0, 2), st.sampled_from(CLAIMS))),
)
def test_equals_a_count_on_every_node(
    worlds: Any,
    placed: list[tuple[int, list[str]]],
    wanted: list[str],
    limits: list[int | None],
    attachments: set[tuple[int, str]],
) -> None:
    """Columns say the same as counting each node's volumes, also with pods added or removed hypothetically."""
    handle = FakeHandle().load(*(make_node(f"n{k}") for k in range(3)))
    for k, limit in enumerate(limits):
        handle.load(make_csi_node(f"n{k}", limits={DRIVER: limit}))
    handle.load(*(obj for name in CLAIMS for obj in bound(name)))
    plugin = NodeVolumeLimits(None, handle)
    info = handle.cluster.templates.info(make_pod(claims=wanted))
    state = CycleState(info)
    plugin.filter_nodes(state, info.template, handle.cluster.view())  # so that the rest comes in by changes
    handle.load(*(make_pod(f"q{k}", claims=claims, node=f"n{node}") for k, (node, claims) in enumerate(placed)))
    for node, claim in sorted(attachments):
        handle.load(make_volume_attachment(f"{node}{claim}", attacher=DRIVER, node=f"n{node}", volume=f"pv-{claim}"))
    for view, nodes in worlds(handle.cluster, make_pod("added", claims=["a"])):
        fitting = plugin.filter_nodes(state, info.template, view).fitting
        for position, node in nodes:
            k = int(node.name[1:])
            used = {name for pod in node.pod_infos for name in pod.template.claim_names}
            attached = used | {claim for on, claim in attachments if on == k}
            new = set(wanted) - used
            limit = limits[k]
            assert fitting[position] == (limit is None or not new or len(attached) + len(new) <= limit)


def test_removing_a_pod_in_thought_makes_room() -> None:
    """Preemption can help, unless the volume stays attached for another pod."""
    handle = FakeHandle().load(
        make_node("n"),
        make_csi_node("n", limits={DRIVER: 1}),
        *bound("a"),
        *bound("b"),
        make_pod("q", claims=["a"], node="n"),
    )
    plugin, info = NodeVolumeLimits(None, handle), handle.cluster.templates.info(make_pod(claims=["b"]))
    pods, position = handle.cluster.pods, np.array([0], dtype=np.intp)

    def fits() -> bool:
        gone = WhatIf.removed(pods, np.array([pods.row_of("default/q")], dtype=np.intp), position)
        view = handle.cluster.view().supposing(gone)
        return bool(plugin.filter_nodes(CycleState(info), info.template, view).fitting[0])

    assert fits()
    handle.load(make_pod("r", claims=["a"], node="n"))
    assert not fits()
