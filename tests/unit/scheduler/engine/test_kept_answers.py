"""When kept answers must not be used any more."""

from __future__ import annotations

from collections.abc import Hashable
from random import Random

import numpy as np
import pytest

from kubesched.errors import PluginError
from kubesched.scheduler.columns import ClusterTables, NodeView, PodInfo, PodTemplate
from kubesched.scheduler.engine import Evaluator, ProfilePlugins
from kubesched.scheduler.framework import (
    SKIP,
    SUCCESS,
    CycleState,
    DependsOn,
    FilterPlugin,
    PreFilterPlugin,
    Reason,
    Status,
    Verdict,
)
from kubesched.scheduler.state.nominator import PodNominator
from kubesched.testing import make_node, make_pod

NO = Reason.unschedulable("no")


class Moody(PreFilterPlugin, FilterPlugin):
    """Rejects every node, until its mood is another; then it skips, or must be asked in every cycle."""

    name = "Moody"
    mood = DependsOn.NODE
    skips = False

    def external_version(self, pod: PodTemplate) -> Hashable:
        return self.mood, self.skips

    def depends_on_for(self, pod: PodTemplate) -> DependsOn:
        return self.mood

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status:
        return SKIP if self.skips else SUCCESS

    def filter_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Verdict:
        rejects = np.full(len(nodes), self.mood is DependsOn.NODE)
        return Verdict.rejects(nodes, where=rejects, reason=NO)


class Fragile(FilterPlugin):
    """Rejects cordoned nodes; all pods are the same to it."""

    name = "Fragile"
    depends_on = DependsOn.NODE
    is_broken = False

    def signature(self, pod: PodTemplate) -> Hashable:
        return "any"

    def filter_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Verdict:
        if self.is_broken:
            raise ValueError("broken")
        return Verdict.rejects(nodes, where=nodes.unschedulable, reason=NO)


def two_nodes() -> ClusterTables:
    cluster = ClusterTables()
    cluster.set_node(make_node("n0"))
    cluster.set_node(make_node("n1"))
    return cluster


@pytest.mark.parametrize(
    ("mood", "skips"),
    [
        pytest.param(DependsOn.NODE, True, id="its PreFilter skips now"),
        pytest.param(DependsOn.ANYTHING, False, id="it is asked in every cycle now"),
    ],
)
def test_rejections_end_with_their_basis(mood: DependsOn, skips: bool) -> None:
    """A plugin that has nothing more to say keeps no node from a pod."""
    cluster, plugin = two_nodes(), Moody()
    profile = ProfilePlugins(pre_filters=[plugin], filters=[plugin], pre_scores=[], scores=[])
    engine = Evaluator(profile, cluster, PodNominator(), Random(0))
    pod = cluster.templates.info(make_pod("p"))
    assert engine.filter(pod).names() == []
    plugin.mood, plugin.skips = mood, skips
    assert engine.filter(pod).names() == ["n0", "n1"]


def test_nothing_is_inherited_from_a_failed_attempt() -> None:
    """Its answers missed a change, and somebody may still hold them (here: the error's traceback does)."""
    cluster, plugin = two_nodes(), Fragile()
    engine = Evaluator(
        ProfilePlugins(pre_filters=[], filters=[plugin], pre_scores=[], scores=[]), cluster, PodNominator(), Random(0)
    )
    pod = cluster.templates.info(make_pod("p"))
    assert engine.filter(pod).names() == ["n0", "n1"]
    cluster.set_node(make_node("n0", unschedulable=True))
    plugin.is_broken = True
    with pytest.raises(PluginError) as held:
        engine.filter(pod)
    plugin.is_broken = False
    relative = cluster.templates.info(make_pod("q", labels={"app": "other"}))
    assert engine.filter(relative).names() == ["n1"]
    assert held.value.__traceback__ is not None
