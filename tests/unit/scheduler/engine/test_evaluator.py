"""One pod against all nodes, with plugins that are made for the test."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

from kubesched.config import FeatureGates, default_config
from kubesched.errors import PluginError
from kubesched.objects import Pod
from kubesched.scheduler.columns import ClusterTables, Integers, NodeView, PodInfo, PodTemplate
from kubesched.scheduler.engine import Evaluator, ProfilePlugins
from kubesched.scheduler.framework import (
    SKIP,
    SUCCESS,
    CycleState,
    DependsOn,
    Diagnosis,
    FilterPlugin,
    NodeInfo,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    Reason,
    ScorePlugin,
    Status,
    Verdict,
)
from kubesched.scheduler.plugins.registry import IN_TREE
from kubesched.scheduler.state.nominator import PodNominator
from kubesched.testing import make_node, make_pod
from kubesched.testing.handle import FakeHandle


class Full(FilterPlugin):
    """A node takes two pods."""

    name = "Full"
    depends_on = DependsOn.NODE_RESOURCES

    def filter_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Verdict:
        return Verdict.rejects(nodes, where=nodes.pod_count >= 2, reason=Reason.unschedulable("full"))


class Picky(FilterPlugin):
    """Kept for nobody: does not like nodes whose name ends with a given letter."""

    name = "Picky"

    def __init__(self, dislikes: str = "x", status: Status | None = None) -> None:
        self.dislikes = dislikes
        self.status = status or Status.unresolvable("not this one")
        self.asked: list[str] = []

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        self.asked.append(node.name)
        return self.status if node.name.endswith(self.dislikes) else None


class Moody(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin):
    """Kept; does as it is told, point by point."""

    name = "Moody"
    depends_on = DependsOn.NODE

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}

    def _answer(self, point: str, usual: Any) -> Any:
        answer = self.answers.get(point, usual)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def external_version(self, pod: PodTemplate) -> Any:
        return self._answer("external_version", 1)

    def signature(self, pod: PodTemplate) -> Any:
        return self._answer("signature", None)

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Any:
        return self._answer("PreFilter", SUCCESS)

    def filter_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Any:
        return self._answer("Filter", Verdict.fits(nodes))

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Any:
        return self._answer("PreScore", SUCCESS)

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Any:
        return self._answer("Score", np.arange(len(nodes)))

    def normalize_scores(self, state: CycleState, pod: PodTemplate, scores: Integers) -> Any:
        return self._answer("NormalizeScore", scores)


class Bench:
    def __init__(
        self, *filters: FilterPlugin, scores: Sequence[ScorePlugin] = (), nodes: Sequence[str] = "abc"
    ) -> None:
        self.cluster = ClusterTables()
        self.nominator = PodNominator()
        plugins: list[Any] = list(dict.fromkeys((*filters, *scores)))
        profile = ProfilePlugins(
            pre_filters=[plugin for plugin in plugins if isinstance(plugin, PreFilterPlugin)],
            filters=filters,
            pre_scores=[plugin for plugin in plugins if isinstance(plugin, PreScorePlugin)],
            scores=[(plugin, 2) for plugin in scores],
        )
        self.evaluator = Evaluator(profile, self.cluster, self.nominator, Random(3))
        for name in nodes:
            self.cluster.set_node(make_node(name))

    def info(self, name: str = "p", **more: Any) -> PodInfo:
        return self.cluster.templates.info(make_pod(name, **more))

    def place(self, *nodes: str) -> None:
        for node in nodes:
            self.cluster.place(self.info(f"placed-{len(self.cluster.pods)}", node=node), node)

    def diagnose(self) -> Diagnosis:
        return self.evaluator.filter(self.info()).diagnosis()


def said(diagnosis: Diagnosis) -> dict[str, str]:
    return {name: f"{status.plugin}: {status.message}" for name, status in diagnosis.statuses.items()}


# ---- reasons ----------------------------------------


def test_the_first_plugin_that_rejects_a_node_speaks_for_it() -> None:
    """Even if it keeps nothing and a later one that does has rejected the node already."""
    bench = Bench(Picky("a"), Full())
    bench.place("a", "a", "b", "b", "c", "c")
    diagnosis = bench.diagnose()
    assert said(diagnosis) == {"a": "Picky: not this one", "b": "Full: full", "c": "Full: full"}
    assert diagnosis.message() == "0/3 nodes are available: 1 not this one, 2 full."
    assert diagnosis.unschedulable_plugins == {"Picky", "Full"}


def test_a_plugin_that_keeps_nothing_is_asked_about_open_nodes_only() -> None:
    """Unless somebody wants all reasons: then about those that nobody before it rejected."""
    picky = Picky("c")
    bench = Bench(Full(), picky)
    bench.place("a", "a")
    fit = bench.evaluator.filter(bench.info())
    assert picky.asked == ["b", "c"]
    assert fit.names() == ["b"]
    assert said(fit.diagnosis()) == {"a": "Full: full", "c": "Picky: not this one"}
    assert picky.asked == ["b", "c"]


def test_pending_rejections_are_told_apart() -> None:
    """Their pods skip the backoff when what they wait for happens."""
    diagnosis = Bench(Picky("a", Status.pending("soon")), nodes="a").diagnose()
    assert diagnosis.pending_plugins == {"Picky"}
    assert diagnosis.unschedulable_plugins == {"Picky"}


def test_nodes_that_a_pre_filter_leaves_out_are_counted_in_the_message() -> None:
    """They were not looked at, and the plugin that limited the pod says so."""
    moody = Moody()

    moody.answers["PreFilter"] = (PreFilterResult(frozenset(["a", "nowhere"])), SUCCESS)
    bench = Bench(moody, Picky("a"))
    diagnosis = bench.diagnose()
    assert diagnosis.message() == (
        "0/3 nodes are available: 1 not this one, 2 node(s) didn't satisfy plugin(s) [Moody]."
    )
    assert diagnosis.unschedulable_plugins == {"Moody", "Picky"}
    assert bench.evaluator.filter(bench.info()).evaluated == 1


@pytest.mark.parametrize(
    ("nominated", "message"),
    [
        pytest.param("a", "1 not this one, 2 node(s) didn't satisfy plugin(s) [Moody Picky].", id="among those named"),
        pytest.param("b", "1 full, 1 node(s) didn't satisfy plugin(s) [Full Moody], 1 not this one.", id="left out"),
        pytest.param("c", "1 not this one, 2 node(s) didn't satisfy plugin(s) [Moody].", id="left out, though it fits"),
        pytest.param("gone", "1 not this one, 2 node(s) didn't satisfy plugin(s) [Moody].", id="does not exist"),
    ],
)
def test_a_nominated_node_is_asked_before_pre_filter_limits_the_pod(nominated: str, message: str) -> None:
    """What that tells stays: its status, and the plugin that rejected it (evaluateNominatedNode)."""
    moody = Moody()
    moody.answers["PreFilter"] = (PreFilterResult(frozenset(["a"])), SUCCESS)
    bench = Bench(moody, Picky("a"), Full())
    bench.place("b", "b")
    diagnosis = bench.evaluator.filter(bench.info(nominated_node=nominated)).diagnosis()
    assert diagnosis.message() == f"0/3 nodes are available: {message}"


def test_a_pod_that_a_pre_filter_rejects_fits_nowhere() -> None:
    """No row takes it, whatever was known before."""
    moody = Moody()
    bench = Bench(moody, Full())
    assert bench.evaluator.filter(bench.info()).count == 3
    moody.answers = {"external_version": 2, "PreFilter": Status.unresolvable("no such claim")}
    fit = bench.evaluator.filter(bench.info())
    assert fit.count == 0
    assert len(fit.rows()) == 0
    assert not fit.takes(np.array([0, 1])).any()
    assert fit.diagnosis().message() == "0/3 nodes are available: no such claim."


def test_a_pre_filter_s_rejection_of_a_pod_never_seen_before() -> None:
    """Nothing is kept yet that could be asked."""
    moody = Moody()
    moody.answers["PreFilter"] = Status.unschedulable("not now")
    fit = Bench(moody).evaluator.filter(Bench(moody).info())
    assert not fit.takes(np.array([0])).any()


# ---- nominated pods ----------------------------------------


@pytest.mark.parametrize(
    ("priority", "fits"),
    [
        pytest.param(5, False, id="of higher priority: it counts"),
        pytest.param(0, False, id="of equal priority: it counts"),
        pytest.param(-1, True, id="of lower priority: it does not"),
    ],
)
def test_nominated_pods_count_as_if_they_were_there(priority: int, fits: bool) -> None:
    """On the node that they are nominated to."""
    bench = Bench(Full(), nodes="ab")
    bench.place("a")
    bench.nominator.add(bench.info("claim", nominated_node="a", priority=priority), None)
    fit = bench.evaluator.filter(bench.info())
    assert fit.names() == (["a", "b"] if fits else ["b"])
    assert said(fit.diagnosis()) == ({} if fits else {"a": "Full: full"})


def test_a_pod_does_not_yield_to_its_own_nomination() -> None:
    """It is the one that the room was made for."""
    bench = Bench(Full(), nodes="a")
    bench.place("a")
    claim = bench.info("claim", nominated_node="a")
    bench.nominator.add(claim, None)
    assert bench.evaluator.filter(claim).names() == ["a"]


def test_what_nominated_pods_break_is_reported_first() -> None:
    """The question with nominated pods comes first, hence its answer is the node's."""
    bench = Bench(Full(), Picky("a"), nodes="a")
    bench.place("a")
    bench.nominator.add(bench.info("claim", nominated_node="a"), None)
    assert said(bench.diagnose()) == {"a": "Full: full"}


# ---- plugins that break their contract ----------------------------------------


@pytest.mark.parametrize("answer", [ValueError("boom"), None, 7, Verdict(np.zeros(99, dtype=np.int64))], ids=repr)
def test_a_filter_that_fails_fails_this_attempt_only(answer: Any) -> None:
    """Nothing half true is kept: the next attempt asks again."""
    moody = Moody()
    bench = Bench(moody, Full())
    moody.answers["Filter"] = answer
    for _ in range(2):
        with pytest.raises(PluginError, match="plugin Moody at Filter"):
            bench.evaluator.filter(bench.info())
    moody.answers = {"Filter": Verdict(np.array([1, 0, 0]), (Reason.unschedulable("no"),))}
    assert bench.evaluator.filter(bench.info()).names() == ["b", "c"]


@pytest.mark.parametrize(
    ("point", "answer", "message"),
    [
        pytest.param(
            "Filter",
            Verdict(np.array([0, 1, 0]), special={1: Status.failed("broken")}),
            'running "Moody" filter plugin: broken',
            id="Filter",
        ),
        pytest.param("PreScore", Status.failed("broken"), 'running PreScore plugin "Moody": broken', id="PreScore"),
    ],
)
def test_a_plugin_that_says_it_failed_is_quoted_as_kube_scheduler_does(point: str, answer: Any, message: str) -> None:
    """Users see it in events."""
    moody = Moody()
    moody.answers[point] = answer
    bench = Bench(moody, scores=[moody])
    with pytest.raises(PluginError) as raised:
        bench.evaluator.rank(bench.evaluator.filter(bench.info()))
    assert str(raised.value) == message


def test_a_filter_may_fail_on_nodes_that_an_earlier_one_rejects() -> None:
    """kube-scheduler would not have asked about them: neither preemption nor nominations are kept from going on."""
    moody = Moody()
    bench = Bench(Picky("a"), moody)
    state, info = bench.evaluator.filter(bench.info()).state, bench.info()
    moody.answers["Filter"] = Verdict(np.array([1, 0, 0]), special={0: Status.failed("broken")})
    everywhere = bench.cluster.view()
    assert bench.evaluator.fits_with_nominated(state, info, everywhere).tolist() == [False, True, True]
    assert bench.evaluator.reasons_with_nominated(state, info, everywhere) == {"not this one": 1}
    moody.answers["Filter"] = Verdict(np.array([0, 1, 0]), special={1: Status.failed("broken")})
    with pytest.raises(PluginError):
        bench.evaluator.fits_with_nominated(state, info, everywhere)


class Counting(FilterPlugin):
    """Takes every node, and counts how often it is asked."""

    def __init__(self, name: str, depends_on: DependsOn) -> None:
        self.name = name  # type: ignore[misc]  # one class for several plugins
        self.depends_on = depends_on  # type: ignore[misc]
        self.asked = 0

    def filter_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Verdict:
        self.asked += 1
        return Verdict.fits(nodes)


class CountingWithBasis(Counting):
    """It looks at something beyond the node: at pods of its domain, perhaps."""

    def external_version(self, pod: PodTemplate) -> int:
        return 1


def test_with_other_pods_on_a_node_only_plugins_that_may_see_pods_are_asked_again() -> None:
    """A preemption's dry run asks about the same nodes many times."""
    by_node, by_sums = Counting("ByNode", DependsOn.NODE), Counting("BySums", DependsOn.NODE_RESOURCES)
    by_basis, by_cycle = CountingWithBasis("ByBasis", DependsOn.NODE), Counting("ByCycle", DependsOn.ANYTHING)
    plugins = (by_node, by_sums, by_basis, by_cycle)
    bench = Bench(*plugins)
    bench.nominator.add(bench.info("claim", nominated_node="a", priority=10), None)
    info = bench.info()
    state = bench.evaluator.filter(info).state

    def asked(*, passed_before: bool) -> list[int]:
        before = [plugin.asked for plugin in plugins]
        bench.evaluator.fits_with_nominated(state, info, bench.cluster.view(), passed_before=passed_before)
        return [plugin.asked - count for plugin, count in zip(plugins, before, strict=True)]

    assert asked(passed_before=False) == [1, 2, 2, 2], "without nominated pods, and with them"
    assert asked(passed_before=True) == [0, 2, 2, 2]


class Stumbles(FilterPlugin):
    """Kept; fails on nodes with a label."""

    name = "Stumbles"
    depends_on = DependsOn.NODE

    def filter_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Verdict:
        found = {k: nodes.node(k) for k in range(len(nodes))}
        broken = {k: Status.failed("broken") for k, node in found.items() if node and "broken" in node.metadata.labels}
        return Verdict.of_statuses(nodes, broken)


@pytest.mark.parametrize("is_known", [False, True], ids=["from the start", "once the pods are known"])
def test_a_kept_filter_may_fail_on_nodes_that_others_reject(is_known: bool) -> None:
    """A broken node is nobody's problem while it is full; when it is not, it fails the attempt."""
    bench = Bench(Full(), Stumbles())
    if is_known:
        assert bench.evaluator.filter(bench.info()).count == 3
    bench.cluster.set_node(make_node("b", labels={"broken": ""}))
    bench.place("b", "b")
    for _ in range(2):
        assert bench.evaluator.filter(bench.info()).names() == ["a", "c"]
    bench.cluster.displace(bench.cluster.pods.on_node(bench.cluster.nodes.row_of["b"])[0].uid)
    with pytest.raises(PluginError, match='running "Stumbles" filter plugin: broken'):
        bench.evaluator.filter(bench.info())
    bench.cluster.set_node(make_node("b"))
    assert bench.evaluator.filter(bench.info()).count == 3


def test_a_filter_that_fails_on_changed_rows_is_asked_about_them_again() -> None:
    """They do not count as settled."""
    moody = Moody()
    bench = Bench(moody, Full())
    assert bench.evaluator.filter(bench.info()).count == 3
    bench.cluster.set_node(make_node("b", labels={"changed": "yes"}))
    bench.place("c", "c")
    moody.answers["Filter"] = ValueError("boom")
    with pytest.raises(PluginError):
        bench.evaluator.filter(bench.info())
    moody.answers = {}
    assert bench.evaluator.filter(bench.info()).names() == ["a", "b"]


def test_nobody_inherits_from_a_template_whose_evaluation_failed() -> None:
    """Even if something still holds its answers (an error's traceback, say)."""
    moody = Moody()
    moody.answers["signature"] = "all pods are alike"
    bench = Bench(moody)
    assert bench.evaluator.filter(bench.info()).count == 3
    bench.cluster.set_node(make_node("b", labels={"changed": "yes"}))
    moody.answers["Filter"] = ValueError("boom")
    with pytest.raises(PluginError) as held:
        bench.evaluator.filter(bench.info())
    assert held.value.plugin == "Moody"
    moody.answers["Filter"] = Verdict(np.array([0, 1, 0]), (Reason.unschedulable("no"),))
    assert bench.evaluator.filter(bench.info(labels={"other": "template"})).names() == ["a", "c"]


@pytest.mark.parametrize(
    ("point", "answer"),
    [
        pytest.param("PreScore", None, id="PreScore without a status"),
        pytest.param("PreScore", Status.unschedulable("no"), id="PreScore that rejects"),
        pytest.param("Score", ValueError("boom"), id="Score that raises"),
        pytest.param("Score", np.zeros(2, dtype=np.int64), id="too few scores"),
        pytest.param("Score", np.zeros(3), id="floating point scores"),
        pytest.param("Score", [1, 2, 3], id="a list of scores"),
        pytest.param("NormalizeScore", np.array([0, 0, 101]), id="a score above 100"),
        pytest.param("NormalizeScore", np.array([0, -1, 5]), id="a score below 0"),
        pytest.param("NormalizeScore", np.array([0.5, 1, 1]), id="floating point after normalising"),
    ],
)
def test_a_score_that_fails_fails_this_attempt_only(point: str, answer: Any) -> None:
    """The next one scores as if nothing had been."""
    moody = Moody()
    bench = Bench(moody, scores=[moody])
    moody.answers[point] = answer
    for _ in range(2):
        fit = bench.evaluator.filter(bench.info())
        with pytest.raises(PluginError, match="Moody"):
            bench.evaluator.rank(fit)
    moody.answers = {}
    fit = bench.evaluator.filter(bench.info())
    assert bench.evaluator.rank(fit).by_name() == {"a": 0, "b": 2, "c": 4}
    assert bench.evaluator.rank(fit).best() == "c"


def test_a_basis_that_raises_costs_this_attempt_only() -> None:
    """As any other call."""
    moody = Moody()
    bench = Bench(moody)
    moody.answers["external_version"] = ValueError("boom")
    with pytest.raises(ValueError, match="boom"):
        bench.evaluator.filter(bench.info())
    moody.answers = {}
    assert bench.evaluator.filter(bench.info()).count == 3


# ---- reuse ----------------------------------------


def test_equal_pods_are_asked_about_once() -> None:
    """The second pod of a template costs no question as long as nothing changes."""
    bench = Bench(Full())
    bench.evaluator.filter(bench.info("one"))
    asked = bench.evaluator.rows_asked
    bench.evaluator.filter(bench.info("two"))
    assert bench.evaluator.rows_asked == asked == 3
    assert (bench.evaluator.hits, bench.evaluator.misses) == (1, 1)
    bench.place("b")
    bench.evaluator.filter(bench.info("three"))
    assert bench.evaluator.rows_asked == asked + 1


def test_a_pod_for_one_node_is_compared_with_that_node_alone() -> None:
    """As long as few pods of its kind have come; then answers are kept as for any other."""
    moody = Moody()
    moody.answers["PreFilter"] = (PreFilterResult(frozenset(["b"])), SUCCESS)
    bench = Bench(moody, Full())
    asked = []
    for _ in range(6):
        before = bench.evaluator.rows_asked
        assert bench.evaluator.filter(bench.info()).names() == ["b"]
        asked.append(bench.evaluator.rows_asked - before)
    assert asked == [0, 0, 0, 0, 6, 0]


def test_a_skipped_score_plugin_gives_no_points() -> None:
    """And does not show up among the scores."""
    moody = Moody()
    moody.answers["PreScore"] = SKIP
    bench = Bench(scores=[moody])
    scores = bench.evaluator.score(bench.evaluator.filter(bench.info()))
    assert scores.by_plugin == {}
    assert scores.totals.tolist() == [0, 0, 0]


def test_large_clusters_of_like_nodes_are_judged_like_small_ones() -> None:
    """Past some ten thousand rows only one node of each kind is asked about; the answers are the same."""
    handle = FakeHandle()
    profile = default_config(FeatureGates()).profiles[0]
    fit: Any = IN_TREE["NodeResourcesFit"](profile.args_of("NodeResourcesFit"), handle)
    plugins = ProfilePlugins(pre_filters=[fit], filters=[fit], pre_scores=[fit], scores=[(fit, 1)])
    cluster, count = handle.cluster, 33_000
    for k in range(count):
        cluster.set_node(make_node(f"n{k}", cpu=("1", "2", "4")[k % 3]))
        if k % 4 == 0:
            cluster.place(cluster.templates.info(make_pod(f"p{k}", cpu="900m", node=f"n{k}")), f"n{k}")
    evaluator = Evaluator(plugins, cluster, PodNominator(), Random(1))
    info = cluster.templates.info(make_pod(cpu="500m"))
    kept = evaluator.filter(info)
    assert evaluator.rows_asked < 100
    verdict = fit.filter_nodes(CycleState(info), info.template, cluster.view())
    assert kept.rows().tolist() == np.flatnonzero(verdict.fitting).tolist()
    state = CycleState(info)
    fit.pre_score(state, info, cluster.view())
    plain = fit.score_nodes(state, info.template, cluster.view())
    assert evaluator.score(kept).totals.tolist() == plain[kept.rows()].tolist()
