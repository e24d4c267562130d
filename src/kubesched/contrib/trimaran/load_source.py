"""Where measurements of nodes come from. They are fetched beside the loop; the last ones are at hand.

args:
  watcherAddress: http://load-watcher:2020        # a load watcher (github.com/paypal/load-watcher), or
  metricProvider: {type: KubernetesMetricsServer} # the metrics API: the default, or
  metricProvider: {type: Prometheus, address: http://prometheus:9090, token: ...}
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final, Protocol
from urllib.parse import quote

import msgspec

from kubesched.framework import Handle, KubeStruct, ObjectMeta, PluginArgs, Quantity

CPU: Final = "CPU"
MEMORY: Final = "Memory"
AVERAGE: Final = "AVG"
DEVIATION: Final = "STD"
LATEST: Final = "Latest"

METRICS_SERVER: Final = "KubernetesMetricsServer"
PROMETHEUS: Final = "Prometheus"
SIGNAL_FX: Final = "SignalFx"
EVERY: Final = 30.0
"""Seconds between two fetches."""
NODE_METRICS: Final = "/apis/metrics.k8s.io/v1beta1/nodes"
_DEFAULT_PROMETHEUS: Final = "http://prometheus-k8s:9090"
_RULES: Final = {CPU: "instance:node_cpu:ratio", MEMORY: "instance:node_memory_utilisation:ratio"}
_FUNCTIONS: Final = {AVERAGE: "avg_over_time", DEVIATION: "stddev_over_time"}


class MetricProviderSpec(PluginArgs, frozen=True):
    type: str = ""
    address: str = ""
    token: str = ""
    insecure_skip_verify: bool | None = None


class TrimaranArgs(PluginArgs, frozen=True):
    """What all plugins of Trimaran have in common."""

    metric_provider: MetricProviderSpec = MetricProviderSpec()
    watcher_address: str = ""


class Metric(msgspec.Struct, frozen=True):
    """A measurement, in percent of the node's capacity."""

    type: str = ""
    operator: str = ""
    value: float = 0.0


class LoadSource(Protocol):
    @property
    def version(self) -> Hashable:
        """Changes whenever measurements do."""
        ...

    def window_end(self) -> float:
        """The time, in seconds since the epoch, up to which was measured."""
        ...

    def metrics(self) -> Mapping[str, Sequence[Metric]]:
        """By node name; a node without measurements is not in it."""
        ...


def load_source(args: TrimaranArgs, handle: Handle) -> LoadSource:
    """ConfigurationError for a provider that is unknown, or not to be had here."""
    if args.watcher_address:
        return LoadWatcher(handle, args.watcher_address)
    match args.metric_provider.type:
        case "" | "KubernetesMetricsServer":
            return MetricsServer(handle)
        case "Prometheus":
            return Prometheus(handle, args.metric_provider)
        case "SignalFx":
            raise args.refused("metricProvider.type: SignalFx is not supported: use a load watcher for it")
        case other:
            raise args.refused(f"invalid MetricProvider.Type, got {other}")


class _Window(msgspec.Struct, frozen=True):
    end: int = 0


class _NodeMetrics(msgspec.Struct, frozen=True):
    metrics: list[Metric] | None = None


class _Data(msgspec.Struct, frozen=True):
    nodes: dict[str, _NodeMetrics] | None = msgspec.field(default=None, name="NodeMetricsMap")


class _WatcherMetrics(msgspec.Struct, frozen=True):
    window: _Window = _Window()
    data: _Data = _Data()


class LoadWatcher:
    """The service of github.com/paypal/load-watcher."""

    def __init__(self, handle: Handle, address: str) -> None:
        self._fetched = handle.fetch(f"{address.rstrip('/')}/watcher", every=EVERY, into=_WatcherMetrics)

    @property
    def version(self) -> Hashable:
        return self._fetched.version

    def window_end(self) -> float:
        return self._fetched.value.window.end if self._fetched.value is not None else 0

    def metrics(self) -> Mapping[str, Sequence[Metric]]:
        if self._fetched.value is None:
            return {}
        nodes: dict[str, _NodeMetrics] = self._fetched.value.data.nodes or {}
        return {name: node.metrics for name, node in nodes.items() if node.metrics is not None}


class _Usage(KubeStruct):
    metadata: ObjectMeta = ObjectMeta()
    usage: dict[str, Quantity] = {}


class _UsageList(KubeStruct):
    items: tuple[_Usage, ...] = ()


class MetricsServer:
    """The metrics API of the cluster: what nodes use now."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._fetched = handle.fetch(NODE_METRICS, every=EVERY, into=_UsageList)

    @property
    def version(self) -> Hashable:
        return self._fetched.version

    def window_end(self) -> float:
        return self._handle.clock.time() - (self._fetched.age or 0.0)

    def metrics(self) -> Mapping[str, Sequence[Metric]]:
        table = self._handle.cluster.nodes
        found: dict[str, Sequence[Metric]] = {}
        for item in self._fetched.value.items if self._fetched.value is not None else ():
            row = table.row_of.get(item.metadata.name)
            node = table.nodes[row] if row is not None else None
            if node is not None:
                found[item.metadata.name] = _in_percent(item.usage, node.status.capacity)
        return found


def _in_percent(usage: Mapping[str, Quantity], capacity: Mapping[str, Quantity]) -> list[Metric]:
    cpu, memory = (capacity.get(name, Quantity.ZERO) for name in ("cpu", "memory"))
    used_cpu, used_memory = (usage.get(name, Quantity.ZERO) for name in ("cpu", "memory"))
    return [
        Metric(kind, LATEST, 100 * used / offered if offered else 0.0)
        for kind, used, offered in (
            (CPU, used_cpu.milli_value(), cpu.milli_value()),
            (MEMORY, used_memory.value(), memory.value()),
        )
    ]


class _Sample(msgspec.Struct, frozen=True):
    metric: dict[str, str] = {}
    value: tuple[float, str] = (0.0, "0")


class _Vector(msgspec.Struct, frozen=True):
    result: list[_Sample] = []


class _Answer(msgspec.Struct, frozen=True):
    data: _Vector = _Vector()


class Prometheus:
    """Averages and deviations over 15 minutes, from the recording rules of the node mixin."""

    def __init__(self, handle: Handle, spec: MetricProviderSpec) -> None:
        self._clock = handle.clock
        root = (spec.address or _DEFAULT_PROMETHEUS).rstrip("/")
        headers = {"Authorization": f"Bearer {spec.token}"} if spec.token else {}
        self._fetched: dict[tuple[str, str], Any] = {}
        for operator, function in _FUNCTIONS.items():
            for kind, rule in _RULES.items():
                url = f"{root}/api/v1/query?query={quote(f'{function}({rule}[15m])', safe='')}"
                self._fetched[kind, operator] = handle.fetch(url, every=EVERY, into=_Answer, headers=headers)

    @property
    def version(self) -> Hashable:
        return tuple(fetched.version for fetched in self._fetched.values())

    def window_end(self) -> float:
        return self._clock.time() - max(fetched.age or 0.0 for fetched in self._fetched.values())

    def metrics(self) -> Mapping[str, Sequence[Metric]]:
        found: dict[str, list[Metric]] = {}
        for (kind, operator), fetched in self._fetched.items():
            for sample in fetched.value.data.result if fetched.value is not None else ():
                metric = Metric(kind, operator, float(sample.value[1]) * 100)
                found.setdefault(sample.metric.get("instance", ""), []).append(metric)
        return found
