"""InterPodAffinity: reasons, skips, odd input and queueing hints."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched.config import FeatureGates
from kubesched.config.plugin_args import InterPodAffinityArgs
from kubesched.config.versions import Version
from kubesched.objects import Namespace, Node, Pod
from kubesched.objects.codec import convert
from kubesched.scheduler.framework import Code, CycleState, DependsOn, EventHint, Hint
from kubesched.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from kubesched.testing.handle import FakeHandle, ask

WEB = {"matchLabels": {"app": "web"}}
BROKEN = {"matchExpressions": [{"key": "app", "operator": "Near"}]}


def node(name: str, **labels: str) -> Node:
    return convert({"metadata": {"name": name, "labels": {"host": name} | labels}}, Node)


def term(selector: Any = WEB, key: str = "zone", **more: Any) -> dict[str, Any]:
    return {"labelSelector": selector, "topologyKey": key} | more


def weighted(weight: int, **more: Any) -> dict[str, Any]:
    return {"weight": weight, "podAffinityTerm": term(**more)}


def pod(
    name: str = "new",
    node_name: str = "",
    *,
    namespace: str = "default",
    labels: dict[str, str] | None = None,
    near: tuple[Any, ...] = (),
    apart: tuple[Any, ...] = (),
    rather_near: tuple[Any, ...] = (),
    rather_apart: tuple[Any, ...] = (),
) -> Pod:
    required, preferred = (f"{when}DuringSchedulingIgnoredDuringExecution" for when in ("required", "preferred"))
    affinity = {
        "podAffinity": {required: near, preferred: rather_near},
        "podAntiAffinity": {required: apart, preferred: rather_apart},
    }
    wishes = near or apart or rather_near or rather_apart
    return convert(
        {
            "metadata": {"name": name, "uid": name, "namespace": namespace, "labels": labels or {}},
            "spec": {"nodeName": node_name} | ({"affinity": affinity} if wishes else {}),
        },
        Pod,
    )


WEB_LABELS = {"app": "web"}
ZONES = (node("a1", zone="a"), node("a2", zone="a"), node("b1", zone="b"), node("nowhere"))
AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"


@pytest.mark.parametrize(
    ("placed", "incoming", "rejected"),
    [
        pytest.param(
            [pod("w", "a1", labels=WEB_LABELS)],
            pod(near=(term(),)),
            {"b1": AFFINITY, "nowhere": AFFINITY},
            id="affinity takes the zone of a matching pod",
        ),
        pytest.param(
            [],
            pod(near=(term(),), labels=WEB_LABELS),
            {"nowhere": AFFINITY},
            id="the first of a series that wants itself may go anywhere that has the label",
        ),
        pytest.param(
            [pod("w", "a1", labels=WEB_LABELS)],
            pod(near=(term(),), labels=WEB_LABELS),
            {"b1": AFFINITY, "nowhere": AFFINITY},
            id="the second of a series follows the first",
        ),
        pytest.param(
            [pod("w", "nowhere", labels=WEB_LABELS)],
            pod(near=(term(),), labels=WEB_LABELS),
            {"nowhere": AFFINITY},
            id="a matching pod outside the topology does not end the series",
        ),
        pytest.param(
            [pod("w", "a1", labels=WEB_LABELS), pod("x", "b1", labels={"tier": "db"})],
            pod(near=(term(), term({"matchLabels": {"tier": "db"}}))),
            dict.fromkeys(("a1", "a2", "b1", "nowhere"), AFFINITY),
            id="one pod must match all terms",
        ),
        pytest.param(
            [pod("w", "a1", labels=WEB_LABELS)],
            pod(apart=(term(),)),
            {"a1": ANTI_AFFINITY, "a2": ANTI_AFFINITY},
            id="anti-affinity leaves nodes without the label free",
        ),
        pytest.param(
            [pod("w", "a1", apart=(term(key="host"),))],
            pod(labels=WEB_LABELS),
            {"a1": EXISTING},
            id="anti-affinity of a placed pod is honoured",
        ),
        pytest.param(
            [pod("w", "a1", labels=WEB_LABELS, apart=(term(),))],
            pod(labels=WEB_LABELS, apart=(term(key="host"),)),
            {"a1": ANTI_AFFINITY, "a2": EXISTING},
            id="the pod's own rule is named first",
        ),
        pytest.param(
            [pod("w", "gone", labels=WEB_LABELS, apart=(term(),))],
            pod(labels=WEB_LABELS, apart=(term(),)),
            {},
            id="pods on a node that does not exist count nowhere",
        ),
        pytest.param(
            [pod("w", "a1", labels=WEB_LABELS, apart=(term(BROKEN),))],
            pod(labels=WEB_LABELS),
            {},
            id="a placed pod's broken terms are as if absent",
        ),
    ],
)
def test_filter(placed: list[Pod], incoming: Pod, rejected: dict[str, str]) -> None:
    """Which nodes are out, with the reason."""
    handle = FakeHandle().load(*ZONES, *placed)
    answer = ask(InterPodAffinity(None, handle), incoming, handle.cluster)
    assert {name: status.message for name, status in answer.statuses.items() if not status.is_success} == rejected


@pytest.mark.parametrize(
    ("scope", "namespace", "is_near"),
    [
        pytest.param({}, "default", True, id="no namespaces: the pod's own"),
        pytest.param({}, "other", False, id="no namespaces: not another"),
        pytest.param({"namespaces": ["other"]}, "other", True, id="named"),
        pytest.param({"namespaces": ["other"]}, "default", False, id="named: not the pod's own"),
        pytest.param({"namespaceSelector": {}}, "unknown", True, id="empty selector: all, known or not"),
        pytest.param({"namespaceSelector": {"matchLabels": {"team": "a"}}}, "other", True, id="selected by label"),
        pytest.param({"namespaceSelector": {"matchLabels": {"team": "a"}}}, "default", False, id="not selected"),
        pytest.param(
            {"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}},
            "other",
            False,
            id="a selector that no labels satisfy does not select a namespace that has the label",
        ),
    ],
)
def test_namespaces_of_the_incoming_pods_terms(scope: dict[str, Any], namespace: str, is_near: bool) -> None:
    """Which namespaces a term speaks of."""
    other = convert({"metadata": {"name": "other", "labels": {"team": "a"}}}, Namespace)
    handle = FakeHandle().load(*ZONES, other, pod("w", "a1", namespace=namespace, labels=WEB_LABELS))
    answer = ask(InterPodAffinity(None, handle), pod(near=(term(**scope),)), handle.cluster)
    assert answer.statuses["a1"].is_success is is_near


@pytest.mark.parametrize(("version", "is_near"), [("1.36", True), ("1.37", False)])
def test_a_selector_that_no_labels_satisfy(version: str, is_near: bool) -> None:
    """NamespaceSelectorIsResolved: until v1.36 it selected namespaces that have the label, too."""
    other = convert({"metadata": {"name": "other", "labels": {"team": "a"}}}, Namespace)
    gates = FeatureGates(version=Version.parse(version))
    handle = FakeHandle(gates=gates).load(*ZONES, other, pod("w", "a1", namespace="other", labels=WEB_LABELS))
    for operator in ({"operator": "DoesNotExist"}, {"operator": "NotIn", "values": ["a"]}):
        scope: dict[str, Any] = {"namespaceSelector": {"matchExpressions": [{"key": "team", **operator}]}}
        answer = ask(InterPodAffinity(None, handle), pod(near=(term(**scope),)), handle.cluster)
        assert answer.statuses["a1"].is_success is is_near


def test_a_namespace_that_changes_its_labels_is_seen() -> None:
    """The external version changes with it, and so does the answer."""
    handle = FakeHandle().load(*ZONES, pod("w", "a1", namespace="other", labels=WEB_LABELS))
    plugin = InterPodAffinity(None, handle)
    incoming = pod(near=(term(namespaceSelector={"matchLabels": {"team": "a"}}),))
    template = handle.cluster.templates.info(incoming).template
    before = plugin.external_version(template)
    assert not ask(plugin, incoming, handle.cluster).statuses["a1"].is_success
    handle.load(convert({"metadata": {"name": "other", "labels": {"team": "a"}}}, Namespace))
    assert plugin.external_version(template) != before
    assert ask(plugin, incoming, handle.cluster).statuses["a1"].is_success


def test_a_pod_that_no_term_speaks_of_has_nothing_to_depend_on() -> None:
    """Others' terms may come and go: its external version stays the same, and both points skip."""
    handle = FakeHandle().load(*ZONES)
    plugin, incoming = InterPodAffinity(None, handle), pod(labels={"app": "db"})
    template = handle.cluster.templates.info(incoming).template
    before = plugin.external_version(template)
    handle.load(pod("w", "a1", labels=WEB_LABELS, apart=(term(),), rather_near=(weighted(5),)))
    answer = ask(plugin, incoming, handle.cluster)
    assert plugin.external_version(template) == before
    assert answer.pre_filter is not None
    assert answer.pre_filter.is_skip
    assert answer.scores is None


@pytest.mark.parametrize(
    ("placed", "incoming", "come", "judged", "valued"),
    [
        pytest.param([], pod(apart=(term(),)), "a1", ["a1", "a2"], [], id="the first pod of a domain"),
        pytest.param(["a2"], pod(apart=(term(),)), "a1", [], [], id="the second is kept away already"),
        pytest.param([], pod(apart=(term(),)), "nowhere", [], [], id="a node without the label has no domain"),
        pytest.param([], pod(near=(term(),)), "a1", None, [], id="the first pod anywhere, and others must go near it"),
        pytest.param(["a1"], pod(near=(term(),)), "a2", [], [], id="the second makes no difference"),
        pytest.param(["a1"], pod(rather_near=(weighted(1, key="host"),)), "a1", [], ["a1"], id="a preference counts"),
        pytest.param(["a1"], pod(rather_near=(weighted(1),)), "a2", [], ["a1", "a2"], id="in the whole domain"),
    ],
)
def test_rows_that_a_placed_pod_concerns(
    placed: list[str], incoming: Pod, come: str, judged: list[str] | None, valued: list[str]
) -> None:
    """Nodes about which Filter and Score may say something else; None if that may be any."""
    handle = FakeHandle().load(*ZONES, *(pod(f"w-{name}", name, labels=WEB_LABELS) for name in placed))
    plugin, table = InterPodAffinity(None, handle), handle.cluster.nodes
    template = handle.cluster.templates.info(incoming).template
    before = plugin.external_version(template)
    handle.load(pod("w", come, labels=WEB_LABELS))
    rows = plugin.filter_changes(template, before)
    assert (None if rows is None else [table.names[row] for row in rows]) == judged
    rows = plugin.score_changes(template, before)
    assert rows is not None
    assert [table.names[row] for row in rows] == valued


@pytest.mark.parametrize(
    ("incoming", "by_domain"),
    [
        pytest.param(pod(rather_near=(weighted(3),)), {"a": 3, "b": 0, "": 0}, id="one topology with few domains"),
        pytest.param(pod(rather_near=(weighted(3), weighted(1, key="host"))), None, id="two topologies"),
        pytest.param(pod(near=(term(),)), None, id="no preferences"),
    ],
)
def test_scores_by_domain(incoming: Pod, by_domain: dict[str, int] | None) -> None:
    """Where all that matters is which domain a node is in, scores are told by domain, in every cycle."""
    handle = FakeHandle().load(*ZONES, pod("w", "a1", labels=WEB_LABELS))
    plugin, info = InterPodAffinity(None, handle), handle.cluster.templates.info(incoming)
    told = plugin.score_by_domain(CycleState(info), info.template)
    assert (None if told is None else dict(zip([*told[0].values, ""], told[1].tolist(), strict=True))) == by_domain
    assert plugin.score_depends_on_for(info.template) is (DependsOn.NODE if by_domain is None else DependsOn.ANYTHING)


def test_nobody_can_tell_after_nodes_were_relabelled() -> None:
    """Domains are others then."""
    handle = FakeHandle().load(*ZONES)
    plugin = InterPodAffinity(None, handle)
    template = handle.cluster.templates.info(pod(apart=(term(),), rather_near=(weighted(1),))).template
    before = plugin.external_version(template)
    handle.load(node("nowhere", zone="b"))
    assert plugin.filter_changes(template, before) is None
    assert plugin.score_changes(template, before) is None


@pytest.mark.parametrize(
    ("placed", "incoming", "args", "scores"),
    [
        pytest.param(
            [pod("w", "a1", labels=WEB_LABELS)],
            pod(rather_near=(weighted(3),)),
            {},
            {"a1": 100, "a2": 100, "b1": 0, "nowhere": 0},
            id="preferred affinity",
        ),
        pytest.param(
            [pod("w", "a1", labels=WEB_LABELS)],
            pod(rather_apart=(weighted(2, key="host"), weighted(1))),
            {},
            {"a1": 0, "a2": 66, "b1": 100, "nowhere": 100},
            id="preferred anti-affinity, cut off to whole numbers",
        ),
        pytest.param(
            [pod("w", "a1", near=(term(),))],
            pod(labels=WEB_LABELS),
            {"hard_pod_affinity_weight": 5},
            {"a1": 100, "a2": 100, "b1": 0, "nowhere": 0},
            id="required affinity of a placed pod counts with its weight",
        ),
        pytest.param(
            [pod("w", "a1", near=(term(),))],
            pod(labels=WEB_LABELS),
            {"hard_pod_affinity_weight": 0},
            None,
            id="unless that weight is zero",
        ),
        pytest.param(
            [pod("w", "a1", rather_near=(weighted(5),))],
            pod(labels=WEB_LABELS),
            {"ignore_preferred_terms_of_existing_pods": True},
            None,
            id="preferences of placed pods are ignored on demand",
        ),
        pytest.param(
            [pod("w", "a1", rather_near=(weighted(5),))],
            pod(labels=WEB_LABELS, rather_near=(weighted(1, selector={"matchLabels": {"app": "none"}}),)),
            {"ignore_preferred_terms_of_existing_pods": True},
            {"a1": 100, "a2": 100, "b1": 0, "nowhere": 0},
            id="but not if the pod has preferences itself",
        ),
        pytest.param(
            [pod("w", "a1", labels=WEB_LABELS)],
            pod(rather_near=(weighted(4),), rather_apart=(weighted(4),)),
            {},
            {"a1": 0, "a2": 0, "b1": 0, "nowhere": 0},
            id="preferences that cancel each other out are scored, not skipped",
        ),
        pytest.param(
            [pod("w", "nowhere", labels=WEB_LABELS)],
            pod(rather_near=(weighted(4),)),
            {},
            None,
            id="nothing near any node: skip",
        ),
    ],
)
def test_score(placed: list[Pod], incoming: Pod, args: dict[str, Any], scores: dict[str, int] | None) -> None:
    """Normalised scores, or None for Skip."""
    handle = FakeHandle().load(*ZONES, *placed)
    plugin = InterPodAffinity(InterPodAffinityArgs(**args), handle)
    assert ask(plugin, incoming, handle.cluster).scores == scores


def test_terms_that_do_not_compile_reject_the_pod() -> None:
    """Every list with a broken term is named, as kube-scheduler does."""
    handle = FakeHandle().load(*ZONES)
    incoming = pod(near=(term(BROKEN),), rather_apart=(weighted(1, selector=BROKEN),))
    plugin = InterPodAffinity(None, handle)
    answer = ask(plugin, incoming, handle.cluster)
    assert answer.pre_filter is not None
    assert answer.pre_filter.code is Code.UNRESOLVABLE
    problem = '"Near" is not a valid label selector operator'
    assert answer.pre_filter.message == (
        f"parsing pod: [requiredAffinityTerms: {problem}, preferredAntiAffinityTerms: {problem}]"
    )
    assert plugin.external_version(handle.cluster.templates.info(incoming).template) is None


def _hint(events: tuple[EventHint, ...], index: int, rejected: Pod, old: Any, new: Any) -> Hint:
    handle = FakeHandle()
    function = events[index].hint
    assert function is not None
    return function(handle.cluster.templates.info(rejected), old, new)


NEAR_WEB, APART_FROM_WEB = pod(near=(term(),)), pod(apart=(term(),))


@pytest.mark.parametrize(
    ("index", "rejected", "old", "new", "helps"),
    [
        pytest.param(0, NEAR_WEB, None, pod("w", "a1", labels=WEB_LABELS), True, id="a wanted pod was placed"),
        pytest.param(0, NEAR_WEB, None, pod("w", "a1"), False, id="an unwanted pod was placed"),
        pytest.param(0, NEAR_WEB, None, pod("w", labels=WEB_LABELS), False, id="a wanted pod is still pending"),
        pytest.param(0, APART_FROM_WEB, pod("w", "a1", labels=WEB_LABELS), None, True, id="an avoided pod has gone"),
        pytest.param(0, NEAR_WEB, pod("w", "a1", labels=WEB_LABELS), None, False, id="a wanted pod has gone"),
        pytest.param(
            0,
            pod(labels=WEB_LABELS),
            pod("w", "a1", apart=(term(),)),
            None,
            True,
            id="a pod that avoids this one has gone",
        ),
        pytest.param(1, pod("w"), pod("w"), pod("w", labels=WEB_LABELS), True, id="its own labels changed"),
        pytest.param(
            1, NEAR_WEB, pod("w", "a1"), pod("w", "a1", labels=WEB_LABELS), True, id="a placed pod became a wanted one"
        ),
        pytest.param(1, NEAR_WEB, pod("w"), pod("w", labels=WEB_LABELS), False, id="a pending pod became a wanted one"),
        pytest.param(
            1,
            APART_FROM_WEB,
            pod("w", "a1", labels=WEB_LABELS),
            pod("w", "a1"),
            True,
            id="a placed pod is avoided no more",
        ),
        pytest.param(
            1,
            APART_FROM_WEB,
            pod("w", "a1", labels=WEB_LABELS),
            pod("w", "a1", labels=WEB_LABELS | {"x": "y"}),
            False,
            id="a placed pod is still avoided",
        ),
        pytest.param(
            1,
            APART_FROM_WEB,
            pod("w", "a1"),
            pod("w", "a1", labels=WEB_LABELS),
            False,
            id="a placed pod became an avoided one",
        ),
        pytest.param(2, NEAR_WEB, None, node("n", zone="a"), True, id="a node with the wanted topology came"),
        pytest.param(2, NEAR_WEB, None, node("n"), False, id="a node without the wanted topology came"),
        pytest.param(2, NEAR_WEB, node("n"), node("n", zone="a"), True, id="a node got the wanted topology"),
        pytest.param(2, NEAR_WEB, node("n", zone="a"), node("n", zone="b"), True, id="a node moved"),
        pytest.param(2, NEAR_WEB, node("n", zone="a"), node("n", zone="a", x="y"), False, id="another label changed"),
        pytest.param(2, APART_FROM_WEB, None, node("n"), True, id="any new node may be free of avoided pods"),
        pytest.param(2, APART_FROM_WEB, node("n", zone="a"), node("n"), True, id="a node left the topology"),
        pytest.param(2, APART_FROM_WEB, node("n"), node("n", zone="a"), False, id="a node joined the avoided topology"),
    ],
)
def test_hints(index: int, rejected: Pod, old: Any, new: Any, helps: bool) -> None:
    """Which events are worth another attempt."""
    events = tuple(InterPodAffinity(None, FakeHandle()).events_to_register())
    assert _hint(events, index, rejected, old, new) is (Hint.QUEUE if helps else Hint.SKIP)
