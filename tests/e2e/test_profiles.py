"""Several schedulers in one process."""

from __future__ import annotations

from collections import Counter

from tests.e2e.conftest import StartScheduler
from tests.e2e.control_plane import ControlPlane
from tests.e2e.manifests import node, pod
from tests.e2e.processes import eventually
from tests.e2e.scheduler import profile

from kubesched.objects.base import Json

PACKING = {
    "name": "NodeResourcesFit",
    "args": {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}},
}


def test_pods_choose_their_profile(cluster: ControlPlane, start_scheduler: StartScheduler) -> None:
    """The default profile spreads pods, the packing one piles them up, and pods of strangers are left alone."""
    admin = cluster.admin
    only_fit = {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit", "weight": 1}]}
    packer = profile("packer", pluginConfig=[PACKING], plugins={"score": only_fit})
    admin.create_all(node(f"n{number}", cpu="8") for number in range(4))
    start_scheduler(config={"profiles": [profile(), packer]})

    admin.create_all(pod(f"spread-{number}", cpu="1") for number in range(4))
    eventually(lambda: len(admin.placements()) == 4, "the spread pods are placed")
    assert set(Counter(admin.placements().values()).values()) == {1}

    admin.create(pod("stranger", cpu="1", schedulerName="somebody-else"))
    admin.create_all(pod(f"packed-{number}", cpu="1", schedulerName="packer") for number in range(4))
    eventually(lambda: len(admin.placements()) == 8, "the packed pods are placed")
    packed = {placed for name, placed in admin.placements().items() if name.startswith("packed")}
    assert len(packed) == 1
    assert not admin.node_of("stranger")
    reporters = {event["regarding"]["name"]: event["reportingController"] for event in _scheduled_events(cluster, 8)}
    assert reporters["spread-0"] == "default-scheduler"
    assert reporters["packed-0"] == "packer"


def _scheduled_events(cluster: ControlPlane, count: int) -> list[Json]:
    def scheduled() -> list[Json]:
        return [event for event in cluster.admin.list("Event") if event["reason"] == "Scheduled"]

    eventually(lambda: len(scheduled()) == count, "all events are written")
    return scheduled()
