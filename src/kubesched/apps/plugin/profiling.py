"""What a plugin costs: per call, per node, and what a pod costs with it and without."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import wraps
from random import Random
from typing import Any, Final

import msgspec

from kubesched.apps.plugin.random_steps import random_nodes, random_pods
from kubesched.apps.plugin.trial_cluster import SCHEDULER, TrialCluster
from kubesched.apps.simulate.simulation import Simulation
from kubesched.errors import KubeschedError
from kubesched.objects import Node, Pod, convert
from kubesched.scheduler.framework import DependsOn, FilterPlugin, Plugin, ScorePlugin, points_served
from kubesched.scheduler.plugin_contract import METHODS

ROUNDS: Final = 3
KINDS_OF_PODS: Final = 10
CLAIMS: Final = ("signature", "external_version", "depends_on_for", "concerns", "normalize_scores")
BY_NODE: Final = {"filter_nodes": "filter", "score_nodes": "score"}


class MethodCost(msgspec.Struct, frozen=True):
    """How often a method was called, and how long a call took."""

    method: str
    calls: int
    microseconds: float
    nodes: int = 0
    """About how many nodes it was asked altogether; 0 for a method that is not asked about nodes."""

    def words(self) -> str:
        text = f"{self.method}: {self.calls} calls, {self.microseconds:.1f} µs each"
        return (
            f"{text}, {self.nodes} nodes, {self.microseconds * self.calls / self.nodes:.2f} µs per node"
            if self.nodes
            else text
        )


class PluginProfile(msgspec.Struct, frozen=True, kw_only=True):
    """CPU time of scheduling the same pods with and without a plugin, in microseconds per pod."""

    plugin: str
    points: tuple[str, ...]
    depends_on: str
    has_signature: bool
    is_by_node: bool
    """Asked about one node at a time."""
    nodes: int
    pods: int
    without: float
    with_it: float
    methods: tuple[MethodCost, ...]
    answers: int
    """That were needed: for every pod and node, at Filter and Score."""
    asked: int
    """That the plugin was asked for; the others were kept."""

    def lines(self) -> Iterator[str]:
        where = f"{self.pods} pods of {KINDS_OF_PODS} kinds on {self.nodes} nodes"
        yield f"{self.plugin} at {', '.join(self.points)}: {where}"
        times = self.with_it / self.without if self.without else 0.0
        yield f"  a pod costs {self.without:.0f} µs without it and {self.with_it:.0f} µs with it ({times:.1f} times)"
        if self.answers:
            kept = max(0.0, 1 - self.asked / self.answers)
            yield f"  it was asked for {self.asked} of {self.answers} answers about a node; {kept:.1%} were kept"
        for method in self.methods:
            yield f"  {method.words()}"
        yield from (f"  {advice}" for advice in self.advice())

    def advice(self) -> Iterator[str]:
        if not self.answers:
            return
        if self.depends_on == DependsOn.ANYTHING.name:
            yield "nothing is kept: depends_on is not declared, or ANYTHING"
        elif not self.has_signature:
            yield "answers are shared by pods with equal specs and labels only: signature is not defined"
        if self.is_by_node:
            yield "it is asked about one node at a time: filter_nodes or score_nodes would be asked about all at once"


def profile(
    plugin: type[Plugin], args: Any = None, *, nodes: int = 1000, pods: int = 500, seed: int = 0
) -> PluginProfile:
    """Measured in simulations with the default plugins. ConfigurationError if the plugin cannot be built."""
    vocabulary = TrialCluster(plugin, args).vocabulary(args)
    random = Random(seed)  # noqa: S311 - a seeded generator, not a secret
    node_objects = [convert(node.manifest(), Node) for node in random_nodes(random, vocabulary, nodes)]
    kinds = random_pods(random, vocabulary, KINDS_OF_PODS)
    pod_objects = [convert(kinds[number % KINDS_OF_PODS].manifest(f"p{number}"), Pod) for number in range(pods)]

    def run(candidate: type[Plugin] | None) -> float:
        return _seconds(candidate, args, node_objects, pod_objects)

    without, with_it = (
        min(seconds) for seconds in zip(*((run(None), run(plugin)) for _ in range(ROUNDS)), strict=True)
    )
    seen = _Seen()
    run(_watched(plugin, seen))
    points = points_served(plugin)
    questions = sum(issubclass(plugin, base) for base in (FilterPlugin, ScorePlugin))
    asked = sum(seen.nodes[method] for method in BY_NODE)
    return PluginProfile(
        plugin=plugin.name,
        points=points,
        depends_on=plugin.depends_on.name,
        has_signature=plugin.signature is not Plugin.signature,
        is_by_node=any(_is_own(plugin, by_node) and not _is_own(plugin, method) for method, by_node in BY_NODE.items()),
        nodes=nodes,
        pods=pods,
        without=without / pods * 1e6,
        with_it=with_it / pods * 1e6,
        methods=tuple(seen.costs()),
        answers=questions * nodes * pods,
        asked=asked,
    )


def _seconds(plugin: type[Plugin] | None, args: Any, nodes: list[Node], pods: list[Pod]) -> float:
    """CPU time of scheduling all pods."""
    enabled = [{"name": plugin.name}] if plugin is not None else []
    named = [{"name": plugin.name, "args": args}] if plugin is not None and args else []
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {"schedulerName": SCHEDULER, "plugins": {"multiPoint": {"enabled": enabled}}, "pluginConfig": named}
        ],
    }
    with Simulation(config, plugins={plugin.name: plugin} if plugin is not None else {}) as simulation:
        simulation.add(*nodes, *pods)
        started = time.process_time()
        try:
            simulation.schedule()
        except KubeschedError as error:
            raise KubeschedError(f"pods cannot be scheduled with {plugin.name if plugin else 'it'}: {error}") from error
        return time.process_time() - started


class _Seen:
    """Calls of one run."""

    def __init__(self) -> None:
        self.calls = Counter[str]()
        self.seconds = defaultdict[str, float](float)
        self.nodes = Counter[str]()

    def costs(self) -> Iterator[MethodCost]:
        for method in sorted(self.calls, key=lambda name: -self.seconds[name]):
            calls = self.calls[method]
            yield MethodCost(method, calls, self.seconds[method] / calls * 1e6, self.nodes[method])


def _watched(plugin: type[Plugin], seen: _Seen) -> type[Plugin]:
    """The plugin with its methods counted and timed."""
    names = {method for point in points_served(plugin) for method in METHODS[point]} | {*CLAIMS, *BY_NODE}
    names -= set(BY_NODE.values())  # timing each node would cost more than some answers
    wrapped = {
        name: _counting(name, getattr(plugin, name), seen)
        for name in names
        if hasattr(plugin, name)
        and (_is_own(plugin, name) or _is_own(plugin, BY_NODE.get(name, name)))
        and not _is_async(getattr(plugin, name))
    }
    return type(plugin.__name__, (plugin,), {**wrapped, "__module__": plugin.__module__})


def _counting(name: str, method: Callable[..., Any], seen: _Seen) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Plugin, *args: Any) -> Any:
        started = time.perf_counter()
        try:
            return method(self, *args)
        finally:
            seen.seconds[name] += time.perf_counter() - started
            seen.calls[name] += 1
            if name in BY_NODE:
                seen.nodes[name] += len(args[-1])

    return call


def _is_async(method: Any) -> bool:
    return bool(getattr(method, "__code__", None) and method.__code__.co_flags & 0x80)


def _is_own(plugin: type[Plugin], name: str) -> bool:
    """Whether the plugin defines a method itself: the framework's would only call the other form."""
    owner = next((each for each in plugin.__mro__ if name in vars(each)), object)
    return not owner.__module__.startswith("kubesched.scheduler.framework")
