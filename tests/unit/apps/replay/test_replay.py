"""A replay keeps the rules of docs/replay.md: who arrives when, who runs how long, who comes back."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kubesched.apps.replay.comparing import compare
from kubesched.apps.replay.hypotheses import at_speed, placed_afresh, with_nodes
from kubesched.apps.replay.replay import replay
from kubesched.apps.replay.workload import Workload, workload_of
from kubesched.errors import ConfigurationError
from kubesched.objects import Node, Pod
from kubesched.objects.affinity import Taint
from kubesched.objects.meta import OwnerReference
from kubesched.objects.pod import PodCondition, PodSchedulingGate
from kubesched.reports.run import PodOutcome, RunResult
from kubesched.testing import make_node, make_pod
from kubesched.traces import Change, ChangeType, Header, Trace

START = 1_700_000_000.0
BIN_PACKING = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
"""


def added(seconds: float, obj: Any) -> Change:
    return Change(time=START + seconds, type=ChangeType.ADDED, object=obj)


def modified(seconds: float, obj: Any) -> Change:
    return Change(time=START + seconds, type=ChangeType.MODIFIED, object=obj)


def deleted(seconds: float, obj: Any) -> Change:
    return Change(time=START + seconds, type=ChangeType.DELETED, object=obj)


def pod(name: str, cpu: str = "1", *, owner: str = "", node: str = "", **more: Any) -> Pod:
    """`owner` is `Kind/name` of its controller."""
    made = make_pod(name, cpu=cpu, **more)
    owners: tuple[OwnerReference, ...] = ()
    if owner:
        kind, _, owner_name = owner.partition("/")
        owners = (OwnerReference(kind=kind, name=owner_name, uid=owner, controller=True),)
    metadata = replace(made.metadata, uid=f"uid-{name}", owner_references=owners)
    return replace(made, metadata=metadata, spec=replace(made.spec, node_name=node))


def on(node: str, of: Pod, *, disrupted: bool = False) -> Pod:
    target = PodCondition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")
    conditions = (target,) if disrupted else ()
    return replace(of, spec=replace(of.spec, node_name=node), status=replace(of.status, conditions=conditions))


def workload(*entries: Change, until: float = 1000.0) -> Workload:
    """The entries in the order of time; the trace ends with a heartbeat that changes nothing."""
    last = modified(until, make_node("heartbeat", cpu="0", memory="0", pods=0))
    ordered = sorted([*entries, last], key=lambda entry: entry.time)
    return workload_of(Trace(Header(started=START), lambda: iter(ordered)))


def outcome(run: RunResult, name: str) -> PodOutcome:
    return next(pod for pod in run.pods if pod.pod == f"default/{name}")


def seconds(time: float | None) -> float | None:
    return None if time is None else round(time - START, 3)


def test_a_pod_runs_as_long_as_it_ran_from_when_this_replay_starts_it() -> None:
    """It waits for room that the recorded cluster had: its end moves with its start."""
    first, second = pod("first"), pod("second")
    run = replay(
        workload(
            added(0, make_node("n", cpu="1")),
            added(10, first),
            modified(10, on("n", first)),
            deleted(110, on("n", first)),
            added(20, second),
            modified(20, on("elsewhere", second)),
            deleted(60, on("elsewhere", second)),
        )
    )
    assert seconds(outcome(run, "first").ended) == 110
    late = outcome(run, "second")
    assert seconds(late.bound_at) == pytest.approx(110, abs=0.01)
    assert seconds(late.ended) == pytest.approx(150, abs=0.01), "it ran for 40 seconds"
    assert late.attempts == 2


def test_pods_that_were_deleted_while_they_waited_are_deleted_then() -> None:
    """Their users gave up; also if this replay could have placed them a moment before."""
    waiting = pod("waiting", cpu="4")
    run = replay(workload(added(0, make_node("n", cpu="1")), added(10, waiting), deleted(40, waiting)))
    assert (outcome(run, "waiting").bound_at, seconds(outcome(run, "waiting").ended)) == (None, 40)


def test_what_is_there_at_the_start_stays_where_it_is() -> None:
    """And leaves when it left."""
    old, new = pod("old", node="n"), pod("new")
    run = replay(
        workload(added(0, make_node("n", cpu="1")), added(0, old), deleted(50, old), added(10, new)),
    )
    assert outcome(run, "old").is_scheduled_here is False
    assert seconds(outcome(run, "new").bound_at) == pytest.approx(50, abs=0.01)


def test_gates_are_lifted_when_they_were() -> None:
    """Changes that users make to a pod happen at their time."""
    free = pod("gated")
    gated = replace(free, spec=replace(free.spec, scheduling_gates=(PodSchedulingGate(name="quota"),)))
    run = replay(workload(added(0, make_node("n")), added(10, gated), modified(70, free)))
    assert seconds(outcome(run, "gated").bound_at) == pytest.approx(70, abs=0.01)


def preempted_in_the_trace() -> list[Change]:
    """A victim that ran from 10 to 100, and its replacement, which ran from 102 to 300."""
    victim, replacement = pod("web-1", owner="ReplicaSet/web"), pod("web-2", owner="ReplicaSet/web")
    important = pod("important", priority=10)
    return [
        added(10, victim),
        modified(10, on("n", victim)),
        modified(100, on("n", victim, disrupted=True)),
        deleted(101, on("n", victim, disrupted=True)),
        added(100, important),
        modified(101, on("n", important)),
        added(102, replacement),
        modified(102, on("m", replacement)),
        deleted(300, on("m", replacement)),
    ]


def test_a_recorded_replacement_comes_when_the_pod_is_preempted_here_too() -> None:
    """As long after the preemption as it came then, and under its own name."""
    run = replay(workload(added(0, make_node("n", cpu="1")), *preempted_in_the_trace()))
    assert outcome(run, "web-1").disrupted_by == "preempted"
    assert outcome(run, "web-1").preempted_by == "default/important"
    assert seconds(outcome(run, "web-2").arrived) == pytest.approx(102, abs=0.1)


def test_no_replacement_comes_for_a_pod_that_is_not_preempted_here() -> None:
    """With room for both there is no preemption: the pod goes on for the time of its replacement as well."""
    run = replay(workload(added(0, make_node("n", cpu="2")), *preempted_in_the_trace()))
    assert [pod.pod for pod in run.pods] == ["default/web-1", "default/important"]
    assert outcome(run, "web-1").disrupted_by == ""
    assert seconds(outcome(run, "web-1").ended) == pytest.approx(10 + 91 + 198, abs=0.01)


@pytest.mark.parametrize(
    ("owner", "comes_back", "runs_for"),
    [
        pytest.param("ReplicaSet/web", "victim-r1", 100 - 40, id="a service goes on with what it had left"),
        pytest.param("StatefulSet/db", "victim", 100 - 40, id="a stateful one under its own name"),
        pytest.param("Job/work", "victim-r1", 100, id="a job starts again"),
        pytest.param("", None, 0, id="nobody makes a pod without a controller again"),
    ],
)
def test_preempted_pods_come_back_as_their_controller_makes_them(
    owner: str, comes_back: str | None, runs_for: float
) -> None:
    """Where the trace knows of no preemption, it has no replacement either: one is made."""
    victim, important = pod("victim", owner=owner), pod("important", priority=10)
    run = replay(
        workload(
            added(0, make_node("n", cpu="1")),
            added(0, victim),
            modified(0, on("n", victim)),
            deleted(100, on("n", victim)),
            added(40, important),
            modified(40, on("m", important)),
            deleted(60, on("m", important)),
        )
    )
    back = [pod for pod in run.pods if pod.pod.startswith("default/victim") and pod.arrived > START + 1]
    assert [pod.pod for pod in back] == ([f"default/{comes_back}"] if comes_back else [])
    for again in back:
        assert again.bound_at is not None
        assert again.ended is not None
        assert again.ended - again.bound_at == pytest.approx(runs_for, abs=0.01)


@pytest.mark.parametrize("how", ["deleted", "tainted"])
def test_a_node_that_goes_takes_its_pods_of_this_replay_along(how: str) -> None:
    """They are those that this replay placed there, not those that the trace shows; they come back elsewhere."""
    node, spare = make_node("n", cpu="1"), make_node("spare", cpu="1", unschedulable=True)
    web = pod("web", owner="ReplicaSet/web")
    taints = (Taint(key="gone", effect="NoExecute"),)
    lost = (
        deleted(50, node) if how == "deleted" else modified(50, replace(node, spec=replace(node.spec, taints=taints)))
    )
    run = replay(
        workload(
            added(0, node),
            added(0, spare),
            added(10, web),
            modified(10, on("elsewhere", web)),
            lost,
            modified(80, make_node("spare", cpu="1")),
        )
    )
    assert (outcome(run, "web").node, outcome(run, "web").disrupted_by) == ("n", "node")
    assert outcome(run, "web-r1").node == "spare"


def test_pods_of_other_schedulers_go_where_the_trace_shows_them() -> None:
    """They are part of the scenery, and take room."""
    other, ours = pod("other"), pod("ours")
    other = replace(other, spec=replace(other.spec, scheduler_name="somebody"))
    run = replay(
        workload(
            added(0, make_node("n", cpu="1")),
            added(10, other),
            modified(20, on("n", other)),
            added(30, ours),
            deleted(90, on("n", other)),
        )
    )
    assert (outcome(run, "other").node, seconds(outcome(run, "other").bound_at)) == ("n", 20)
    assert seconds(outcome(run, "ours").bound_at) == pytest.approx(90, abs=0.01)


def test_a_configuration_that_no_pod_asks_for_is_refused() -> None:
    """Otherwise nothing would be placed, and a report would say so at length."""
    config = BIN_PACKING.replace("pluginConfig", "schedulerName: mine\n  pluginConfig")
    with pytest.raises(ConfigurationError, match="no pod of the trace asks for mine: they ask for default-scheduler"):
        replay(workload(added(0, make_node("n")), added(10, pod("p"))), config)


def many() -> list[Change]:
    nodes = [added(0, make_node(f"n{number}", cpu="4")) for number in range(6)]
    pods = []
    for number in range(40):
        one = pod(f"p{number}", cpu=f"{500 + 250 * (number % 5)}m", owner="ReplicaSet/web", priority=number % 3)
        pods += [added(5 * number, one), modified(5 * number, on("n0", one)), deleted(5 * number + 90, on("n0", one))]
    return [*nodes, *pods]


def test_the_same_seed_gives_the_same_result_in_any_process(tmp_path: Path) -> None:
    """Byte by byte, whatever the order of hashes; another seed decides ties differently."""
    ordered = sorted(many(), key=lambda entry: entry.time)
    path = tmp_path / "many.jsonl.zst"
    Trace(Header(started=START), lambda: iter(ordered)).save(path)
    code = "import sys; from kubesched import replay\nprint(replay(sys.argv[1], seed=int(sys.argv[2])).hash)"

    def hash_in_another_process(seed: str, hash_seed: str) -> str:
        command = [sys.executable, "-c", code, str(path), seed]
        ran = subprocess.run(command, capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": hash_seed})
        return ran.stdout.strip()

    here = replay(path, seed=7).hash
    assert [hash_in_another_process("7", "1"), hash_in_another_process("7", "2")] == [here, here]
    assert replay(Trace.open(path), seed=8).hash != here


def test_two_configurations_are_compared_and_moves_explained() -> None:
    """Bin packing uses fewer nodes, and the plugin that moves pods is named with both its scores."""
    report = compare(
        workload(*many(), until=300), {"spreading": None, "packing": BIN_PACKING}, seeds=range(4), explained=3
    )
    [comparison] = report.comparisons
    nodes = next(d for d in comparison.differences if d.metric == "nodes in use, mean")
    assert nodes.after < nodes.before
    assert nodes.is_better
    assert nodes.is_more_than_chance
    assert len(comparison.explained) == 3
    assert all(moved.nodes[0] != moved.nodes[1] for moved in comparison.explained)
    assert any("NodeResourcesFit" in moved.verdict for moved in comparison.explained)
    assert comparison.moved >= 3


def test_a_configuration_compared_with_itself_differs_in_nothing() -> None:
    """The same seed, the same ties."""
    report = compare(workload(*many(), until=300), {"a": None, "b": None})
    [comparison] = report.comparisons
    assert comparison.moved == 0
    assert [d.metric for d in comparison.differences if d.before != d.after] == []


def names(lives: Iterable[Any]) -> list[str]:
    return [life.pod.metadata.name for life in lives]


def test_faster_arrivals_keep_their_run_times() -> None:
    """Twice the load, not half the work."""
    run = replay(at_speed(workload(*many()), 2.0))
    last = outcome(run, "p39")
    assert seconds(last.arrived) == pytest.approx(5 * 39 / 2)
    assert last.bound_at is not None
    assert last.ended is not None
    assert last.ended - last.bound_at == pytest.approx(90)


@pytest.mark.parametrize("speed", [0, -1, float("nan")])
def test_impossible_speeds(speed: float) -> None:
    """One clear line."""
    with pytest.raises(ConfigurationError, match="a speed must be greater than 0"):
        at_speed(workload(*many()), speed)


def test_other_nodes(tmp_path: Path) -> None:
    """Fewer of them, copies of them, or those of a file."""
    base = workload(*many(), added(0, pod("old", node="n5")))

    def nodes_of(changed: Workload) -> list[str]:
        return [obj.metadata.name for obj in changed.objects if isinstance(obj, Node)]

    assert nodes_of(with_nodes(base, "2")) == ["n0", "n1"]
    assert nodes_of(with_nodes(base, "8"))[-2:] == ["n0-copy1", "n1-copy1"]
    assert outcome(replay(with_nodes(base, "2")), "old").is_scheduled_here, "its node is gone"
    file = tmp_path / "nodes.yaml"
    file.write_text(
        "apiVersion: v1\nkind: Node\nmetadata: {name: large}\nstatus: {allocatable: {cpu: '64', pods: '110'}}\n"
    )
    assert nodes_of(with_nodes(base, str(file))) == ["large"]


def test_afresh_every_pod_of_the_start_is_placed_again() -> None:
    """But for those of DaemonSets, which belong to their node."""
    base = workload(
        added(0, make_node("n")),
        added(0, pod("web", node="n", owner="ReplicaSet/web")),
        added(0, pod("agent", node="n", owner="DaemonSet/agent")),
    )
    run = replay(placed_afresh(base))
    assert [pod.pod for pod in run.scheduled_here()] == ["default/web"]


def test_ties_may_go_as_they_were_recorded() -> None:
    """Of equally good nodes the recorded one is taken; a recorded node that is worse is not."""
    pods = [pod(f"p{number}", cpu="100m") for number in range(5)]
    places = ["n2", "n0", "n1", "n2", "n2"]  # the fifth goes to a node that has more pods than the others
    entries = [added(0, make_node(f"n{number}", cpu="4")) for number in range(3)]
    for number, (one, place) in enumerate(zip(pods, places, strict=True)):
        entries += [added(10 * (number + 1), one), modified(10 * (number + 1), on(place, one))]
    found = [outcome(replay(workload(*entries), seed=1, ties="recorded"), one.metadata.name) for one in pods]
    assert [pod.node == pod.recorded_node for pod in found] == [True, True, True, True, False]
    by_chance = [outcome(replay(workload(*entries), seed=1), one.metadata.name) for one in pods]
    assert [pod.node for pod in by_chance] != [pod.node for pod in found]
