"""An anonymised trace behaves as the one it was made from: the same decisions at the same times, under other names."""

from __future__ import annotations

import random
from typing import Any

import pytest
from msgspec.structs import replace

from kubesched import replay
from kubesched.objects import Pod
from kubesched.testing import ZONE_LABEL, make_node, make_pod
from kubesched.traces import Change, ChangeType, Entry, Header, Trace, kept
from kubesched.traces.anonymise import Anonymiser


def random_trace(seed: int) -> list[Entry]:
    """An overloaded hour: priorities, selectors, taints, spreads and affinities; pods come, and some go."""
    chance = random.Random(seed)
    entries: list[Entry] = []
    for number in range(8):
        taints = ["team=ml:NoSchedule"] if number % 4 == 0 else []
        labels = {ZONE_LABEL: f"z{number % 3}", "example.com/disk": chance.choice(["ssd", "hdd"])}
        node = make_node(f"node-{number}", cpu=f"{chance.choice([2, 4, 8])}", labels=labels, taints=taints)
        entries.append(_change(0.0, ChangeType.ADDED, node))
    for number in range(60):
        pod = _pod(number, chance)
        at = 1 + chance.uniform(0, 3000)
        entries.append(_change(at, ChangeType.ADDED, pod))
        if chance.random() < 0.3:
            entries.append(_change(at + chance.uniform(1, 500), ChangeType.DELETED, pod))
    return sorted(entries, key=lambda entry: entry.time)


def _pod(number: int, chance: random.Random) -> Pod:
    app = f"app-{chance.randrange(5)}"
    match = {"matchLabels": {"example.com/app": app}}
    asks: dict[str, Any] = {}
    match chance.randrange(5):
        case 0:
            asks["node_selector"] = {"example.com/disk": "ssd"}
        case 1:
            asks["tolerations"] = [{"key": "team", "value": "ml"}]
        case 2:
            hard = {"maxSkew": 1, "topologyKey": ZONE_LABEL, "whenUnsatisfiable": "DoNotSchedule"}
            asks["spread"] = [{**hard, "labelSelector": match}]
        case 3:
            term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": match}
            asks["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": f"uid-{app}"}
    pod = make_pod(
        f"{app}-{number}",
        namespace=f"team-{chance.randrange(2)}",
        cpu=f"{chance.choice([500, 1000, 2000])}m",
        priority=chance.choice([0, 0, 10]),
        labels={"example.com/app": app},
        owner=owner,
        **asks,
    )
    return replace(pod, metadata=replace(pod.metadata, uid=f"uid-{number}"))


def _change(time: float, kind: ChangeType, obj: Any) -> Change:
    return Change(time=1_700_000_000.0 + time, type=kind, object=kept(obj))


@pytest.mark.parametrize("seed", range(12))
def test_the_same_decisions_under_other_names(seed: int) -> None:
    """Every pod's node, times, attempts and end; who was preempted; what was in use."""
    entries, rename = random_trace(seed), Anonymiser(b"salt")
    header = Header(started=entries[0].time)
    run = replay(Trace(header, lambda: iter(entries)), seed=seed)
    hidden = replay(Trace(header, lambda: iter([rename.entry(entry) for entry in entries])), seed=seed)
    assert any(pod.attempts > 1 for pod in run.pods), "a trace in which nobody waits shows little"
    assert [(pod.node and rename.name(pod.node), *_facts(pod)) for pod in run.pods] == [
        (pod.node, *_facts(pod)) for pod in hidden.pods
    ]
    assert run.samples == hidden.samples


def _facts(pod: Any) -> tuple[Any, ...]:
    return pod.arrived, pod.bound_at, pod.ended, pod.attempts, pod.priority, pod.disrupted_by
