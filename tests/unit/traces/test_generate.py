"""Synthetic traces: what a specification says comes out, the same for the same seed, and mistakes are named."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from kubesched import replay
from kubesched.errors import ConfigurationError
from kubesched.objects import Node, Pod
from kubesched.objects.pod import RUN_SECONDS
from kubesched.traces import Change, Trace
from kubesched.traces.generate import generate, load_trace_spec
from kubesched.traces.generate.arrivals import arrival_times
from kubesched.traces.generate.chance import Distribution, LogNormal, Pareto, draw, number, quantity
from kubesched.traces.generate.spec import Arrivals, Bursts, Diurnal
from kubesched.traces.slicing import cut

DAY = Path(__file__).parents[3] / "examples" / "sweeps" / "day.yaml"
SMALL = """
length: 1h
nodes:
- {name: n, count: 2, capacity: {cpu: 4, memory: 8Gi}, zones: [a, b]}
workloads:
- name: web
  arrivals: {atStart: 2, perMinute: 1, process: regular}
  sizes: [{requests: {cpu: 500m, memory: 1Gi}}]
  lifetime: 10m
"""


def spec_file(folder: Path, text: str = SMALL) -> Path:
    path = folder / "spec.yaml"
    path.write_text(text)
    return path


def objects(trace: Trace, kind: type) -> list[Any]:
    return [entry.object for entry in trace if isinstance(entry, Change) and isinstance(entry.object, kind)]


def test_the_same_seed_gives_the_same_trace(tmp_path: Path) -> None:
    """Byte by byte; another seed gives another one."""
    spec = load_trace_spec(DAY)
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        generate(spec, seed=seed).save(tmp_path / f"{name}.jsonl")
    first, same, other = ((tmp_path / f"{name}.jsonl").read_bytes() for name in "abc")
    assert first == same
    assert first != other


def test_a_workload_that_is_added_leaves_the_others_as_they_were(tmp_path: Path) -> None:
    """Experiments with one more kind of pods can be compared with those without it."""
    more = SMALL + "- {name: more, arrivals: {perMinute: 3}}\n"
    before = objects(generate(load_trace_spec(spec_file(tmp_path))), Pod)
    after = objects(generate(load_trace_spec(spec_file(tmp_path, more))), Pod)
    assert [pod for pod in after if pod.metadata.labels["app"] == "web"] == before
    assert len(after) > len(before)


def test_what_the_specification_says_is_in_the_trace(tmp_path: Path) -> None:
    """Nodes with their zones, pods with requests, and the time they run."""
    trace = generate(load_trace_spec(spec_file(tmp_path)))
    nodes, pods = objects(trace, Node), objects(trace, Pod)
    assert [node.metadata.labels["topology.kubernetes.io/zone"] for node in nodes] == ["a", "b"]
    assert len(pods) == 2 + 59
    assert {str(pod.spec.containers[0].resources.requests["cpu"]) for pod in pods} == {"500m"}
    assert {pod.metadata.annotations[RUN_SECONDS] for pod in pods} == {"600.000"}
    assert trace.ended == trace.header.started + 3600


def test_pods_of_a_saved_trace_run_as_long_as_they_should(tmp_path: Path) -> None:
    """From when the replay starts them, as those of a recording do; and the run lasts as long as the trace."""
    generate(load_trace_spec(spec_file(tmp_path))).save(tmp_path / "t.jsonl.zst")
    run = replay(tmp_path / "t.jsonl.zst")
    assert run.ended - run.started == 3600
    ended = [pod for pod in run.pods if pod.ended is not None]
    assert len(ended) == 2 + 50
    assert {round((pod.ended or 0) - (pod.bound_at or 0), 3) for pod in ended} == {600.0}


def test_a_part_begins_with_the_pods_that_would_still_run(tmp_path: Path) -> None:
    """Not with all that ever came: the trace does not show their end."""
    trace = generate(load_trace_spec(spec_file(tmp_path)))
    cut(trace, since=trace.header.started + 1800).save(tmp_path / "part.jsonl.zst")
    run = replay(tmp_path / "part.jsonl.zst")
    at_start = [pod for pod in run.pods if pod.arrived == run.started]
    assert len(at_start) == 10
    assert max((pod.ended or 0) - run.started for pod in at_start) == pytest.approx(600, abs=1)


@pytest.mark.parametrize(
    ("arrivals", "expected", "variation"),
    [
        pytest.param(Arrivals(per_minute=60.0, process="regular"), 9999, 0.0, id="regular"),
        pytest.param(Arrivals(per_minute=60.0), 10000, 1.0, id="poisson"),
        pytest.param(Arrivals(per_minute=60.0, process="gamma", variation=3.0), 10000, 3.0, id="in clusters"),
    ],
)
def test_gaps_between_arrivals(arrivals: Arrivals, expected: int, variation: float) -> None:
    """Their number and their spread are what was asked for, within chance."""
    times = arrival_times(arrivals, 10_000.0, Random(1))
    gaps = np.diff(times)
    assert len(times) == pytest.approx(expected, rel=0.06)
    assert gaps.std() / gaps.mean() == pytest.approx(variation, abs=0.15)


def test_the_course_of_a_day() -> None:
    """Most come at the peak; at night, a fifth of that; in the mean, as many as without a course."""
    arrivals = Arrivals(per_minute=10.0, diurnal=Diurnal(peak="14h", low=0.2))
    times = np.array(arrival_times(arrivals, 5 * 86400.0, Random(2)))
    by_hour = Counter(int(time // 3600) % 24 for time in times)
    assert len(times) == pytest.approx(5 * 14400, rel=0.02)
    assert by_hour[2] / by_hour[14] == pytest.approx(0.2, abs=0.04)


def test_bursts_come_at_their_time() -> None:
    """All within the time that they take."""
    arrivals = Arrivals(bursts=Bursts(every="10m", size=7, within="5s"))
    times = arrival_times(arrivals, 3600.0, Random(3))
    assert Counter(int(time // 600) for time in times) == dict.fromkeys(range(1, 6), 7)
    assert max(time % 600 for time in times) <= 5


@pytest.mark.parametrize(
    ("amount", "low", "high", "mean"),
    [
        pytest.param(Distribution(choice={"500m": 3, "2": 1}), 0.5, 2, 0.875, id="a choice"),
        pytest.param(Distribution(uniform=("1", "3")), 1, 3, 2, id="uniform"),
        pytest.param(Distribution(exponential="2"), 0, 100, 2, id="exponential"),
        pytest.param(Distribution(lognormal=LogNormal(median="1", sigma=0.5)), 0, 100, 1.133, id="lognormal"),
        pytest.param(Distribution(pareto=Pareto(least="1", shape=4)), 1, 100, 1.333, id="pareto"),
        pytest.param(Distribution(uniform=("0", "4"), least="1", most="3", step="500m"), 1, 3, 2, id="bounded"),
    ],
)
def test_amounts(amount: Distribution, low: float, high: float, mean: float) -> None:
    """They stay in their range, and have their mean."""
    random = Random(4)
    drawn = [draw(amount, quantity, random) for _ in range(4000)]
    assert low <= min(drawn) <= max(drawn) <= high
    assert np.mean(drawn) == pytest.approx(mean, rel=0.05)
    assert draw(3, number, random) == 3


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        pytest.param("count: 2", "cuont: 2", "spec.yaml:4: nodes[0].cuont: unknown key", id="a misspelt key"),
        pytest.param(
            "perMinute: 1", "perMinute: -1", "spec.yaml:7: workloads[0].arrivals.perMinute: Expected", id="negative"
        ),
        pytest.param(
            "cpu: 500m", "cpu: a lot", "spec.yaml:8: workloads[0].sizes[0].requests.cpu: 'a lot'", id="no quantity"
        ),
        pytest.param("cpu: 500m", "cpu: -1", "requests.cpu: -1 is no amount", id="a negative size"),
        pytest.param("lifetime: 10m", "lifetime: 10 minutes", "spec.yaml:9: workloads[0].lifetime", id="no duration"),
        pytest.param("lifetime: 10m", "lifetime: {}", "expected one of choice, uniform", id="no distribution"),
        pytest.param("lifetime: 10m", "lifetime: {choice: {}}", "the weights of a choice", id="an empty choice"),
        pytest.param("length: 1h", "length: 0s", "spec.yaml:2: length: '0s' is too small", id="no time"),
        pytest.param("length: 1h", "length: 1h\nlength: 2h", "length: the key is there twice", id="a key twice"),
        pytest.param("length: 1h", "length: [", "spec.yaml: error converting YAML", id="no YAML"),
    ],
)
def test_mistakes_are_named_with_file_and_line(tmp_path: Path, old: str, new: str, problem: str) -> None:
    """One line each."""
    with pytest.raises(ConfigurationError) as caught:
        load_trace_spec(spec_file(tmp_path, SMALL.replace(old, new)))
    assert len(caught.value.problems) == 1
    assert problem in caught.value.problems[0]
    assert caught.value.problems[0].startswith(str(tmp_path))
