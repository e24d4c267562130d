"""Which pods another version would place otherwise, and by which of its changes."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched.apps.upgrade_diff import Outcome, UpgradeDiff, as_data, as_text, upgrade_diff
from kubesched.config import FeatureGates
from kubesched.config.versions import Version
from kubesched.objects import CSIDriver, Namespace, convert
from kubesched.testing import make_csi_node, make_node, make_pod, make_pvc, make_storage_class

OLD, NEW = FeatureGates(version=Version(1, 36)), FeatureGates(version=Version(1, 37))
MB = 1 << 20


def compared(*objects: Any, old: FeatureGates = OLD) -> UpgradeDiff:
    return upgrade_diff(objects, old, NEW)


def near_cache() -> list[Any]:
    """A pod that wants to be near one of another namespace, which has the label that must not be there."""
    scope = {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "cache"}}, "namespaceSelector": scope}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return [
        convert({"metadata": {"name": "other", "labels": {"team": "a"}}}, Namespace),
        make_node("n", labels={"zone": "z"}),
        make_pod("cache", namespace="other", labels={"app": "cache"}, node="n"),
        make_pod("report", spec={"affinity": affinity}),
    ]


def test_a_pod_that_no_longer_fits() -> None:
    """With the newer version's reason and the one change behind it; pods that stay are not mentioned."""
    diff = compared(*near_cache())
    (found,) = diff.differences
    assert (found.pod, found.outcome, found.before, found.after) == (
        "default/report",
        Outcome.NO_LONGER,
        ("n",),
        (),
    )
    assert found.reason.startswith("0/1 nodes are available: 1 node(s) didn't match pod affinity rules.")
    assert [change.name for change in found.causes] == ["NamespaceSelectorIsResolved"]
    assert diff.decided == 2


def test_other_nodes_are_best() -> None:
    """A placed pod is decided as if it were not there yet."""
    nodes = [make_node("large", cpu="8"), make_node("image", cpu="4", images={"app:1": 1000 * MB})]
    volumes = [{"name": f"v{k}", "image": {"reference": f"data:{k}"}} for k in range(9)]
    pod = make_pod("web", cpu="1", image="app:1", volumes=volumes, node="image")
    (found,) = compared(*nodes, pod).differences
    assert (found.node, found.outcome, found.before, found.after) == ("image", Outcome.MOVES, ("image",), ("large",))
    assert [change.name for change in found.causes] == ["ImageVolumesCount"]


def test_nothing_changes() -> None:
    """Words do not count: the message of a pod that fits nowhere is another one."""
    diff = compared(make_node("n", cpu="1"), make_pod("fits", cpu="1"), make_pod("big", cpu="9"))
    assert diff.differences == ()
    assert as_text(diff) == "0 of 2 pods are decided otherwise by 1.37 than by 1.36"


def test_pods_of_others_are_left_out() -> None:
    """Those of another scheduler, and those that have ended."""
    other = make_pod("other", spec={"schedulerName": "other"})
    ended = make_pod("ended", status={"phase": "Succeeded"})
    assert compared(make_node("n"), other, ended).decided == 0


def test_a_gate_may_be_the_cause() -> None:
    """One with another default; if it is set to the same by hand, there is no difference."""
    spec = {"preventPodSchedulingIfMissing": True}
    objects = [
        make_node("with", cpu="1"),
        make_node("without", cpu="9"),
        convert({"metadata": {"name": "csi"}, "spec": spec}, CSIDriver),
        make_csi_node("with", limits={"csi": 5}),
        make_storage_class("sc", provisioner="csi", wait_for_first_consumer=True),
        make_pvc("c", storage_class="sc"),
        make_pod("p", claims=["c"]),
    ]
    (found,) = compared(*objects).differences
    assert (found.before, found.after) == (("without",), ("with",))
    assert [change.name for change in found.causes] == ["VolumeLimitScaling"]
    same = FeatureGates({"VolumeLimitScaling": True}, version=Version(1, 36))
    assert not compared(*objects, old=same).differences


@pytest.mark.parametrize("words", ["default/report: no longer fits: n -> none", "  by NamespaceSelectorIsResolved"])
def test_as_text(words: str) -> None:
    """A line per pod, its causes below, and what they are about."""
    assert words in as_text(compared(*near_cache())).splitlines()


def test_as_data() -> None:
    """For programs, with stable names."""
    data = as_data(compared(*near_cache()))
    (found,) = data.pop("differences")
    assert data == {"from": "1.36", "to": "1.37", "pods": 2}
    assert (found["pod"], found["outcome"], found["node"], found["before"]) == (
        "default/report",
        "no_longer",
        None,
        ["n"],
    )
