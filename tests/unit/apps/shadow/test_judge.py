"""A shadow agrees with a scheduler that decides as we do, and says why where one does not."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from kubesched import Simulation
from kubesched.apps.shadow.judge import Judge, Judgement, Verdict
from kubesched.apps.shadow.session import shadow_trace
from kubesched.apps.shadow.summary import as_text, summary_of
from kubesched.cli.shadow import app
from kubesched.objects import Pod
from kubesched.objects.affinity import Taint
from kubesched.testing import ZONE_LABEL, make_node, make_pod
from kubesched.traces import Change, ChangeType, Decision, DecisionType, Entry, Header, Trace, TraceError

START = 1_700_000_000.0


def weighted(plugin: str, weight: int) -> str:
    return f"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    score: {{disabled: [{{name: {plugin}}}], enabled: [{{name: {plugin}, weight: {weight}}}]}}
"""


def change(time: float, kind: ChangeType, obj: object) -> Change:
    return Change(time=START + time, type=kind, object=obj)


def running() -> list[Entry]:
    """The other scheduler is seen to run: it said of a pod, which is gone again, that it fits nowhere."""
    probe = uid(make_pod("probe", cpu="9999"))
    said = Decision(time=START + 0.1, type=DecisionType.UNSCHEDULABLE, pod=probe.key, uid="uid-probe", message="no")
    return [change(0, ChangeType.ADDED, probe), said, change(0.2, ChangeType.DELETED, probe)]


def uid(pod: Pod) -> Pod:
    return replace(pod, metadata=replace(pod.metadata, uid=f"uid-{pod.metadata.name}"))


def decided(
    config: str | None = None, *, seed: int = 1, pods: int = 120, every: float = 0.01
) -> tuple[list[Entry], list[Entry]]:
    """A cluster, and the bindings that a scheduler with this configuration makes in it, one pod after the other."""
    chance = random.Random(seed)
    cluster: list[Entry] = [
        change(
            0,
            ChangeType.ADDED,
            make_node(f"n{i}", cpu=f"{chance.choice([8, 16, 32])}", memory="64Gi", labels={ZONE_LABEL: f"z{i % 3}"}),
        )
        for i in range(12)
    ]
    bindings: list[Entry] = []
    with Simulation(config, seed=seed) as simulation:
        simulation.add(*(entry.object for entry in cluster if isinstance(entry, Change)))
        cluster += running()
        for number in range(pods):
            cpu, memory = chance.choice([100, 500, 2000]), chance.choice([128, 1024, 4096])
            pod = uid(make_pod(f"p{number}", cpu=f"{cpu}m", memory=f"{memory}Mi", labels={"app": f"a{number % 4}"}))
            cluster.append(change(1, ChangeType.ADDED, pod))
            simulation.add(pod)
            node = simulation.schedule()[pod.key]
            assert node is not None
            bound = replace(pod, spec=replace(pod.spec, node_name=node))
            bindings.append(change(2 + number * every, ChangeType.MODIFIED, bound))
    return cluster, bindings


def judged(entries: Sequence[Entry], config: str | None = None) -> list[Judgement]:
    judge = Judge(config)
    shadow_trace(judge, Trace(Header(started=START), lambda: iter(entries)))
    return judge.judgements


def test_a_scheduler_that_decides_as_we_do() -> None:
    """Every binding is the best node, or one of the best."""
    cluster, bindings = decided()
    found = judged([*cluster, *bindings])
    assert len(found) == len(bindings)
    assert {judgement.verdict for judgement in found} <= {Verdict.SAME, Verdict.TIED}


@pytest.mark.parametrize("apart", [2, 5, 40])
def test_bindings_that_reach_us_in_another_order(apart: int) -> None:
    """They are bound by many tasks at once: the order of decisions is not the order of bindings."""
    cluster, bindings = decided()
    chance = random.Random(apart)
    shuffled = sorted(range(len(bindings)), key=lambda number: number + chance.uniform(0, apart))
    times = [entry.time for entry in bindings]
    mixed = [replace(bindings[number], time=time) for number, time in zip(shuffled, times, strict=True)]
    assert mixed != bindings
    found = judged([*cluster, *mixed])
    assert len(found) == len(bindings)
    assert [judgement for judgement in found if judgement.verdict in (Verdict.LOWER, Verdict.REJECTED)] == []
    assert any(judgement.verdict is Verdict.ORDER for judgement in found)


@pytest.mark.parametrize(("plugin", "weight"), [("NodeResourcesBalancedAllocation", 9), ("NodeResourcesFit", 7)])
def test_a_changed_weight_is_named(plugin: str, weight: int) -> None:
    """Theirs is weighed differently: one plugin's weight explains their choices, and the range holds the true one."""
    config = weighted(plugin, weight)
    cluster, bindings = decided(config, pods=80, every=5.0)
    summary = summary_of(judged([*cluster, *bindings]))
    assert summary.verdicts.get("lower", 0) > 5
    [named] = [found for found in summary.weights if found.plugin == plugin]
    assert named.least <= weight <= named.most
    assert named.explains == named.of
    assert f"for {plugin}" in as_text(summary)


def test_a_node_that_we_reject() -> None:
    """The plugin that rejects it is named, in its words."""
    pod = uid(make_pod("p"))
    tainted = make_node("n")
    tainted = replace(tainted, spec=replace(tainted.spec, taints=(Taint(key="dedicated", effect="NoSchedule"),)))
    entries = [
        change(0, ChangeType.ADDED, tainted),
        change(0, ChangeType.ADDED, make_node("free")),
        change(1, ChangeType.ADDED, pod),
        change(20, ChangeType.MODIFIED, replace(pod, spec=replace(pod.spec, node_name="n"))),
    ]
    [judgement] = judged(entries)
    assert (judgement.verdict, judgement.plugin, judgement.ours) == (Verdict.REJECTED, "TaintToleration", "free")
    assert "untolerated taint" in judgement.reason


def test_a_pod_that_we_find_no_node_for() -> None:
    """They bind it where a plugin of ours rejects every node: we would wait."""
    pod = uid(make_pod("p", cpu="8"))
    entries = [
        change(0, ChangeType.ADDED, make_node("n", cpu="4")),
        change(1, ChangeType.ADDED, pod),
        change(20, ChangeType.MODIFIED, replace(pod, spec=replace(pod.spec, node_name="n"))),
    ]
    [judgement] = judged(entries)
    assert (judgement.verdict, judgement.plugin, judgement.ours) == (Verdict.WE_WAIT, "NodeResourcesFit", "")
    assert "we wait, they do not" in as_text(summary_of([judgement]))


def test_a_lower_choice_in_a_burst_is_no_matter_of_order() -> None:
    """The order of first attempts is known: bindings of others that came later do not excuse a lower choice."""
    small, large, others = make_node("small", cpu="4"), make_node("large", cpu="64"), range(20)
    pods = [uid(make_pod(f"p{number}", cpu="1")) for number in others]
    entries: list[Entry] = [change(0, ChangeType.ADDED, node) for node in (small, large)]
    entries += running()
    entries += [change(11 + number / 100, ChangeType.ADDED, pod) for number, pod in enumerate(pods)]
    for number, pod in enumerate(pods):
        node = "small" if number == 10 else "large"
        entries.append(
            change(12 + number / 100, ChangeType.MODIFIED, replace(pod, spec=replace(pod.spec, node_name=node)))
        )
    assert [judgement.pod for judgement in judged(entries) if judgement.verdict is Verdict.LOWER] == ["default/p10"]


@pytest.mark.parametrize(("cpu", "waits"), [("1", [Verdict.WAITS]), ("64", [])])
def test_a_pod_that_they_find_no_node_for(cpu: str, waits: list[Verdict]) -> None:
    """They wait, we would not; or we would, too."""
    pod = uid(make_pod("p", cpu=cpu))
    entries: list[Entry] = [
        change(0, ChangeType.ADDED, make_node("n", cpu="4")),
        change(1, ChangeType.ADDED, pod),
        Decision(time=START + 20, type=DecisionType.UNSCHEDULABLE, pod=pod.key, message="0/1 nodes are available"),
    ]
    assert [judgement.verdict for judgement in judged(entries)] == waits


def test_what_a_sample_of_the_nodes_costs() -> None:
    """From 100 nodes on, the default looks at some of them only: a lower node is no disagreement then."""
    pod = uid(make_pod("p", cpu="1"))
    nodes = [change(0, ChangeType.ADDED, make_node(f"n{i}", cpu="4" if i else "64")) for i in range(150)]
    entries = [
        *nodes,
        change(1, ChangeType.ADDED, pod),
        change(20, ChangeType.MODIFIED, replace(pod, spec=replace(pod.spec, node_name="n7"))),
    ]
    [judgement] = judged(entries)
    assert (judgement.verdict, judgement.ours) == (Verdict.SAMPLED, "n0")
    assert summary_of([judgement]).sampling_loss == judgement.loss > 0


def test_no_weight_explains_everything_else() -> None:
    """Half of the lower choices is the least that is worth a name."""
    one = Judgement(time=0, pod="a/b", node="n", verdict=Verdict.LOWER, weights={"A": (3, 5)})
    none = Judgement(time=0, pod="a/b", node="n", verdict=Verdict.LOWER)
    assert [found.plugin for found in summary_of([one, none]).weights] == ["A"]
    assert summary_of([one, none, none]).weights == []


def test_the_command_judges_a_recording(tmp_path: Path) -> None:
    """And writes every judgement where it is asked to."""
    cluster, bindings = decided(pods=10)
    entries = [*cluster, *bindings]
    path, report = tmp_path / "trace.jsonl.zst", tmp_path / "judgements.jsonl"
    Trace(Header(started=START), lambda: iter(entries)).save(path)
    result = CliRunner().invoke(app, [str(path), "--report", str(report)])
    assert result.exit_code == 0, result.output
    assert "10 bindings judged, 100.00 % agreement" in result.output
    assert len(report.read_text().splitlines()) == 10


def test_a_recording_that_is_broken_is_judged_up_to_there(tmp_path: Path) -> None:
    """What was judged is shown, then the line that is wrong; one that was killed is no error, and is noted."""
    cluster, bindings = decided(pods=10)
    path = tmp_path / "trace.jsonl"
    Trace(Header(started=START), lambda: iter([*cluster, *bindings])).save(path)
    whole = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*whole[:-3], "{}\n"]))
    broken = CliRunner().invoke(app, [str(path)])
    assert "7 bindings judged, 100.00 % agreement" in broken.output
    assert isinstance(broken.exception, TraceError)
    assert f"line {len(whole) - 2}: " in str(broken.exception)
    path.write_text("".join(whole)[:-60])
    killed = CliRunner().invoke(app, [str(path)])
    assert killed.exit_code == 0
    assert "is cut off after line" in killed.output
