from __future__ import annotations

from typing import Any

import pytest

from kubesched.config.feature_gates import FeatureGates
from kubesched.config.plugin_args import UtilizationShapePoint, VolumeBindingArgs
from kubesched.config.versions import Version
from kubesched.objects import CSIDriver
from kubesched.scheduler.framework import Hint
from kubesched.scheduler.plugins.volume_binding import VolumeBinding
from kubesched.testing import (
    make_csi_capacity,
    make_csi_driver,
    make_csi_node,
    make_node,
    make_pod,
    make_pv,
    make_pvc,
    make_storage_class,
)
from kubesched.testing.handle import FakeHandle, ask

HOSTNAME = "kubernetes.io/hostname"
MIGRATED = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"}
ZONE_A = [{"matchLabelExpressions": [{"key": "topology.kubernetes.io/zone", "values": ["a"]}]}]
STATIC = make_storage_class("sc", provisioner="kubernetes.io/no-provisioner", wait_for_first_consumer=True)
DYNAMIC = make_storage_class("dyn", wait_for_first_consumer=True)
WAITING = make_pvc("c", storage_class="dyn", storage="2Gi")
CHECKED = make_csi_driver(storage_capacity=True)


def on(*values: str) -> dict[str, Any]:
    return {"nodeSelectorTerms": [{"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": list(values)}]}]}


def claim(**spec: Any) -> Any:
    return make_pvc("c", storage_class="sc", **spec)


SHAPE = (UtilizationShapePoint(utilization=0, score=0), UtilizationShapePoint(utilization=100, score=10))


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param([DYNAMIC, WAITING], {"n": 0, "m": 0}, id="nothing is known of the room"),
        pytest.param(
            [
                DYNAMIC,
                WAITING,
                CHECKED,
                make_csi_capacity(
                    "x", storage_class="dyn", capacity="4Gi", node_topology={"matchLabels": {HOSTNAME: "n"}}
                ),
                make_csi_capacity(
                    "y", storage_class="dyn", capacity="20Gi", node_topology={"matchLabels": {HOSTNAME: "m"}}
                ),
            ],
            {"n": 50, "m": 10},
            id="room to provision",
        ),
        pytest.param(
            [
                STATIC,
                claim(storage="1Gi"),
                make_pv("v", capacity="4Gi", storage_class="sc", node_affinity=on("n")),
                make_pv("w", capacity="1Gi", storage_class="sc", claim="default/c"),
            ],
            {"n": 100, "m": 100},
            id="a volume set aside",
        ),
        pytest.param(
            [
                STATIC,
                claim(storage="1Gi"),
                make_pv("v", capacity="4Gi", storage_class="sc", node_affinity=on("n")),
                make_pv("w", capacity="8Gi", storage_class="sc", node_affinity=on("m")),
            ],
            {"n": 25, "m": 12},
            id="volumes of different sizes",
        ),
    ],
)
def test_scores_by_storage_with_the_gate(objects: list[Any], expected: dict[str, int]) -> None:
    """The fuller the storage would be, the higher this curve scores."""
    gates = FeatureGates({"StorageCapacityScoring": True})
    handle = FakeHandle(gates=gates).load(make_node("n", zone="a"), make_node("m", zone="b"), *objects)
    plugin = VolumeBinding(VolumeBindingArgs(shape=SHAPE), handle)
    assert ask(plugin, make_pod(claims=["c"]), handle.cluster).scores == expected
    assert ask(plugin, make_pod(), handle.cluster).scores == {"n": 0, "m": 0}


def test_does_not_score_before_1_37() -> None:
    """The gate was off."""
    handle = FakeHandle(gates=FeatureGates(version=Version(1, 36))).load(
        make_node("n"), STATIC, claim(), make_pv("v", storage_class="sc")
    )
    assert ask(VolumeBinding(VolumeBindingArgs(), handle), make_pod(claims=["c"]), handle.cluster).scores is None


def checking(value: bool) -> CSIDriver:
    return make_csi_driver("d", storage_capacity=value)


@pytest.mark.parametrize(
    ("event", "old", "new", "expected"),
    [
        pytest.param(0, None, STATIC, Hint.QUEUE, id="a new class"),
        pytest.param(
            0, DYNAMIC, make_storage_class("dyn", allowed_topologies=ZONE_A), Hint.QUEUE, id="other topologies"
        ),
        pytest.param(0, DYNAMIC, make_storage_class("dyn", parameters={"x": "y"}), Hint.SKIP, id="other parameters"),
        pytest.param(1, None, make_pvc("c"), Hint.QUEUE, id="the pod's claim"),
        pytest.param(1, None, make_pvc("p-e"), Hint.QUEUE, id="its ephemeral volume's claim"),
        pytest.param(1, None, make_pvc("x"), Hint.SKIP, id="another claim"),
        pytest.param(1, None, make_pvc("c", namespace="o"), Hint.SKIP, id="a claim of another namespace"),
        pytest.param(4, None, make_csi_node(), Hint.QUEUE, id="a new CSINode"),
        pytest.param(4, make_csi_node(), make_csi_node(annotations=MIGRATED), Hint.QUEUE, id="a plugin was replaced"),
        pytest.param(4, make_csi_node(), make_csi_node(limits={"d": 1}), Hint.SKIP, id="a limit has changed"),
        pytest.param(5, checking(True), checking(False), Hint.QUEUE, id="a driver no longer checks"),
        pytest.param(5, checking(False), checking(True), Hint.SKIP, id="a driver begins to check"),
        pytest.param(5, checking(True), checking(True), Hint.SKIP, id="a driver still checks"),
        pytest.param(5, checking(False), checking(False), Hint.SKIP, id="a driver never checked"),
        pytest.param(6, None, make_csi_capacity(), Hint.QUEUE, id="a new report of room"),
        pytest.param(6, make_csi_capacity(capacity="1Gi"), make_csi_capacity(capacity="2Gi"), Hint.QUEUE, id="more"),
        pytest.param(6, make_csi_capacity(capacity="2Gi"), make_csi_capacity(capacity="1Gi"), Hint.SKIP, id="less"),
        pytest.param(6, make_csi_capacity(capacity="1Gi"), make_csi_capacity(capacity="1Gi"), Hint.SKIP, id="as much"),
        pytest.param(6, make_csi_capacity(), make_csi_capacity(capacity="1Gi"), Hint.QUEUE, id="room at last"),
    ],
)
def test_hints(event: int, old: Any, new: Any, expected: Hint) -> None:
    """Only what may bring volumes is worth another attempt."""
    handle = FakeHandle()
    volumes = [{"name": "e", "ephemeral": {}}, {"name": "i", "csi": {"driver": "d"}}]
    waiting = handle.cluster.templates.info(make_pod("p", claims=["c"], volumes=volumes))
    hint = VolumeBinding(VolumeBindingArgs(), handle).events_to_register()[event].hint
    assert hint is not None
    assert hint(waiting, old, new) is expected
