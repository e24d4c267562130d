"""What a shadow counts, as metrics for Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kubesched.apps.shadow.judge import Verdict
from kubesched.apps.shadow.summary import Tally
from kubesched.errors import ConfigurationError


class TallyCollector(Collector):
    """Reads the tally when somebody scrapes. Another thread may count meanwhile: each number is one that was true."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    def collect(self) -> Iterable[Metric]:
        tally = self._tally
        judged = CounterMetricFamily(
            "kubesched_shadow_judgements",
            "Decisions of the other scheduler by what we think of them.",
            labels=["verdict"],
        )
        points = CounterMetricFamily(
            "kubesched_shadow_lost_points",
            "Points that our best node has more than theirs, summed.",
            labels=["verdict"],
        )
        for verdict in Verdict:
            judged.add_metric([verdict.value], tally.verdicts[verdict])
        for verdict in (Verdict.LOWER, Verdict.SAMPLED):
            points.add_metric([verdict.value], tally.points[verdict])
        plugins = CounterMetricFamily(
            "kubesched_shadow_disagreeing_plugin",
            "Bindings by the plugin of ours that prefers another node most, or rejects theirs.",
            labels=["plugin", "verdict"],
        )
        for verdict, counts in ((Verdict.LOWER, tally.preferring), (Verdict.REJECTED, tally.rejecting)):
            for plugin, count in list(counts.items()):
                plugins.add_metric([plugin, verdict.value], count)
        agreement = GaugeMetricFamily(
            "kubesched_shadow_agreement_ratio", "Share of the judged bindings that we agree with.", tally.agreement
        )
        return [judged, points, plugins, agreement]


@contextmanager
def served(tally: Tally, address: str) -> Iterator[int]:
    """Serve /metrics at `address` (HOST:PORT) on a thread of its own; gives the port.

    ConfigurationError if the address is not to be had.
    """
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ConfigurationError([f"--metrics-bind-address: expected HOST:PORT, got {address!r}"])
    registry = CollectorRegistry(auto_describe=False)
    registry.register(TallyCollector(tally))
    try:
        server, thread = start_http_server(int(port), host.strip("[]") or "0.0.0.0", registry)  # noqa: S104  # as asked
    except OSError as error:
        raise ConfigurationError([f"--metrics-bind-address: {address}: {error.strerror or error}"]) from error
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
