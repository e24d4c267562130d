from __future__ import annotations

from random import Random

import numpy as np

from kubesched.config.plugin_args import NodeResourcesFitArgs
from kubesched.scheduler.columns import ClusterTables, WhatIf
from kubesched.scheduler.engine import Evaluator, ProfilePlugins
from kubesched.scheduler.plugins.node_name import NodeName
from kubesched.scheduler.plugins.node_resources_fit import NodeResourcesFit
from kubesched.scheduler.state.nominator import PodNominator
from kubesched.testing import make_node, make_pod
from kubesched.testing.handle import FakeHandle


def evaluator(cluster: ClusterTables, nominator: PodNominator) -> Evaluator:
    handle = FakeHandle(cluster=cluster)
    fit = NodeResourcesFit(NodeResourcesFitArgs(), handle)
    profile = ProfilePlugins(pre_filters=[fit], filters=[NodeName(None, handle), fit], pre_scores=[], scores=[])
    return Evaluator(profile, cluster, nominator, Random(0))


def four_nodes() -> ClusterTables:
    """The first two are full."""
    cluster = ClusterTables()
    for k in range(4):
        cluster.set_node(make_node(f"n{k}", cpu="2"))
    for k in range(2):
        cluster.place(cluster.templates.info(make_pod(f"p{k}", cpu="2", node=f"n{k}")), f"n{k}")
    return cluster


def test_as_if_there_were_no_other_nodes() -> None:
    """Neither the choice nor the message knows of them."""
    cluster = four_nodes()
    engine = evaluator(cluster, PodNominator())
    info = cluster.templates.info(make_pod("p", cpu="1"))
    fit = engine.filter(info)
    fit.confine_to(np.array([0, 2]))
    assert (fit.names(), fit.evaluated) == (["n2"], 2)
    fit = engine.filter(info)
    fit.confine_to(np.array([0, 1]))
    assert fit.diagnosis().message() == "0/2 nodes are available: 2 Insufficient cpu."
    assert engine.filter(info).names() == ["n2", "n3"]  # nothing of it lasts


def test_reasons_with_nominated_pods() -> None:
    """Where nominated pods are in the way, they are the reason; else what is really there."""
    cluster, nominator = four_nodes(), PodNominator()
    nominator.add(cluster.templates.info(make_pod("vip", cpu="2", priority=9, nominated_node="n2")), None)
    engine = evaluator(cluster, nominator)
    info = cluster.templates.info(make_pod("p", cpu="1"))
    state = engine.filter(info).state
    nodes = cluster.view(np.array([0, 1, 2, 3]))
    emptied = nodes.supposing(WhatIf.removed(cluster.pods, np.array([0]), np.array([0])))
    assert engine.fits_with_nominated(state, info, emptied).tolist() == [True, False, False, True]
    assert engine.reasons_with_nominated(state, info, emptied) == {"Insufficient cpu": 2}
    wanted = cluster.templates.info(make_pod("p", cpu="1"), wanted_node="n3")
    state = engine.filter(wanted).state
    expected = {"node(s) didn't match the requested node name": 3}
    assert engine.reasons_with_nominated(state, wanted, emptied) == expected
