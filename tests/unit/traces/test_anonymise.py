"""Anonymised traces: nothing of the names is left, and scheduling decides the same."""

from __future__ import annotations

import json
import types
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Union, get_args, get_origin

import msgspec
import pytest

from kubesched import Explanation, Simulation
from kubesched.apps.conformance import recordings
from kubesched.objects import KINDS, Kind, Node, Pod, decode_object, encode, to_builtins
from kubesched.objects.quantity import Quantity
from kubesched.testing import make_node, make_pod
from kubesched.traces import Change, ChangeType, Decision, DecisionType, kept
from kubesched.traces.anonymise import KEPT_FIELDS, RESOURCE_MAPS, Anonymiser

GOLDEN = Path(__file__).parents[2] / "conformance" / "golden"
EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
FILES = sorted(GOLDEN.glob("*/*.json"))


def hidden(obj: Any) -> Any:
    return Anonymiser(b"salt").object(kept(obj))


def clusters(file: Path) -> Iterator[tuple[str, Any, list[Any], list[Pod]]]:
    """Name, configuration, objects and pods of each recorded case, in the order of a first list."""
    for recording in recordings(file):
        for case in recording.cases:
            objects = sorted(map(decode_object, case["objects"]), key=_as_listed)
            manifests = case["pods"] if "pods" in case else [case["pod"]]
            pods = [decode_object({"apiVersion": "v1", "kind": "Pod", **manifest}) for manifest in manifests]
            yield case["name"], case.get("config"), objects, pods  # type: ignore[misc]


def _as_listed(obj: Any) -> tuple[int, str, str]:
    rank = 0 if isinstance(obj, Node) else 2 if isinstance(obj, Pod) else 1
    return rank, obj.metadata.namespace, obj.metadata.name


def verdict(explanation: Explanation, names: dict[str, str]) -> dict[str, Any]:
    """What was decided and by whom, without words that contain names; nodes and pods as in the original."""
    preemption = explanation.preemption
    return {
        "pre_filter": explanation.pre_filter and (explanation.pre_filter.code, explanation.pre_filter.plugin),
        "filters": {names[node]: (status.code, status.plugin) for node, status in explanation.filters.items()},
        "scores": {names[node]: dict(score.weighted) for node, score in explanation.scores.items()},
        "best": {names[node] for node in explanation.best_nodes},
        "preemption": preemption
        and {
            "acceptable": {names[candidate.node] for candidate in preemption.acceptable},
            "candidates": {
                names[candidate.node]: ([names[victim] for victim in candidate.victims], candidate.pdb_violations)
                for candidate in preemption.candidates
            },
        },
    }


@pytest.mark.parametrize("file", FILES, ids=[file.parent.name for file in FILES])
def test_recorded_clusters_are_decided_the_same(file: Path) -> None:
    """Every plugin's verdict and score on every node, preemption's victims, and placements, up to the renaming."""
    for name, config, objects, pods in clusters(file):
        if any(word in json.dumps(config) for word in ("addedAffinity", "labelSelector", "topologyKey")):
            continue  # a configuration that speaks of labels
        rename = Anonymiser(b"salt")
        names = {obj.metadata.key: obj.metadata.key for obj in (*objects, *pods)}
        renamed = {rename.object(kept(obj)).metadata.key: obj.metadata.key for obj in (*objects, *pods)}
        expected = decided(config, objects, pods, names)
        actual = decided(config, [hidden(obj) for obj in objects], [hidden(pod) for pod in pods], renamed)
        assert actual == expected, name


def decided(config: Any, objects: list[Any], pods: list[Pod], names: dict[str, str]) -> Any:
    with Simulation(config) as simulation:
        simulation.add(*(obj for obj in objects if not (isinstance(obj, Pod) and obj.is_terminal)))
        explained = [verdict(simulation.explain(pod), names) for pod in pods]
        simulation.add(*pods)
        placed = {
            names[pod]: node and names.get(node, "a node that there is not")
            for pod, node in simulation.schedule().items()
        }
        return explained, placed


def test_nothing_of_the_names_is_left() -> None:
    """Every string of the pod and the node contains a word that must not get out."""
    word = "acme"
    pod = make_pod(
        f"{word}-web-0",
        namespace=f"{word}-prod",
        uid=f"{word}-uid",
        labels={f"{word}.com/team": word, "app.kubernetes.io/name": f"{word}-web", f"x.kubernetes.io/{word}": "1"},
        owner={
            "apiVersion": f"{word}.com/v1",
            "kind": f"{word}Database",
            "name": word,
            "uid": word,
            "controller": True,
        },
        image=f"registry.{word}.com/web:1",
        node=f"{word}-node",
        node_selector={f"{word}.com/pool": word},
        tolerations=[{"key": f"{word}.com/dedicated", "value": word, "effect": "NoSchedule"}],
        affinity={
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [f"{word}-node"]}]},
                        {"matchExpressions": [{"key": word, "operator": "NotIn", "values": [word]}]},
                    ]
                }
            },
            "podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "topologyKey": f"{word}.com/rack",
                        "namespaces": [word],
                        "namespaceSelector": {"matchLabels": {word: word}},
                        "labelSelector": {"matchExpressions": [{"key": word, "operator": "Exists"}]},
                    }
                ]
            },
        },
        volumes=[{"name": word, "persistentVolumeClaim": {"claimName": word}}],
        gates=[f"{word}.com/wait"],
        status={
            "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": word}]
        },
    )
    node = make_node(
        f"{word}-node",
        zone=f"{word}-1",
        labels={f"{word}.com/rack": f"{word}7", "cores": "64"},
        taints=[f"{word}.com/dedicated={word}:NoSchedule"],
        images={f"registry.{word}.com/web:1": 100},
    )
    decision = Decision(time=1.0, type=DecisionType.UNSCHEDULABLE, pod=pod.key, uid=word, node=word, message=word)
    anonymiser = Anonymiser(b"salt")
    for entry in (Change(time=1.0, type=ChangeType.ADDED, object=kept(obj)) for obj in (pod, node)):
        renamed = anonymiser.entry(entry)
        assert isinstance(renamed, Change)
        assert word not in encode(renamed.object).decode().lower()
    assert word not in encode(anonymiser.entry(decision)).decode()


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("number", [False, True], ids=["texts", "numbers where both may stand"])
def test_every_field_of_every_kind(kind: Kind, number: bool) -> None:
    """Filled to the brim: it is renamed without an error, and the word is left only where a rule keeps it."""
    renamed = to_builtins(Anonymiser(b"salt").object(filled(kind.struct, number)))
    left = {path[-1] for path in places(renamed)}
    kept_names = {camel(name) for name in KEPT_FIELDS | RESOURCE_MAPS}
    # Annotations are chosen on recording; devices, their counters and CSI drivers keep their names.
    assert left <= kept_names | {"annotations", "name", "shareID", "string", "version", "strings", "versions"}, left
    assert ("metadata", "name") not in places(renamed) or kind.name == "CSIDriver"


def filled(hint: Any, number: bool) -> Any:
    """A value of a type with "acme" in every text."""
    origin, arguments = get_origin(hint), get_args(hint)
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return hint(**{field.name: filled(field.type, number) for field in msgspec.structs.fields(hint)})
    if origin in (Union, types.UnionType):
        options = [argument for argument in arguments if argument is not type(None)]
        return filled(int if number and int in options else str if str in options else options[0], number)
    if origin is tuple:
        return (filled(arguments[0], number),)
    if origin is dict:
        return {"acme": filled(arguments[1], number)}
    simple = {str: "acme", int: 7, float: 7.0, bool: True, datetime: EPOCH, Quantity: Quantity.of(7)}
    return simple.get(hint)


def places(value: Any, path: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    """The paths, without places in lists and keys of maps, at which the word stands."""
    if isinstance(value, dict):
        inner = [places(item, path if key == "acme" else (*path, key)) for key, item in value.items()]
        return set().union(*inner, {path} if "acme" in value else set())
    if isinstance(value, list):
        return set().union(*(places(item, path) for item in value))
    return {path} if value == "acme" else set()


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        pytest.param(
            lambda a: a.key("topology.kubernetes.io/zone"), "topology.kubernetes.io/zone", id="well-known key"
        ),
        pytest.param(lambda a: a.value("cores", "64", keeps_integers=True), "64", id="a number on a node"),
        pytest.param(lambda a: a.value("kubernetes.io/arch", "arm64"), "arm64", id="an architecture"),
        pytest.param(lambda a: a.namespace("kube-system"), "kube-system", id="a namespace of every cluster"),
        pytest.param(lambda a: a.name(""), "", id="nothing"),
        pytest.param(lambda a: a.resource("nvidia.com/gpu"), "nvidia.com/gpu", id="a resource"),
    ],
)
def test_what_stays(make: Any, expected: str) -> None:
    """What scheduling or a reader needs to recognise."""
    assert make(Anonymiser(b"salt")) == expected


def test_consistent_in_a_file_and_different_in_another() -> None:
    """The same salt gives the same names, another one others; a number in a pod's label is a name like any other."""
    one, same, other = Anonymiser(b"one"), Anonymiser(b"one"), Anonymiser(b"other")
    assert one.name("web") == same.name("web") != other.name("web")
    assert one.value("tenant", "4711") != "4711"
    assert one.compound("web-0") == f"{one.compound('web')}-{one.compound('0')}"
    assert one.pod_image("nginx") == one.pod_image("nginx:latest") == one.node_image("nginx:latest")
    assert one.node_image("nginx") != one.pod_image("nginx")


def test_everything_still_decodes() -> None:
    """An anonymised object is an object, with its quantities and times."""
    pod = hidden(make_pod("web", cpu="500m", priority=7))
    assert to_builtins(pod)["spec"]["priority"] == 7
    assert pod.metadata.creation_timestamp is not None
