"""What SIGUSR2 logs: the cache, the queue, and whether they agree with what the API server sent."""

from __future__ import annotations

from kubesched.objects import Node, Pod
from kubesched.scheduler.build import Assembled
from kubesched.scheduler.state.cache import Cache
from kubesched.scheduler.state.comparer import compare
from kubesched.telemetry.logging import log


def log_state(assembled: Assembled) -> None:
    """Three entries: for people, and safe at any time."""
    queue, cache, objects = assembled.queue, assembled.cache, assembled.objects
    log.info("Dump of cached NodeInfo", nodes=_cache_text(cache))
    log.info("Dump of scheduling queue", pods=queue.dump())
    pending = [*queue.pending_pods()[0], *queue.in_flight_pods()]
    comparison = compare(cache, pending, objects.of(Node), objects.of(Pod))
    if comparison.agrees:
        log.info("Cache and informers agree")
    else:
        log.warning(
            "Cache mismatch",
            missedNodes=comparison.missed_nodes,
            redundantNodes=comparison.redundant_nodes,
            missedPods=comparison.missed_pods,
            redundantPods=comparison.redundant_pods,
        )


def _cache_text(cache: Cache) -> str:
    dump = cache.dump()
    assumed = set(dump.assumed_pods)
    lines = [f"{len(dump.nodes)} nodes, {cache.pod_count} pods, of which {len(assumed)} assumed"]
    for node in dump.nodes:
        gone = " (gone)" if node.imaginary else ""
        pods = ", ".join(f"{key} (assumed)" if key in assumed else key for key in node.pods)
        lines.append(f"{node.name}{gone}: {len(node.pods)} pods{': ' if pods else ''}{pods}")
    return "\n".join(lines)
