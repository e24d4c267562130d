from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched.config.plugin_args import NodeAffinityArgs
from kubesched.errors import ConfigurationError
from kubesched.objects import Node, Pod, convert
from kubesched.objects.affinity import NodeAffinity as Affinity
from kubesched.scheduler.framework import Code, CycleState, Hint
from kubesched.scheduler.plugins.node_affinity import NodeAffinity
from kubesched.testing import make_node, make_pod
from kubesched.testing.handle import FakeHandle, ask

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NOT_WANTED = ("node(s) didn't match Pod's node affinity/selector",)
NOT_ENFORCED = ("node(s) didn't match scheduler-enforced node affinity",)


def need(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def labels(*expressions: dict[str, Any]) -> dict[str, Any]:
    return {"matchExpressions": list(expressions)}


def names(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"matchFields": list(fields)}


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def preferred(*terms: tuple[int, dict[str, Any]]) -> dict[str, Any]:
    return {"nodeAffinity": {PREFERRED: [{"weight": weight, "preference": term} for weight, term in terms]}}


def plugin_for(handle: FakeHandle, added: dict[str, Any] | None = None) -> NodeAffinity:
    affinity = convert(added["nodeAffinity"], Affinity) if added else None
    return NodeAffinity(NodeAffinityArgs(added_affinity=affinity), handle)


SSD = labels(need("disk", "In", "ssd"))


@pytest.mark.parametrize(
    ("pod", "fitting"),
    [
        pytest.param(make_pod(node_selector={"disk": "ssd"}), {"fast"}, id="a node selector"),
        pytest.param(make_pod(affinity=required(SSD)), {"fast"}, id="one required term"),
        pytest.param(
            make_pod(affinity=required(SSD, names(need("metadata.name", "In", "slow")))),
            {"fast", "slow"},
            id="either of two terms",
        ),
        pytest.param(make_pod(affinity=required(labels(need("size", "Gt", "3")))), {"slow"}, id="a number compared"),
        pytest.param(
            make_pod(affinity=required(labels(need("disk", "Gt", "3")))), set(), id="a label that is no number"
        ),
        pytest.param(
            make_pod(affinity=required(labels(need("size", "Gt", "x")))), set(), id="a bound that is no number"
        ),
        pytest.param(make_pod(affinity=required(labels(need("disk", "Near", "x")))), set(), id="an unknown operator"),
        pytest.param(
            make_pod(affinity=required(labels(need("disk", "Near")), SSD)),
            {"fast"},
            id="another term may match beside one that cannot be understood",
        ),
        pytest.param(make_pod(affinity=required()), set(), id="no term matches no node"),
        pytest.param(make_pod(affinity=required({})), set(), id="an empty term matches no node"),
        pytest.param(
            make_pod(node_selector={"disk": "ssd"}, affinity=required(labels(need("size", "Exists")))),
            set(),
            id="both selector and affinity must match",
        ),
    ],
)
def test_filter(pod: Pod, fitting: set[str]) -> None:
    """A node must match the pod's selector and one term of its affinity."""
    handle = FakeHandle().load(
        make_node("fast", labels={"disk": "ssd"}), make_node("slow", labels={"disk": "hdd", "size": "5"})
    )
    answer = ask(plugin_for(handle), pod, handle.cluster)
    assert {name for name, status in answer.statuses.items() if status.is_success} == fitting
    for name in answer.statuses.keys() - fitting:
        assert (answer.statuses[name].code, answer.statuses[name].reasons) == (Code.UNRESOLVABLE, NOT_WANTED)


def name_is(*values: str) -> dict[str, Any]:
    return need("metadata.name", "In", *values)


@pytest.mark.parametrize(
    ("affinity", "expected"),
    [
        pytest.param(None, "skip", id="nothing required"),
        pytest.param(preferred((1, SSD)), "skip", id="only preferred"),
        pytest.param(required(SSD), None, id="any node may match"),
        pytest.param(required(names(name_is("a")), names(name_is("b"))), {"a", "b"}, id="every term names a node"),
        pytest.param(required(names(name_is("a")), SSD), None, id="one term names none"),
        pytest.param(required(names(name_is("a"), name_is("b"))), "conflict", id="a term names two nodes at once"),
        pytest.param(
            required(names(name_is("a"), name_is("b")), names(name_is("c"))), {"c"}, id="one of two can be met"
        ),
        pytest.param(required(names(need("metadata.name", "NotIn", "a"))), None, id="a node excluded by name"),
        pytest.param(required(), None, id="no terms at all"),
    ],
)
def test_pre_filter_names_nodes(affinity: dict[str, Any] | None, expected: Any) -> None:
    """Where every term names nodes, only those are looked at."""
    handle = FakeHandle().load(make_node("a"))
    answer = ask(plugin_for(handle), make_pod(affinity=affinity), handle.cluster)
    assert answer.pre_filter is not None
    if expected == "skip":
        assert answer.pre_filter.is_skip
    elif expected == "conflict":
        assert answer.pre_filter.code is Code.UNRESOLVABLE
        assert answer.pre_filter.reasons == ("pod affinity terms conflict",)
    else:
        assert answer.pre_filter.is_success
        assert answer.node_names == expected


def test_added_affinity_is_asked_first() -> None:
    """The profile's affinity applies to every pod, and its reason wins."""
    handle = FakeHandle().load(make_node("a", labels={"disk": "ssd"}), make_node("b"))
    plugin = plugin_for(handle, required(SSD))
    answer = ask(plugin, make_pod(), handle.cluster)
    assert answer.statuses["a"].is_success
    assert answer.statuses["b"].reasons == NOT_ENFORCED
    picky = ask(plugin, make_pod(node_selector={"x": "y"}), handle.cluster)
    assert (picky.statuses["a"].reasons, picky.statuses["b"].reasons) == (NOT_WANTED, NOT_ENFORCED)


@pytest.mark.parametrize("kind", [REQUIRED, PREFERRED])
def test_an_added_affinity_that_makes_no_sense_is_a_configuration_error(kind: str) -> None:
    """The message names the field."""
    bad = labels(need("disk", "Near", "x"))
    with pytest.raises(ConfigurationError, match=rf"parsing addedAffinity\.{kind}"):
        plugin_for(FakeHandle(), required(bad) if kind == REQUIRED else preferred((1, bad)))


def test_scores_sum_the_weights_that_match() -> None:
    """The pod's preferences and the profile's count together; the best node gets 100."""
    handle = FakeHandle().load(
        make_node("a", labels={"disk": "ssd"}), make_node("b", labels={"disk": "ssd", "gpu": ""}), make_node("c")
    )
    pod = make_pod(affinity=preferred((1, SSD), (3, labels(need("gpu", "Exists"))), (50, {}), (0, SSD)))
    assert ask(plugin_for(handle), pod, handle.cluster).scores == {"a": 25, "b": 100, "c": 0}
    added = plugin_for(handle, preferred((2, names(name_is("c")))))
    assert ask(added, pod, handle.cluster).scores == {"a": 25, "b": 100, "c": 50}
    assert ask(added, make_pod(), handle.cluster).scores == {"a": 0, "b": 0, "c": 100}


def test_pre_score_skips_without_preferences_and_fails_on_bad_ones() -> None:
    """Bad terms are ignored where they are required, but not where they are preferred."""
    handle = FakeHandle().load(make_node("a"))
    plugin = plugin_for(handle)
    for pod, code in (
        (make_pod(affinity=required(SSD)), Code.SKIP),
        (make_pod(affinity=preferred((1, labels(need("disk", "Near", "x"))))), Code.ERROR),
    ):
        info = handle.cluster.templates.info(pod)
        assert plugin.pre_score(CycleState(info), info, handle.cluster.view()).code is code


MATCHING, OTHER = make_node("n", labels={"disk": "ssd"}), make_node("n")


@pytest.mark.parametrize(
    ("affinity", "old", "new", "expected"),
    [
        pytest.param(required(SSD), None, MATCHING, Hint.QUEUE, id="a matching node is added"),
        pytest.param(required(SSD), None, OTHER, Hint.SKIP, id="another node is added"),
        pytest.param(required(SSD), OTHER, MATCHING, Hint.QUEUE, id="a node matches now"),
        pytest.param(required(SSD), MATCHING, MATCHING, Hint.SKIP, id="it matched before"),
        pytest.param(required(labels(need("disk", "Near"))), None, OTHER, Hint.QUEUE, id="nobody can tell"),
    ],
)
def test_hint_of_node_events(affinity: dict[str, Any], old: Node | None, new: Node, expected: Hint) -> None:
    """A node helps when it comes to match."""
    handle = FakeHandle()
    (registered,) = plugin_for(handle).events_to_register()
    assert registered.hint is not None
    assert registered.hint(handle.cluster.templates.info(make_pod(affinity=affinity)), old, new) is expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, MATCHING, Hint.QUEUE, id="a node with the label is added"),
        pytest.param(None, OTHER, Hint.SKIP, id="a node without it is added"),
        pytest.param(OTHER, MATCHING, Hint.QUEUE, id="a node gets it"),
    ],
)
def test_hint_of_node_events_for_a_node_selector(old: Node | None, new: Node, expected: Hint) -> None:
    """It counts like an affinity."""
    handle = FakeHandle()
    (registered,) = plugin_for(handle).events_to_register()
    assert registered.hint is not None
    info = handle.cluster.templates.info(make_pod(node_selector={"disk": "ssd"}))
    assert registered.hint(info, old, new) is expected


def test_hint_respects_the_added_affinity() -> None:
    """A node that the profile forbids never helps."""
    handle = FakeHandle()
    (registered,) = plugin_for(handle, required(SSD)).events_to_register()
    assert registered.hint is not None
    info = handle.cluster.templates.info(make_pod())
    assert registered.hint(info, None, OTHER) is Hint.SKIP
    assert registered.hint(info, None, MATCHING) is Hint.QUEUE


EXPRESSIONS = st.builds(
    lambda key, operator, values: need(key, operator, *([] if "Exist" in operator else values)),
    st.sampled_from("ab"),
    st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]),
    st.lists(st.sampled_from("12"), min_size=1, max_size=2),
) | st.builds(
    lambda key, op, bound: need(key, op, bound),
    st.sampled_from("ab"),
    st.sampled_from(["Gt", "Lt"]),
    st.sampled_from("12"),
)
FIELDS = st.builds(need, st.just("metadata.name"), st.sampled_from(["In", "NotIn"]), st.sampled_from(["n0", "n1"]))
TERMS = st.builds(
    lambda expressions, fields: labels(*expressions) | names(*fields),
    st.lists(EXPRESSIONS, max_size=2),
    st.lists(FIELDS, max_size=1),
)
NODE_LABELS = st.dictionaries(st.sampled_from("ab"), st.sampled_from(["1", "2", "x"]))


def plain_match(term: dict[str, Any], node: Node) -> bool:
    def holds(requirement: dict[str, Any], present: dict[str, str]) -> bool:
        value, values = present.get(requirement["key"]), requirement["values"]
        match requirement["operator"]:
            case "In":
                return value in values
            case "NotIn":
                return value not in values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt":
                return value is not None and value.isdigit() and int(value) > int(values[0])
            case _:
                return value is not None and value.isdigit() and int(value) < int(values[0])

    if not term["matchExpressions"] and not term["matchFields"]:
        return False
    fields = {"metadata.name": node.metadata.name}
    return all(holds(each, node.metadata.labels) for each in term["matchExpressions"]) and all(
        holds(each, fields) for each in term["matchFields"]
    )


@settings(max_examples=60)
@given(
    nodes=st.lists(NODE_LABELS, max_size=5),
    selector=NODE_LABELS,
    terms=st.lists(TERMS, min_size=1, max_size=3),
    weighted=st.lists(st.tuples(st.integers(1, 9), TERMS), min_size=1, max_size=3),
)
def test_agrees_with_the_plain_rule(
    nodes: list[dict[str, str]], selector: dict[str, str], terms: list[Any], weighted: list[Any], worlds: Any
) -> None:
    """Over any view, filter and score say what the rule says about each node by itself."""
    handle = FakeHandle().load(*(make_node(f"n{k}", labels=each) for k, each in enumerate(nodes)))
    affinity = {"nodeAffinity": required(*terms)["nodeAffinity"] | preferred(*weighted)["nodeAffinity"]}
    pod = make_pod(node_selector=selector, affinity=affinity)
    plugin, info = plugin_for(handle), handle.cluster.templates.info(pod)
    for view, infos in worlds(handle.cluster, pod):
        fitting = plugin.filter_nodes(CycleState(info), info.template, view).fitting
        scores = plugin.score_nodes(CycleState(info), info.template, view)
        for position, each in infos:
            selected = selector.items() <= each.labels.items()
            assert fitting[position] == (selected and any(plain_match(term, each.node) for term in terms))
            assert scores[position] == sum(weight for weight, term in weighted if plain_match(term, each.node))
