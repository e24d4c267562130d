"""Configuration files of scheduler-plugins: taken as they are, and refused in one line where upstream refuses them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubesched import Simulation
from kubesched.contrib.coscheduling import POD_GROUP_LABEL, Coscheduling, PodGroup
from kubesched.contrib.coscheduling.pod_group import PodGroupSpec
from kubesched.errors import ConfigurationError
from kubesched.framework import SUCCESS, WAIT, CycleState, ObjectMeta
from kubesched.testing import make_node, make_pod
from kubesched.testing.handle import FakeHandle

POINTS = {"Coscheduling": "permit", "CapacityScheduling": "reserve"}


def config(plugin: str, args: dict[str, Any]) -> dict[str, Any]:
    enabled = [{"name": plugin}]
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "plugins": {POINTS.get(plugin, "score"): {"enabled": enabled}},
                "pluginConfig": [{"name": plugin, "args": args}],
            }
        ],
    }


@pytest.mark.parametrize(
    ("plugin", "args", "problem"),
    [
        pytest.param("Coscheduling", {"podGroupRejectPercentage": 101}, "must be between 0 and 100", id="too much"),
        pytest.param("Coscheduling", {"permitWaitingTime": 3}, "unknown field", id="a field that there is not"),
        pytest.param("Coscheduling", {"permitWaitingTimeSeconds": "3"}, "permitWaitingTimeSeconds", id="a text"),
        pytest.param("NodeResourcesAllocatable", {"mode": "Some"}, "invalid support ModeType", id="another mode"),
        pytest.param(
            "NodeResourcesAllocatable", {"resources": [{"name": "cpu"}]}, "should be a positive value", id="no weight"
        ),
        pytest.param("TargetLoadPacking", {"defaultRequestsMultiplier": "much"}, "unable to parse", id="no number"),
        pytest.param("TargetLoadPacking", {"metricProvider": {"type": "Guess"}}, "got Guess", id="no such provider"),
        pytest.param("Peaks", {"watcherAddress": "http://w"}, "no node has a power model", id="no power model"),
        pytest.param("PodState", None, "", id="none are needed"),
        pytest.param(
            "Coscheduling",
            {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "CoschedulingArgs", "podGroupBackoffSeconds": 5},
            "",
            id="with its kind",
        ),
        pytest.param("Coscheduling", {"kind": "PeaksArgs"}, "expected kind CoschedulingArgs", id="another's kind"),
    ],
)
def test_arguments(plugin: str, args: dict[str, Any], problem: str) -> None:
    """Whatever is wrong is said in a line that names the plugin."""
    if not problem:
        Simulation(config(plugin, args)).close()
        return
    with pytest.raises(ConfigurationError, match=problem) as caught:
        Simulation(config(plugin, args))
    assert plugin in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_gang_waits_for_room_and_leaves_others_alone() -> None:
    """None of three workers starts on a node for two; a pod of no group does."""
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "default"},
        "spec": {"minMember": 3},
    }
    with Simulation(config("Coscheduling", {"podGroupBackoffSeconds": 10}) | {"profiles": [PROFILE]}) as simulation:
        simulation.load(json.dumps(group))
        simulation.add(make_node("a", cpu="2"))
        simulation.add(*(make_pod(f"w{i}", cpu="1", labels={POD_GROUP_LABEL: "g"}) for i in range(3)))
        simulation.add(make_pod("alone", cpu="500m"))
        assert simulation.schedule() == {
            "default/w0": None,
            "default/w1": None,
            "default/w2": None,
            "default/alone": "a",
        }


def test_a_reload_forgets_nobody_who_waits() -> None:
    """Two of three workers wait when another Coscheduling takes over; the third one completes the gang."""
    group = PodGroup(metadata=ObjectMeta(name="g", namespace="default"), spec=PodGroupSpec(min_member=3))
    workers = [make_pod(f"w{i}", labels={POD_GROUP_LABEL: "g"}) for i in range(3)]
    handle = FakeHandle().load(group, *workers)
    before = Coscheduling({}, handle)
    state = CycleState(handle.cluster.templates.info(workers[0]))
    assert [before.permit(state, worker, "a")[0] for worker in workers[:2]] == [WAIT, WAIT]
    after = Coscheduling({"podGroupBackoffSeconds": 3}, handle)
    after.take_over(before)
    assert after.permit(state, workers[2], "a") == (SUCCESS, 0)


PROFILE = {
    "plugins": {
        "multiPoint": {"enabled": [{"name": "Coscheduling"}]},
        "queueSort": {"disabled": [{"name": "*"}], "enabled": [{"name": "Coscheduling"}]},
    },
    "pluginConfig": [{"name": "Coscheduling", "args": {"podGroupBackoffSeconds": 10}}],
}
