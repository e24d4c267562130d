"""`kubesched plugin check`: claims that are not true are found, by a small example, and those that are true pass."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import count
from typing import Any

import numpy as np
import pytest

from kubesched.apps.plugin.checking import (
    DEPENDS_ON_OTHERS,
    KEPT_IS_WRONG,
    NOT_DETERMINISTIC,
    RAISES,
    check,
)
from kubesched.apps.plugin.steps import Ask
from kubesched.contrib.trimaran.load_variation_risk_balancing import LoadVariationRiskBalancing
from kubesched.contrib.trimaran.low_risk_overcommitment import LowRiskOverCommitment
from kubesched.contrib.trimaran.target_load_packing import TargetLoadPacking
from kubesched.framework import (
    CustomObject,
    CustomResource,
    CycleState,
    DependsOn,
    FilterPlugin,
    Handle,
    Integers,
    KubeStruct,
    NodeInfo,
    NodeView,
    Plugin,
    PodTemplate,
    ScorePlugin,
    Status,
)
from kubesched.objects import Pod
from kubesched.scheduler.plugins.registry import IN_TREE
from kubesched.testing import check_promises


class Kept(FilterPlugin):
    """True in all it claims: teams have nodes of their own."""

    name = "Kept"
    depends_on = DependsOn.NODE

    def signature(self, pod: PodTemplate) -> Hashable:
        return pod.labels.get("team")

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        same = node.labels.get("team") == pod.metadata.labels.get("team")
        return None if same else Status.unschedulable("another team's")


class WrongSignature(Kept):
    name = "WrongSignature"

    def signature(self, pod: PodTemplate) -> Hashable:
        return "any pod"


class LooksAtPods(FilterPlugin):
    name = "LooksAtPods"
    depends_on = DependsOn.NODE

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return Status.unschedulable("crowded") if len(node.pods) > 1 else None


class LooksAtLabelsOfPods(FilterPlugin):
    name = "LooksAtLabelsOfPods"
    depends_on = DependsOn.NODE_RESOURCES

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        teams = {other.metadata.labels.get("team") for other in node.pods}
        return Status.unschedulable("team x is here") if "x" in teams else None


class WindowSpec(KubeStruct):
    closed: bool = False


class Window(CustomObject):
    resource = CustomResource("example.com/v1", "windows", namespaced=False)
    spec: WindowSpec = WindowSpec()


class ForgetsItsObjects(FilterPlugin):
    name = "ForgetsItsObjects"
    depends_on = DependsOn.NODE

    def __init__(self, args: Any, handle: Handle) -> None:
        self._windows = handle.informer(Window)

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        window = self._windows.get(node.name)
        return Status.unschedulable("closed") if window is not None and window.spec.closed else None


class RemembersItsObjects(ForgetsItsObjects):
    name = "RemembersItsObjects"

    def external_version(self, pod: PodTemplate) -> Hashable:
        return self._windows.version


class ForgetsWhatItFetched(ScorePlugin):
    name = "ForgetsWhatItFetched"
    depends_on = DependsOn.NODE

    def __init__(self, args: Any, handle: Handle) -> None:
        self._load = handle.fetch("http://example.com/load", every=15)

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return int((self._load.value or {}).get(node.name, 0))


class Counts(ScorePlugin):
    name = "Counts"

    def __init__(self, args: Any, handle: Handle) -> None:
        self._numbers = count()

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return next(self._numbers) % 100


class Presumes(ScorePlugin):
    name = "Presumes"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return 100 if node.labels["example.com/power"] == "green" else 0


class TooMuch(ScorePlugin):
    name = "TooMuch"

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return 1000 if node.labels.get("example.com/power") == "green" else 0


class Relative(ScorePlugin):
    """Raw scores are relative to the nodes that it happens to be asked about."""

    name = "Relative"
    depends_on = DependsOn.NODE

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        cpu = nodes.allocatable("cpu")
        return cpu * 100 // max(1, int(cpu.max(initial=1)))


@pytest.mark.parametrize(
    ("plugin", "what", "advice"),
    [
        pytest.param(WrongSignature, KEPT_IS_WRONG, "signature leaves out something of the pod", id="the pod counts"),
        pytest.param(LooksAtPods, KEPT_IS_WRONG, "depends_on = NODE is not true", id="pods on the node count"),
        pytest.param(LooksAtLabelsOfPods, KEPT_IS_WRONG, "try NODE_AND_PODS", id="labels of pods count"),
        pytest.param(ForgetsItsObjects, KEPT_IS_WRONG, "external_version does not change", id="an object counts"),
        pytest.param(ForgetsWhatItFetched, KEPT_IS_WRONG, "external_version does not change", id="a fetch counts"),
        pytest.param(Counts, NOT_DETERMINISTIC, "", id="not deterministic"),
        pytest.param(Presumes, RAISES, "", id="a label is not there"),
        pytest.param(TooMuch, RAISES, "", id="a score out of range"),
    ],
)
def test_a_broken_promise_is_found(plugin: type[Plugin], what: str, advice: str) -> None:
    """With the smallest example: the last step is the question that shows it, and no step can be left out."""
    found = check(plugin)
    assert found is not None
    assert found.what == what
    assert advice in found.advice
    assert len(found.steps) <= 8
    assert isinstance(found.steps[-1], Ask)
    assert found.details


def test_an_answer_may_not_depend_on_who_else_is_asked_about() -> None:
    """However it shows first: as a kept answer that is wrong, or directly."""
    found = check(Relative)
    assert found is not None
    assert found.what in (KEPT_IS_WRONG, DEPENDS_ON_OTHERS)


class NamesItsRows(ScorePlugin):
    """Says which rows a change of its objects concerns. A node that changes at the same time comes on top."""

    name = "NamesItsRows"
    depends_on = DependsOn.NODE

    def __init__(self, args: Any, handle: Handle) -> None:
        self._windows = handle.informer(Window)
        self._row_of = handle.cluster.nodes.row_of

    def external_version(self, pod: PodTemplate) -> Hashable:
        return self._windows.changes.position

    def score_changes(self, pod: PodTemplate, since: Any) -> Any:
        names = self._windows.changes.since(since)
        if not isinstance(names, list):
            return None
        return np.array(sorted({self._row_of[name] for name in names if name in self._row_of}), dtype=np.intp)

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return 100 if self._windows.get(node.name) is not None else 0


@pytest.mark.parametrize("plugin", [Kept, RemembersItsObjects, NamesItsRows])
def test_true_claims_pass(plugin: type[Plugin]) -> None:
    check_promises(plugin, clusters=60)


@pytest.mark.parametrize("name", ["NodeName", "NodePorts", "NodeUnschedulable", "TaintToleration", "ImageLocality"])
def test_plugins_of_kubernetes_pass(name: str) -> None:
    """No false alarm."""
    plugin = IN_TREE[name]
    assert isinstance(plugin, type)
    renamed = type(name, (plugin,), {"name": f"Own{name}"})
    assert check(renamed, clusters=30) is None


@pytest.mark.parametrize("plugin", [TargetLoadPacking, LoadVariationRiskBalancing, LowRiskOverCommitment])
def test_plugins_that_look_at_load_pass(plugin: type[Plugin]) -> None:
    """A pod may run on a node that is not known yet: its row is there before the node."""
    check_promises(plugin, clusters=20)


def test_the_example_is_told_in_words() -> None:
    found = check(LooksAtPods)
    assert found is not None
    text = "\n".join(found.lines())
    assert " is there, without labels" in text
    assert "runs on" in text
    assert "kept: fits; now: rejected (crowded)" in text
    with pytest.raises(AssertionError, match="LooksAtPods: a kept answer"):
        check_promises(LooksAtPods)
