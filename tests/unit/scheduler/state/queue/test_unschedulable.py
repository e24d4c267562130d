"""The index over waiting pods."""

from __future__ import annotations

from collections.abc import Collection, Hashable

from kubesched.scheduler.columns import ClusterTables, PodTemplate
from kubesched.scheduler.framework import QueuedPod, Tags
from kubesched.scheduler.state.queue.unschedulable import UnschedulablePods
from kubesched.testing.builders import make_pod

TEMPLATES = ClusterTables().templates
PROFILE = "default-scheduler"


def rejected(name: str, *by: str, labels: dict[str, str] | None = None, gated_by: str = "") -> QueuedPod:
    info = TEMPLATES.info(make_pod(name, uid=name, labels=labels))
    return QueuedPod(info, unschedulable_plugins=set(by), gating_plugin=gated_by)


def members(pods: UnschedulablePods, *plugins: str) -> list[list[str]]:
    groups = pods.rejected_by((PROFILE, plugin) for plugin in plugins)
    return [list(equals.pods) for rejected in groups for equals in rejected.by_template.values()]


def by_label(template: PodTemplate) -> Collection[Hashable] | None:
    if "broken" in template.labels:
        raise ValueError("no tags to be had")
    return template.labels.values() or None


TAGS = Tags(by_label, lambda old, new: None)


def test_tagged_cohorts_are_found_by_their_tags() -> None:
    """Those without tags of their own, and those whose tags cannot be told, are always found."""
    pods = UnschedulablePods()
    pods.add(rejected("any", "Fit"))
    pods.add(rejected("x", "Fit", labels={"l": "x"}))
    (group,) = pods.by_rejection()

    def found(*wanted: str) -> list[str]:
        return [uid for equals in group.tagged(TAGS, wanted).values() for uid in equals.pods]

    assert found() == ["any"]
    pods.add(rejected("xy", "Fit", labels={"l": "x", "m": "y"}))
    pods.add(rejected("broken", "Fit", labels={"broken": "x"}))
    assert found("x", "y") == ["any", "broken", "x", "xy"]
    assert found("y") == ["any", "broken", "xy"]
    pods.remove("any")
    pods.remove("x")
    assert found("x") == ["broken", "xy"]
    pods.remove("xy")
    assert found("x", "y") == ["broken"]


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
    assert members(pods, "Fit") == [["a", "b"], ["d"], ["c"], ["e"]]
    assert members(pods, "Ports") == [["c"]]
    assert members(pods, "Fit", "Ports", "Else") == [["a", "b"], ["d"], ["c"], ["e"]]
    assert (len(pods), pods.gated_count, len(pods.by_rejection())) == (5, 1, 3)


def test_a_pod_that_changed_is_filed_anew() -> None:
    """It is not left where it was."""
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
    """Empty index entries go with them."""
    pods = UnschedulablePods()
    pods.add(rejected("a", "Fit", "Ports", gated_by="Fit"))
    assert "a" in pods
    removed = pods.remove("a")
    assert removed is not None
    assert pods.remove("a") is None
    assert pods.get("a") is None
    assert (len(pods), pods.gated_count, pods.by_rejection(), members(pods, "Fit", "Ports")) == (0, 0, [], [])
    assert list(pods) == []
