"""The index over waiting pods."""

from __future__ import annotations

from kubesched.columns import Cluster
from kubesched.framework import QueuedPod
from kubesched.state.queue.unschedulable import UnschedulablePods
from kubesched.testing.builders import make_pod

TEMPLATES = Cluster().templates
PROFILE = "default-scheduler"


def rejected(name: str, *by: str, labels: dict[str, str] | None = None, gated_by: str = "") -> QueuedPod:
    info = TEMPLATES.info(make_pod(name, uid=name, labels=labels))
    return QueuedPod(info, unschedulable_plugins=set(by), gating_plugin=gated_by)


def members(pods: UnschedulablePods, *plugins: str) -> list[list[str]]:
    cohorts = pods.rejected_by((PROFILE, plugin) for plugin in plugins)
    return [list(cohort.pods) for cohort in cohorts]


def test_pods_alike_form_a_cohort() -> None:
    """Same template, same rejecting plugins, same gate."""
    pods = UnschedulablePods()
    for pod in (
        rejected("a", "Fit"),
        rejected("b", "Fit"),
        rejected("c", "Fit", "Ports"),
        rejected("d", "Fit", labels={"x": "y"}),
        rejected("e", "Fit", gated_by="Fit"),
    ):
        pods.add(pod)
    assert members(pods, "Fit") == [["a", "b"], ["c"], ["d"], ["e"]]
    assert members(pods, "Ports") == [["c"]]
    assert members(pods, "Fit", "Ports", "Else") == [["a", "b"], ["c"], ["d"], ["e"]]
    assert (len(pods), pods.gated_count, len(pods.cohorts())) == (5, 1, 4)


def test_a_pod_that_changed_is_filed_anew() -> None:
    """Its old cohort does not keep it."""
    pods = UnschedulablePods()
    pod = rejected("a", "Fit", gated_by="Fit")
    pods.add(pod)
    pod.gating_plugin = ""
    pod.unschedulable_plugins = {"Ports"}
    pods.add(pod)
    assert members(pods, "Fit") == []
    assert members(pods, "Ports") == [["a"]]
    assert (len(pods), pods.gated_count) == (1, 0)


def test_nothing_is_left_of_pods_that_left() -> None:
    """Empty cohorts and index entries go with them."""
    pods = UnschedulablePods()
    pods.add(rejected("a", "Fit", "Ports", gated_by="Fit"))
    assert "a" in pods
    removed = pods.remove("a")
    assert removed is not None
    assert pods.remove("a") is None
    assert pods.get("a") is None
    assert (len(pods), pods.gated_count, pods.cohorts(), members(pods, "Fit", "Ports")) == (0, 0, [], [])
    assert list(pods) == []
