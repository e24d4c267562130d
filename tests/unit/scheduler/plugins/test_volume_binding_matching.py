"""Free volumes in their index, compared with a search through all of them for every node."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from kubesched.config.plugin_args import VolumeBindingArgs
from kubesched.objects import Node, PersistentVolume, PersistentVolumeClaim
from kubesched.scheduler.framework import CycleState
from kubesched.scheduler.plugins.volume_binding import VolumeBinding
from kubesched.scheduler.plugins.volume_binding.assume_cache import AssumeCache
from kubesched.scheduler.plugins.volume_binding.volume_affinity import affinity_of
from kubesched.scheduler.plugins.volume_binding.volume_pool import Picks, VolumePool
from kubesched.testing import make_node, make_pod, make_pv, make_pvc, make_storage_class
from kubesched.testing.handle import FakeHandle

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
NODES = [make_node(f"n{k}", zone="ab"[k % 2]) for k in range(4)]


def requirement(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


REQUIREMENTS = st.one_of(
    st.sampled_from([requirement(HOSTNAME, "In", f"n{k}") for k in range(4)]),
    st.sampled_from([requirement(ZONE, "In", "a"), requirement(ZONE, "In", "a", "b"), requirement(ZONE, "In", "c")]),
    st.sampled_from([requirement(ZONE, "NotIn", "a"), requirement(ZONE, "Exists"), requirement("x", "Exists")]),
)
AFFINITIES = st.none() | st.lists(st.lists(REQUIREMENTS, min_size=1, max_size=2), min_size=1, max_size=2).map(
    lambda terms: {"nodeSelectorTerms": [{"matchExpressions": expressions} for expressions in terms]}
)
VOLUMES = st.builds(
    lambda size, affinity, modes, phase, claim, label: {
        "capacity": f"{size}Gi",
        "node_affinity": affinity,
        "access_modes": modes,
        "phase": phase,
        "claim": claim,
        "labels": {"tier": label},
        "storage_class": "sc",
    },
    st.integers(1, 3),
    AFFINITIES,
    st.sampled_from((("ReadWriteOnce",), ("ReadWriteOnce", "ReadWriteMany"))),
    st.sampled_from(("Available", "Available", "Available", "Released")),
    st.sampled_from(("", "", "", "", "default/c0", "other/c0")),
    st.sampled_from("xy"),
)
CLAIMS = st.lists(
    st.builds(
        lambda size, modes, selector: {
            "storage": f"{size}Gi",
            "access_modes": modes,
            "spec": {"selector": {"matchLabels": {"tier": "x"}}} if selector else {},
        },
        st.integers(1, 3),
        st.sampled_from((("ReadWriteOnce",), ("ReadWriteMany",))),
        st.booleans(),
    ),
    min_size=1,
    max_size=3,
)


class Pool(RuleBasedStateMachine):
    """Volumes come, change, go, and are set aside; the pool always finds what a search finds."""

    @initialize()
    def start(self) -> None:
        self.handle = FakeHandle().load(*NODES)
        self.volumes = AssumeCache(self.handle.objects.of(PersistentVolume))
        self.pool = VolumePool(self.volumes, with_attributes_classes=True)
        self.assumed: list[PersistentVolume] = []

    @rule(name=st.sampled_from([f"v{k}" for k in range(6)]), volume=VOLUMES)
    def set_volume(self, name: str, volume: dict[str, Any]) -> None:
        self.handle.load(make_pv(name, **volume))

    @rule(name=st.sampled_from([f"v{k}" for k in range(6)]))
    def remove_volume(self, name: str) -> None:
        self.handle.objects.of(PersistentVolume).remove(make_pv(name))

    @rule(name=st.sampled_from([f"v{k}" for k in range(6)]), volume=VOLUMES)
    def assume_volume(self, name: str, volume: dict[str, Any]) -> None:
        self.pool.refresh()
        if self.handle.objects.of(PersistentVolume).get(name) is not None:
            assumed = make_pv(name, **{**volume, "claim": "default/c0"})
            self.pool.assume(assumed)
            self.assumed.append(assumed)

    @rule()
    def restore_volumes(self) -> None:
        while self.assumed:
            self.pool.restore(self.assumed.pop())

    @rule(claims=CLAIMS)
    def match(self, claims: list[dict[str, Any]]) -> None:
        nodes = self.handle.cluster.view()
        self.pool.refresh()
        earlier: list[Picks] = []
        for k, spec in enumerate(claims):
            claim = make_pvc(f"c{k}", storage_class="sc", **spec)
            picks = self.pool.pick(claim, nodes, earlier)
            for position, node in enumerate(NODES):
                taken = {v.metadata.name for p in earlier if (v := self.pool.picked(p, position)) is not None}
                self.compare(claim, node, taken, self.pool.picked(picks, position))
            earlier.append(picks)

    def compare(
        self, claim: PersistentVolumeClaim, node: Node, taken: set[str], picked: PersistentVolume | None
    ) -> None:
        store = self.handle.objects.of(PersistentVolume)
        candidates = [v for name in sorted(v.metadata.name for v in store) if (v := self.volumes.get(name)) is not None]
        expected = search(claim, node, [v for v in candidates if v.metadata.name not in taken])
        assert (picked is None) == (expected is None)
        if picked is not None and expected is not None:
            assert picked.metadata.name not in taken
            assert size(picked) == size(expected)
            assert search(claim, node, [picked]) is picked


def size(volume: PersistentVolume) -> int:
    return volume.spec.capacity["storage"].value()


def search(claim: PersistentVolumeClaim, node: Node, volumes: list[PersistentVolume]) -> PersistentVolume | None:
    """FindMatchingVolume, one node and one volume at a time."""
    best: PersistentVolume | None = None
    for volume in volumes:
        affinity = affinity_of(volume)
        reached = affinity is None or affinity.matches(node.metadata.labels, "")
        reference = volume.spec.claim_ref
        if size(volume) < claim.spec.resources.requests["storage"].value():
            continue
        if reference is not None:
            if (reference.namespace, reference.name) == (claim.metadata.namespace, claim.metadata.name):
                return volume if reached else None
            continue
        selector = claim.spec.selector
        if (
            reached
            and volume.status.phase == "Available"
            and set(claim.spec.access_modes) <= set(volume.spec.access_modes)
            and (selector is None or selector.match_labels.items() <= volume.metadata.labels.items())
            and (best is None or size(volume) < size(best))
        ):
            best = volume
    return best


TestPool = Pool.TestCase
TestPool.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), AFFINITIES), min_size=1, max_size=3))
def test_bound_claims_equal_a_look_at_every_node(worlds: Any, volumes: list[tuple[bool, Any]]) -> None:
    """Label columns say the same as each volume's affinity for each node, also for some nodes only."""
    handle = FakeHandle().load(*NODES)
    for k, (exists, affinity) in enumerate(volumes):
        handle.load(make_pvc(f"c{k}", volume=f"v{k}"))
        if exists:
            handle.load(make_pv(f"v{k}", claim=f"default/c{k}", node_affinity=affinity))
    plugin = VolumeBinding(VolumeBindingArgs(), handle)
    info = handle.cluster.templates.info(make_pod(claims=[f"c{k}" for k in range(len(volumes))]))
    state = CycleState(info)
    assert plugin.pre_filter(state, info, handle.cluster.view()).is_success
    for view, nodes in worlds(handle.cluster, make_pod("added")):
        verdict = plugin.filter_nodes(state, info.template, view)
        for position, node in nodes:
            assert verdict.status(position, "").reasons == _first_problem(handle, node.node, len(volumes))


def _first_problem(handle: FakeHandle, node: Node, claims: int) -> tuple[str, ...]:
    for k in range(claims):
        volume = handle.objects.of(PersistentVolume).get(f"v{k}")
        if volume is None:
            return ("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",)
        affinity = affinity_of(volume)
        if affinity is not None and not affinity.matches(node.metadata.labels, ""):
            return ("node(s) didn't match PersistentVolume's node affinity",)
    return ()


def test_nodes_that_come_later_are_found() -> None:
    """A volume may be pinned to a node that does not exist yet."""
    affinity = {"nodeSelectorTerms": [{"matchExpressions": [requirement(HOSTNAME, "In", "late")]}]}
    static = make_storage_class("sc", provisioner="kubernetes.io/no-provisioner", wait_for_first_consumer=True)
    handle = FakeHandle().load(
        NODES[0], static, make_pv("v", storage_class="sc", node_affinity=affinity), make_pvc("c", storage_class="sc")
    )
    plugin, info = VolumeBinding(VolumeBindingArgs(), handle), handle.cluster.templates.info(make_pod(claims=["c"]))
    state = CycleState(info)
    assert plugin.pre_filter(state, info, handle.cluster.view()).is_success
    assert plugin.filter_nodes(state, info.template, handle.cluster.view()).fitting.tolist() == [False]
    handle.load(make_node("late"))
    assert plugin.filter_nodes(state, info.template, handle.cluster.view()).fitting.tolist() == [False, True]
