from __future__ import annotations

from typing import Any

import pytest

from kubesched.config.plugin_args import VolumeBindingArgs
from kubesched.objects import Pod, StorageClass, convert
from kubesched.scheduler.framework import FIXED, Code
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

NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"
NO_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
HOSTNAME = "kubernetes.io/hostname"
STATIC = make_storage_class("sc", provisioner="kubernetes.io/no-provisioner", wait_for_first_consumer=True)
DYNAMIC = make_storage_class("dyn", wait_for_first_consumer=True)


def on(*values: str, key: str = HOSTNAME) -> dict[str, Any]:
    return {"nodeSelectorTerms": [{"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}]}


def reasons(*objects: Any, pod: Pod | None = None, handle: FakeHandle | None = None) -> dict[str, list[str]]:
    """Per node, why it does not take a pod with the claim `c`."""
    handle = (handle or FakeHandle()).load(make_node("n", zone="a"), make_node("m", zone="b"), *objects)
    plugin = VolumeBinding(VolumeBindingArgs(), handle)
    answer = ask(plugin, pod or make_pod(claims=["c"]), handle.cluster)
    assert answer.pre_filter is not None
    assert answer.pre_filter.is_success, answer.pre_filter
    assert {s.code for s in answer.statuses.values()} <= {Code.SUCCESS, Code.UNRESOLVABLE}
    return {name: sorted(status.reasons) for name, status in answer.statuses.items()}


OWNED = convert(
    {
        "metadata": {
            "name": "p-v",
            "namespace": "default",
            "ownerReferences": [{"controller": True, "uid": "default/p"}],
        },
        "spec": {"volumeName": "v"},
    },
    type(make_pvc()),
)
EPHEMERAL = make_pod("p", volumes=[{"name": "v", "ephemeral": {}}])


@pytest.mark.parametrize(
    ("pod", "objects", "code", "message"),
    [
        pytest.param(make_pod(), [], Code.SKIP, "", id="no claims"),
        pytest.param(make_pod(volumes=[{"name": "v", "configMap": {}}]), [], Code.SKIP, "", id="a config map"),
        pytest.param(
            make_pod(claims=["c"]), [], Code.UNRESOLVABLE, 'persistentvolumeclaim "c" not found', id="a missing claim"
        ),
        pytest.param(
            EPHEMERAL,
            [],
            Code.UNRESOLVABLE,
            'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-v"',
            id="an ephemeral volume whose claim is not made yet",
        ),
        pytest.param(
            EPHEMERAL,
            [make_pvc("p-v")],
            Code.UNRESOLVABLE,
            "PVC default/p-v was not created for pod default/p (pod is not owner)",
            id="an ephemeral volume whose claim is somebody else's",
        ),
        pytest.param(
            EPHEMERAL,
            [OWNED],
            Code.UNRESOLVABLE,
            "pod has unbound immediate PersistentVolumeClaims",
            id="an ephemeral volume that is not bound yet",
        ),
        pytest.param(
            make_pod(claims=["c"]),
            [make_pvc("c", volume="v", phase="Lost")],
            Code.UNRESOLVABLE,
            'persistentvolumeclaim "c" bound to non-existent persistentvolume "v"',
            id="a claim that has lost its volume",
        ),
        pytest.param(
            make_pod(claims=["c"]),
            [make_pvc("c", deleting=True)],
            Code.UNRESOLVABLE,
            'persistentvolumeclaim "c" is being deleted',
            id="a claim that is being deleted",
        ),
        pytest.param(
            make_pod(claims=["c"]),
            [make_pvc("c")],
            Code.UNRESOLVABLE,
            "pod has unbound immediate PersistentVolumeClaims",
            id="a claim without class that is not bound",
        ),
        pytest.param(
            make_pod(claims=["c"]),
            [make_pvc("c", storage_class="unknown")],
            Code.UNRESOLVABLE,
            "pod has unbound immediate PersistentVolumeClaims",
            id="a class that does not exist",
        ),
        pytest.param(
            make_pod(claims=["c"]),
            [make_pvc("c", storage_class="sc", spec={"volumeName": "v"}), STATIC],
            Code.UNRESOLVABLE,
            "pod has unbound immediate PersistentVolumeClaims",
            id="a claim that names its volume is left to the controller",
        ),
        pytest.param(
            make_pod(claims=["c"]),
            [make_pvc("c", storage_class="sc"), convert({"metadata": {"name": "sc"}}, StorageClass)],
            Code.ERROR,
            'VolumeBindingMode not set for StorageClass "sc"',
            id="a class without a mode",
        ),
        pytest.param(
            make_pod(claims=["c"]), [make_pvc("c", storage_class="sc"), STATIC], Code.SUCCESS, "", id="one that waits"
        ),
    ],
)
def test_pre_filter(pod: Pod, objects: list[Any], code: Code, message: str) -> None:
    """A pod whose claims are not ready is rejected on all nodes."""
    handle = FakeHandle().load(make_node("n"), *objects)
    status = ask(VolumeBinding(VolumeBindingArgs(), handle), pod, handle.cluster).pre_filter
    assert status is not None
    assert (status.code, status.message) == (code, message)


BOUND = make_pvc("c", volume="v")
IN_TREE = {"awsElasticBlockStore": {"volumeID": "vol-1"}}
MIGRATED = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"}
FIELDS = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["x"]}]}]}


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param([BOUND, make_pv("v")], {"n": [], "m": []}, id="a volume that all nodes have access to"),
        pytest.param([BOUND, make_pv("v", node_affinity=on("n"))], {"n": [], "m": [NODE_CONFLICT]}, id="one node"),
        pytest.param([BOUND], {"n": [NO_VOLUME], "m": [NO_VOLUME]}, id="a volume that is gone"),
        pytest.param(
            [BOUND, make_pv("v", node_affinity=FIELDS)], {"n": [], "m": []}, id="fields of the affinity do not count"
        ),
        pytest.param(
            [BOUND, make_pv("v", node_affinity=on("n", key="bad key!"))],
            {"n": [NODE_CONFLICT], "m": [NODE_CONFLICT]},
            id="an affinity that cannot be understood",
        ),
        pytest.param(
            [
                BOUND,
                make_pv("v", spec=IN_TREE, node_affinity=on("a", key="topology.kubernetes.io/zone")),
                make_csi_node("n", annotations=MIGRATED),
            ],
            {"n": [NODE_CONFLICT], "m": [NODE_CONFLICT]},
            id="where the plugin was replaced, the driver's topology counts",
        ),
    ],
)
def test_bound_claims(objects: list[Any], expected: dict[str, list[str]]) -> None:
    """Nodes must have access to the volumes of bound claims."""
    assert reasons(*objects) == expected


IN_ZONE_A = on("a", key="topology.kubernetes.io/zone")
NONSENSE = {"awsElasticBlockStore": {"volumeID": "aws:///nonsense"}}


@pytest.mark.parametrize(
    ("one", "other", "are_alike"),
    [
        pytest.param({}, {}, True, id="from everywhere"),
        pytest.param({"node_affinity": on("n")}, {}, False, id="from one node, and from everywhere"),
        pytest.param(
            {"spec": IN_TREE, "node_affinity": IN_ZONE_A},
            {"spec": {"awsElasticBlockStore": {"volumeID": "vol-2"}}, "node_affinity": IN_ZONE_A},
            True,
            id="two disks of one plugin in one zone",
        ),
        pytest.param(
            {"spec": IN_TREE, "node_affinity": IN_ZONE_A},
            {"node_affinity": IN_ZONE_A},
            False,
            id="a plugin that was replaced",
        ),
        pytest.param(
            {"spec": IN_TREE},
            {"spec": IN_TREE, "labels": {"topology.kubernetes.io/zone": "a"}},
            False,
            id="a label that only the driver looks at",
        ),
        pytest.param({"spec": IN_TREE}, {"spec": NONSENSE}, False, id="a disk that does not translate"),
    ],
)
def test_pods_that_share_answers(one: dict[str, Any], other: dict[str, Any], are_alike: bool) -> None:
    """Pods with volumes that are reached from the same nodes are alike."""
    handle = FakeHandle().load(make_pvc("c1", volume="v1"), make_pvc("c2", volume="v2"))
    handle.load(make_pv("v1", claim="default/c1", **one), make_pv("v2", claim="default/c2", **other))
    plugin = VolumeBinding(VolumeBindingArgs(), handle)
    first, second = [
        plugin.signature(handle.cluster.templates.info(make_pod(claims=[name])).template) for name in ("c1", "c2")
    ]
    assert first is not None
    assert (first == second) is are_alike


def claim(**spec: Any) -> Any:
    return make_pvc("c", storage_class="sc", **spec)


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param([claim()], [BIND_CONFLICT], id="there is no volume"),
        pytest.param([claim(), make_pv("v", storage_class="sc")], [], id="one that fits"),
        pytest.param([claim(storage="2Gi"), make_pv("v", storage_class="sc")], [BIND_CONFLICT], id="too small"),
        pytest.param([claim(), make_pv("v", storage_class="other")], [BIND_CONFLICT], id="another class"),
        pytest.param([claim(), make_pv("v", storage_class="sc", phase="Released")], [BIND_CONFLICT], id="released"),
        pytest.param([claim(), make_pv("v", storage_class="sc", claim="o/x")], [BIND_CONFLICT], id="another's"),
        pytest.param(
            [claim(access_modes=("ReadWriteMany",)), make_pv("v", storage_class="sc")], [BIND_CONFLICT], id="its modes"
        ),
        pytest.param(
            [claim(spec={"volumeMode": "Block"}), make_pv("v", storage_class="sc")],
            [BIND_CONFLICT],
            id="a block device",
        ),
        pytest.param(
            [claim(spec={"volumeAttributesClassName": "gold"}), make_pv("v", storage_class="sc")],
            [BIND_CONFLICT],
            id="another attributes class",
        ),
        pytest.param(
            [claim(spec={"selector": {"matchLabels": {"x": "y"}}}), make_pv("v", storage_class="sc")],
            [BIND_CONFLICT],
            id="the claim's selector",
        ),
        pytest.param(
            [
                claim(spec={"selector": {"matchLabels": {"x": "y"}}}),
                make_pv("v", storage_class="sc", labels={"x": "y"}),
            ],
            [],
            id="a volume with the selector's labels",
        ),
        pytest.param(
            [claim(storage="2Gi"), make_pv("v", storage_class="sc", claim="default/c", node_affinity=on("m"))],
            [BIND_CONFLICT],
            id="a volume set aside for the claim, but too small",
        ),
        pytest.param(
            [
                claim(),
                make_pv("v", storage_class="sc", claim="default/c", node_affinity=on("m")),
                make_pv("w", storage_class="sc"),
            ],
            [BIND_CONFLICT],
            id="a volume set aside elsewhere goes before a free one",
        ),
        pytest.param(
            [claim(), make_pv("v", storage_class="sc", claim="default/c", node_affinity=on("n"), phase="Pending")],
            [],
            id="a volume set aside need not be available",
        ),
    ],
)
def test_static_matching(objects: list[Any], expected: list[str]) -> None:
    """A claim that waits for its consumer takes a free volume that satisfies it."""
    assert reasons(STATIC, *objects)["n"] == expected


def test_each_claim_needs_a_volume_of_its_own() -> None:
    """Two claims, and one node has two volumes."""
    volumes = [make_pv(f"v{k}", storage_class="sc", node_affinity=on("n")) for k in range(2)]
    volumes.append(make_pv("w", storage_class="sc", node_affinity=on("m")))
    claims = [make_pvc(name, storage_class="sc") for name in "cd"]
    pod = make_pod(claims=["c", "d"])
    assert reasons(STATIC, *claims, *volumes, pod=pod) == {"n": [], "m": [BIND_CONFLICT]}


def test_both_kinds_of_claims_can_be_in_the_way() -> None:
    """A bound claim out of reach and a waiting one without volume are two reasons."""
    objects = [STATIC, BOUND, make_pv("v", node_affinity=on("n")), make_pvc("d", storage_class="sc")]
    expected = {"n": [BIND_CONFLICT], "m": [BIND_CONFLICT, NODE_CONFLICT]}
    assert reasons(*objects, pod=make_pod(claims=["c", "d"])) == expected


ZONE_A = [{"matchLabelExpressions": [{"key": "topology.kubernetes.io/zone", "values": ["a"]}]}]
WAITING = make_pvc("c", storage_class="dyn", storage="2Gi")
CHECKED = make_csi_driver(storage_capacity=True)
EVERYWHERE: dict[str, Any] = {}


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param([DYNAMIC, WAITING], {"n": [], "m": []}, id="everywhere"),
        pytest.param(
            [make_storage_class("dyn", wait_for_first_consumer=True, allowed_topologies=ZONE_A), WAITING],
            {"n": [], "m": [BIND_CONFLICT]},
            id="where the class allows it",
        ),
        pytest.param(
            [make_storage_class("dyn", wait_for_first_consumer=True, allowed_topologies=[{}]), WAITING],
            {"n": [BIND_CONFLICT], "m": [BIND_CONFLICT]},
            id="an empty topology allows nothing",
        ),
        pytest.param(
            [DYNAMIC, make_pvc("c", storage_class="dyn", annotations={"volume.kubernetes.io/selected-node": "m"})],
            {"n": [BIND_CONFLICT], "m": []},
            id="on the node that was selected before",
        ),
        pytest.param([DYNAMIC, WAITING, CHECKED], {"n": [NO_SPACE], "m": [NO_SPACE]}, id="no room was reported"),
        pytest.param(
            [
                DYNAMIC,
                WAITING,
                CHECKED,
                make_csi_capacity(storage_class="dyn", capacity="2Gi", node_topology={"matchLabels": {HOSTNAME: "n"}}),
            ],
            {"n": [], "m": [NO_SPACE]},
            id="where there is room",
        ),
        pytest.param(
            [
                DYNAMIC,
                WAITING,
                CHECKED,
                make_csi_capacity(
                    storage_class="dyn", capacity="9Gi", maximum_volume_size="1Gi", node_topology=EVERYWHERE
                ),
            ],
            {"n": [NO_SPACE], "m": [NO_SPACE]},
            id="not in one volume",
        ),
        pytest.param(
            [DYNAMIC, WAITING, CHECKED, make_csi_capacity(storage_class="dyn", capacity="2Gi")],
            {"n": [NO_SPACE], "m": [NO_SPACE]},
            id="room without topology is nowhere",
        ),
        pytest.param(
            [DYNAMIC, WAITING, make_csi_driver(storage_capacity=False)],
            {"n": [], "m": []},
            id="a driver without checks",
        ),
    ],
)
def test_provisioning(objects: list[Any], expected: dict[str, list[str]]) -> None:
    """A class with a provisioner makes volumes, where its topologies and the room allow it."""
    assert reasons(*objects) == expected


def test_a_claim_whose_selector_makes_no_sense_is_an_error() -> None:
    """As is everything that no node can be blamed for."""
    selector = {"matchExpressions": [{"key": "x", "operator": "Like", "values": ["y"]}]}
    handle = FakeHandle().load(make_node("n"), make_node("m"), STATIC)
    handle.load(make_pvc("c", storage_class="sc", spec={"selector": selector}))
    statuses = ask(VolumeBinding(VolumeBindingArgs(), handle), make_pod(claims=["c"]), handle.cluster).statuses
    message = (
        'error creating internal label selector for claim: default/c: "Like" is not a valid label selector operator'
    )
    assert {name: (status.code, status.message) for name, status in statuses.items()} == {
        "n": (Code.ERROR, message),
        "m": (Code.ERROR, message),
    }


def test_a_volume_that_does_not_translate_is_an_error_where_its_driver_took_over() -> None:
    """Elsewhere the volume is as good as ever; and the pod's other claims count there."""
    nonsense = {"awsElasticBlockStore": {"volumeID": "aws:///nonsense"}}
    here = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "near", "operator": "Exists"}]}]}
    migrated = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"}
    handle = FakeHandle().load(
        make_node("both", labels={"near": ""}),
        make_node("old"),
        make_node("migrated", labels={"near": ""}),
        make_csi_node("migrated", annotations=migrated),
        make_pv("disk", claim="default/c", spec=nonsense),
        make_pvc("c", volume="disk"),
        make_pv("near", storage_class="sc", node_affinity=here),
        STATIC,
        make_pvc("d", storage_class="sc"),
    )
    answer = ask(VolumeBinding(VolumeBindingArgs(), handle), make_pod(claims=["c", "d"]), handle.cluster)
    codes = {name: status.code for name, status in answer.statuses.items()}
    assert codes == {"both": Code.SUCCESS, "old": Code.UNRESOLVABLE, "migrated": Code.ERROR}


def test_answers_hold_while_no_storage_object_changes() -> None:
    """The external version of plain pods never changes; that of pods with claims does with every storage object."""
    handle = FakeHandle()
    plugin, info = VolumeBinding(VolumeBindingArgs(), handle), handle.cluster.templates.info
    plain, claiming = info(make_pod()).template, info(make_pod(claims=["c"])).template
    seen = {plugin.external_version(claiming)}
    changes = (make_pv(), make_pvc(), STATIC, make_csi_node(), CHECKED, make_csi_capacity(node_topology=EVERYWHERE))
    for change in changes:
        handle.load(change)
        seen.add(plugin.external_version(claiming))
        assert plugin.external_version(plain) is FIXED
    assert len(seen) == len(changes) + 1
