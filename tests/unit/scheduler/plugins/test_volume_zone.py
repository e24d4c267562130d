from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched.objects import StorageClass, convert
from kubesched.scheduler.framework import Code, CycleState, Hint
from kubesched.scheduler.plugins.volume_zone import VolumeZone
from kubesched.testing import make_node, make_pod, make_pv, make_pvc, make_storage_class
from kubesched.testing.handle import FakeHandle, ask

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
OTHER_ZONE = "node(s) had no available volume zone"


@pytest.mark.parametrize(
    ("volume", "node", "fits"),
    [
        pytest.param({ZONE: "a"}, {ZONE: "a"}, True, id="the same zone"),
        pytest.param({ZONE: "a"}, {ZONE: "b"}, False, id="another zone"),
        pytest.param({ZONE: "a"}, {}, True, id="a node without topology takes everything"),
        pytest.param({ZONE: "a"}, {REGION: "r"}, False, id="a node with a region but no zone"),
        pytest.param({ZONE: "a__b"}, {ZONE: "b"}, True, id="one of the volume's zones"),
        pytest.param({ZONE: "a__b"}, {ZONE: "c"}, False, id="none of the volume's zones"),
        pytest.param({ZONE: "a__"}, {ZONE: "c"}, True, id="a label that is no list of zones is ignored"),
        pytest.param({ZONE: "a", REGION: "r"}, {ZONE: "a", REGION: "s"}, False, id="another region"),
        pytest.param({BETA_ZONE: "a"}, {ZONE: "a"}, True, id="the old key of a volume, the new one of the node"),
        pytest.param({BETA_ZONE: "a"}, {BETA_ZONE: "b", ZONE: "a"}, False, id="the node's old key goes first"),
        pytest.param({ZONE: "a"}, {BETA_ZONE: "a"}, False, id="the new key of a volume, the old one of the node"),
    ],
)
def test_filter(volume: dict[str, str], node: dict[str, str], fits: bool) -> None:
    """A node must be where the volume's labels say."""
    handle = FakeHandle().load(make_node("n", labels=node), make_pv("v", labels=volume), make_pvc("c", volume="v"))
    answer = ask(VolumeZone(None, handle), make_pod(claims=["c"]), handle.cluster)
    status = answer.statuses["n"]
    assert status.is_success is fits
    if not fits:
        assert (status.code, status.reasons) == (Code.UNRESOLVABLE, (OTHER_ZONE,))


def sc(mode: str | None) -> StorageClass:
    return convert({"metadata": {"name": "sc"}, "volumeBindingMode": mode}, StorageClass)


@pytest.mark.parametrize(
    ("objects", "code", "message"),
    [
        pytest.param([], Code.UNRESOLVABLE, 'persistentvolumeclaim "c" not found', id="no claim"),
        pytest.param([make_pvc("c", volume="v")], Code.UNRESOLVABLE, 'persistentvolume "v" not found', id="no volume"),
        pytest.param([make_pvc("c", volume="v"), make_pv("v")], Code.SKIP, "", id="a volume without zone"),
        pytest.param(
            [make_pvc("c")],
            Code.UNRESOLVABLE,
            "PersistentVolumeClaim had no pv name and storageClass name",
            id="neither volume nor class",
        ),
        pytest.param(
            [make_pvc("c", storage_class="sc")],
            Code.UNRESOLVABLE,
            'storageclass.storage.k8s.io "sc" not found',
            id="a class that does not exist",
        ),
        pytest.param(
            [make_pvc("c", storage_class="sc"), sc(None)],
            Code.UNRESOLVABLE,
            'VolumeBindingMode not set for StorageClass "sc"',
            id="a class without a mode",
        ),
        pytest.param(
            [make_pvc("c", storage_class="sc"), sc("Immediate")],
            Code.UNRESOLVABLE,
            "PersistentVolume had no name",
            id="a claim that should be bound",
        ),
        pytest.param(
            [make_pvc("c", storage_class="sc"), sc("WaitForFirstConsumer")],
            Code.SKIP,
            "",
            id="a claim that waits for its first consumer",
        ),
    ],
)
def test_pre_filter(objects: list[Any], code: Code, message: str) -> None:
    """A pod is rejected when it cannot be told where its volumes are."""
    handle = FakeHandle().load(make_node("n"), *objects)
    status = ask(VolumeZone(None, handle), make_pod(claims=["c"]), handle.cluster).pre_filter
    assert status is not None
    assert (status.code, status.message) == (code, message)


def test_ephemeral_volumes_and_pods_without_claims_are_skipped() -> None:
    """The claim of an ephemeral volume is not looked at here, as upstream."""
    handle = FakeHandle().load(make_node("n"))
    plugin = VolumeZone(None, handle)
    for pod in (make_pod(), make_pod(volumes=[{"name": "v", "ephemeral": {}}])):
        status = ask(plugin, pod, handle.cluster).pre_filter
        assert status is not None
        assert status.is_skip


def test_basis_changes_with_storage_objects_for_pods_with_claims_only() -> None:
    """Plain pods keep their answers, whatever happens to volumes."""
    handle = FakeHandle()
    plugin, info = VolumeZone(None, handle), handle.cluster.templates.info
    plain, claiming = info(make_pod()).template, info(make_pod(claims=["c"])).template
    before = plugin.external_version(plain), plugin.external_version(claiming)
    handle.load(make_pv("v"))
    assert plugin.external_version(plain) == before[0]
    assert plugin.external_version(claiming) != before[1]


@pytest.mark.parametrize(
    ("event", "old", "new", "expected"),
    [
        pytest.param(0, None, make_storage_class(wait_for_first_consumer=True), Hint.QUEUE, id="a class that waits"),
        pytest.param(0, None, make_storage_class(), Hint.SKIP, id="a class that binds at once"),
        pytest.param(2, None, make_pvc("c"), Hint.QUEUE, id="the pod's claim"),
        pytest.param(2, None, make_pvc("d"), Hint.SKIP, id="another claim"),
        pytest.param(2, None, make_pvc("c", namespace="o"), Hint.SKIP, id="a claim of another namespace"),
        pytest.param(3, None, make_pv("v"), Hint.QUEUE, id="a new volume"),
        pytest.param(3, make_pv("v"), make_pv("v", labels={ZONE: "a"}), Hint.QUEUE, id="a volume's zone has changed"),
        pytest.param(3, make_pv("v"), make_pv("v", labels={"x": "y"}), Hint.SKIP, id="another label has changed"),
    ],
)
def test_hints(event: int, old: Any, new: Any, expected: Hint) -> None:
    """Only what may change where the volumes are is worth another attempt."""
    handle = FakeHandle()
    hint = VolumeZone(None, handle).events_to_register()[event].hint
    assert hint is not None
    assert hint(handle.cluster.templates.info(make_pod(claims=["c"])), old, new) is expected


LABELS = st.dictionaries(
    st.sampled_from((ZONE, REGION, BETA_ZONE, BETA_REGION)), st.sampled_from(("a", "b", "a__b", "")), max_size=4
)


@settings(max_examples=80, deadline=None)
@given(st.lists(LABELS, min_size=1, max_size=4), st.lists(LABELS, min_size=1, max_size=2))
def test_equals_a_look_at_every_node(worlds: Any, nodes: list[dict[str, str]], volumes: list[dict[str, str]]) -> None:
    """Label columns say the same as the labels of each node by itself."""
    handle = FakeHandle().load(*(make_node(f"n{k}", labels=labels) for k, labels in enumerate(nodes)))
    for k, labels in enumerate(volumes):
        handle.load(make_pv(f"v{k}", labels=labels), make_pvc(f"c{k}", volume=f"v{k}"))
    plugin = VolumeZone(None, handle)
    info = handle.cluster.templates.info(make_pod(claims=[f"c{k}" for k in range(len(volumes))]))
    state = CycleState(info)
    if not plugin.pre_filter(state, info, handle.cluster.view()).is_success:
        return
    for view, infos in worlds(handle.cluster, make_pod("added")):
        fitting = plugin.filter_nodes(state, info.template, view).fitting
        for position, node in infos:
            expected = all(_takes(dict(node.labels), labels) for labels in volumes)
            assert fitting[position] == expected


def _takes(node: dict[str, str], volume: dict[str, str]) -> bool:
    if not {ZONE, REGION, BETA_ZONE, BETA_REGION} & node.keys():
        return True
    stable = {BETA_ZONE: ZONE, BETA_REGION: REGION}
    for key in (BETA_ZONE, BETA_REGION, ZONE, REGION):
        if key in volume and all(volume[key].split("__")):
            value = node.get(key, node.get(stable.get(key, key)))
            if value not in volume[key].split("__"):
                return False
    return True
