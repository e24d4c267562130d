"""What a specification of a synthetic trace says, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from kubesched.config.load import read_text
from kubesched.config.spec_file import Lines, SpecStruct, read_spec
from kubesched.traces.generate.chance import Amount, Parse, Text, number, problem_of, quantity, seconds

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Rate = Annotated[float, msgspec.Meta(ge=0)]


class NodeShape(SpecStruct, frozen=True):
    """So many nodes of one shape, called `name-0`, `name-1`, …"""

    name: str
    count: Count
    capacity: dict[str, Text]
    labels: dict[str, str] = {}
    taints: list[dict[str, Any]] = []
    """As in a manifest."""
    zones: list[str] = []
    """Nodes go round them."""


class Diurnal(SpecStruct, frozen=True):
    """Arrivals follow a wave. The mean stays as it is."""

    peak: Text
    """When most come, after the start."""
    low: Share
    """The least rate, as a share of the greatest."""
    period: Text = "24h"


class Bursts(SpecStruct, frozen=True):
    """Many at once, besides the others."""

    every: Amount
    """The time from one to the next."""
    size: Amount
    within: Text = 0
    """They come at random moments of this time."""


class Arrivals(SpecStruct, frozen=True):
    """When pods come. What is left out adds none."""

    at_start: Count = 0
    per_minute: Rate = 0.0
    process: Literal["poisson", "regular", "gamma"] = "poisson"
    """How gaps vary: as chance has it, not at all, or as `variation` says."""
    variation: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    """Of gamma: the standard deviation of gaps over their mean. Above 1, arrivals come in clusters."""
    diurnal: Diurnal | None = None
    bursts: Bursts | None = None


class Size(SpecStruct, frozen=True):
    """Requests that go together, for pods with this weight."""

    requests: dict[str, Amount]
    weight: Annotated[float, msgspec.Meta(ge=0)] = 1.0


class WorkloadSpec(SpecStruct, frozen=True):
    """Pods of one kind. Each arrival is one pod, or `replicas` alike."""

    name: str
    arrivals: Arrivals
    sizes: list[Size] = []
    replicas: Amount = 1
    lifetime: Amount | None = None
    """From a pod's start to its end; None: to the end of the trace."""
    controller: Literal["", "Job", "ReplicaSet", "StatefulSet"] = ""
    """Who makes a pod again that was preempted; nobody, if empty."""
    namespace: str = "default"
    priority: int = 0
    labels: dict[str, str] = {}
    spec: dict[str, Any] = {}
    """Further fields of the pods' spec, as in a manifest."""


class TraceSpec(SpecStruct, frozen=True):
    length: Text
    nodes: list[NodeShape]
    workloads: list[WorkloadSpec]
    seed: int = 0
    started: str = "2026-01-01T00:00:00Z"


def load_trace_spec(path: Path) -> TraceSpec:
    """The specification in a file. ConfigurationError, with file and line."""
    spec = read_spec(path, TraceSpec)
    for field, problem in problems_of(spec):
        raise Lines(read_text(path), str(path)).problem(field, problem)
    return spec


def problems_of(spec: TraceSpec) -> Iterator[tuple[str, str]]:
    """Fields, with what is wrong with their values."""
    yield from _problem("length", spec.length, seconds, least=1e-9)
    try:
        msgspec.convert(spec.started, datetime)
    except msgspec.ValidationError:
        yield "started", f"{spec.started!r} is no time: write 2026-01-01T00:00:00Z"
    for what, parts in (("nodes", spec.nodes), ("workloads", spec.workloads)):
        named = [part.name for part in parts]
        for index, name in enumerate(named):
            if name in named[:index]:
                yield f"{what}[{index}].name", f"{name!r} is there twice"
    for index, shape in enumerate(spec.nodes):
        for resource, amount in shape.capacity.items():
            yield from _problem(f"nodes[{index}].capacity.{resource}", amount, quantity)
    for index, workload in enumerate(spec.workloads):
        yield from _workload_problems(f"workloads[{index}]", workload)


def _workload_problems(path: str, workload: WorkloadSpec) -> Iterator[tuple[str, str]]:
    if workload.sizes and not sum(size.weight for size in workload.sizes):
        yield f"{path}.sizes", "all weights are 0"
    for index, size in enumerate(workload.sizes):
        for resource, amount in size.requests.items():
            yield from _problem(f"{path}.sizes[{index}].requests.{resource}", amount, quantity)
    yield from _problem(f"{path}.replicas", workload.replicas, number)
    if workload.lifetime is not None:
        yield from _problem(f"{path}.lifetime", workload.lifetime, seconds)
    diurnal, bursts = workload.arrivals.diurnal, workload.arrivals.bursts
    if diurnal is not None:
        yield from _problem(f"{path}.arrivals.diurnal.peak", diurnal.peak, seconds)
        yield from _problem(f"{path}.arrivals.diurnal.period", diurnal.period, seconds, least=1.0)
    if bursts is not None:
        yield from _problem(f"{path}.arrivals.bursts.every", bursts.every, seconds, least=1e-3)
        yield from _problem(f"{path}.arrivals.bursts.size", bursts.size, number)
        yield from _problem(f"{path}.arrivals.bursts.within", bursts.within, seconds)


def _problem(path: str, amount: Amount, parse: Parse, least: float = 0.0) -> Iterator[tuple[str, str]]:
    problem = problem_of(amount, parse)
    if problem:
        yield path, problem
    elif isinstance(amount, str | int | float) and parse(amount) < least:
        yield path, f"{amount!r} is too small"
