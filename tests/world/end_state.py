"""What must have come of it once nothing goes wrong any more.

- Every pod that fits is bound, every other one says why it is not, and what was meant last is what is written.
- Every replica knows exactly what a fresh one would learn from the API server.
- Nothing is kept of what is over: no call, no watch, no event that waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.world.invariants import scheduled_status
from tests.world.replica import Replica

from kubesched import Simulation
from kubesched.objects import Node, Pod, decode
from kubesched.objects.base import Json
from kubesched.scheduler.build import Assembled
from kubesched.scheduler.state.queue.observer import SubQueue

if TYPE_CHECKING:
    from tests.world.world import World

ACTIVE, BACKOFF = SubQueue.ACTIVE, SubQueue.BACKOFF


class EndState:
    """A look at a world at this moment. `problems`: what is not as it should be in the end."""

    def __init__(self, world: World) -> None:
        self._world = world
        assert world.server is not None
        self._api = world.server.api
        self._pods = self._all("pods")
        self._problems: list[str] = []

    def problems(self) -> list[str]:
        leaders = [replica for replica in self._world.replicas if replica.scheduler and replica.scheduler._is_leading]
        if len(leaders) != 1 or leaders[0].identity != self._world.invariants.holder:
            names = [leader.name for leader in leaders]
            return [f"in the end {names} lead, the lease is {self._world.invariants.holder!r}'s"]
        self._pods_say_what_was_meant()
        self._events_say_where_pods_are()
        for replica in self._world.replicas:
            self._knows_what_there_is(replica)
            self._keeps_nothing(replica)
        self._server_keeps_nothing()
        return self._problems

    def objects(self) -> list[Any]:
        """All that scheduling looks at, as the server has it."""
        return [
            decode(self._raw(resource, value), kind) for kind, resource in _RESOURCES for value in self._all(resource)
        ]

    def _all(self, resource: str) -> list[Json]:
        return [entry.decode() for entry in self._api.reader.bucket(self._api.catalog.named(resource)).in_order()]

    def _raw(self, resource: str, value: Json) -> bytes:
        bucket = self._api.reader.bucket(self._api.catalog.named(resource))
        metadata = value["metadata"]
        return bucket.entries[metadata.get("namespace", ""), metadata["name"]].raw

    # ---- pods ----

    def _pods_say_what_was_meant(self) -> None:
        for pod in self._pods:
            metadata, said = pod["metadata"], scheduled_status(pod)
            if metadata.get("deletionTimestamp") or pod["status"].get("phase") in ("Succeeded", "Failed"):
                continue
            if pod["spec"].get("nodeName"):
                if said != "True":
                    self._problems.append(f"pod {metadata['name']} is bound, and PodScheduled is {said!r}")
                if pod["status"].get("nominatedNodeName"):
                    self._problems.append(f"pod {metadata['name']} is bound, and has a nominated node")
            elif not pod["spec"].get("schedulingGates"):
                self._waiting_pod_says_why(pod)

    def _waiting_pod_says_why(self, pod: Json) -> None:
        name, meant = pod["metadata"]["name"], self._world.invariants.meant.get(pod["metadata"]["uid"])
        conditions = pod["status"].get("conditions") or ()
        found: Json = next((item for item in conditions if item["type"] == "PodScheduled"), {})
        if meant is None:
            self._problems.append(f"pod {name} waits, and was never tried")
        elif (found.get("status"), found.get("reason"), found.get("message")) != (
            meant.status,
            meant.reason,
            meant.message,
        ):
            self._problems.append(f"pod {name} says {found}, and {meant.reason}: {meant.message} was meant last")

    def _events_say_where_pods_are(self) -> None:
        nodes = {pod["metadata"]["uid"]: pod["spec"].get("nodeName") for pod in self._pods}
        for event in self._all("events"):
            about = event.get("involvedObject") or event.get("regarding") or {}
            note = event.get("message") or event.get("note") or ""
            if event.get("reason") != "Scheduled" or about.get("uid") not in nodes:
                continue
            node = nodes[about["uid"]]
            if not note.endswith(f" to {node}"):
                self._problems.append(f"pod {about['name']} is on {node}, and an event says: {note}")

    # ---- replicas ----

    def _knows_what_there_is(self, replica: Replica) -> None:
        """Its objects, its cache and its queue are what a fresh start would make of what the server has."""
        assembled = replica.assembled
        if assembled is None:
            self._problems.append(f"{replica.name} is not back")
            return
        for kind, resource in _RESOURCES:
            known = {value.metadata.key: value.metadata.resource_version for value in assembled.objects.of(kind)}
            there = {
                _key(value): value["metadata"]["resourceVersion"] for value in self._all(resource) if _counts(value)
            }
            if known != there:
                different = sorted(dict(known.items() ^ there.items()))
                self._problems.append(f"{replica.name} does not know {resource} as they are: {different}")
        is_leader = replica.scheduler is not None and replica.scheduler._is_leading
        self._cache_is_right(replica.name, assembled, is_leader=is_leader)

    def _cache_is_right(self, who: str, assembled: Assembled, *, is_leader: bool) -> None:
        expected = {
            pod["metadata"]["uid"]: pod["spec"].get("nodeName", "")
            for pod in self._pods
            if _counts(pod) and (pod["spec"].get("nodeName") or not pod["metadata"].get("deletionTimestamp"))
        }
        found = {state.info.uid: state.node_name for state in assembled.cache.pods()}
        waiting = [queued.uid for _, queued in assembled.queue.waiting()]
        found |= dict.fromkeys(waiting, "")
        if found != expected:
            different = dict(found.items() ^ expected.items())
            names = {pod["metadata"]["uid"]: pod["metadata"]["name"] for pod in self._pods}
            shown = sorted(f"{names.get(uid, uid)} on {node!r}" for uid, node in different.items())
            self._problems.append(f"{who} has pods elsewhere than they are: {shown}")
        soon = [queued.info.key for place, queued in assembled.queue.waiting() if place in (ACTIVE, BACKOFF)]
        if is_leader and soon:
            self._problems.append(f"{who} is about to try {soon}")
        if assembled.cache.assumed_count or assembled.queue.in_flight_pods():
            self._problems.append(f"{who} still has pods under way")

    def _keeps_nothing(self, replica: Replica) -> None:
        assembled, scheduler = replica.assembled, replica.scheduler
        if assembled is None or scheduler is None:
            return
        writer: Any = next(iter(assembled.profiles.values())).handle.api
        order = writer._dispatcher._order
        recorder = scheduler._scheduler._recorders._first
        kept = {
            "writes in flight": len(order._in_flight),
            "writes that wait": len(order._lines),
            "turns": len(writer._dispatcher._turns),
            "background tasks": len(assembled.scheduler.tasks),
            "events": len(recorder._queue._items) + len(recorder._occurrences),
        }
        for what, number in kept.items():
            if number:
                self._problems.append(f"{replica.name} keeps {what}: {number}")
        slots = (order._free, order._free_patient)
        if slots != (64, 32):
            self._problems.append(f"{replica.name} has lost slots for writes: {slots}")

    def _server_keeps_nothing(self) -> None:
        server = self._world.server
        assert server is not None
        assert server._app is not None
        watches = len(server._app._streams._open)  # type: ignore[attr-defined]
        if watches != self._world.network.open_streams:
            self._problems.append(f"the server has {watches} watches, clients {self._world.network.open_streams}")


_RESOURCES: list[tuple[type[Any], str]] = [(Node, "nodes"), (Pod, "pods")]


def _key(value: Json) -> str:
    metadata = value["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else str(metadata["name"])


def _counts(value: Json) -> bool:
    """Pods that ran to their end are not watched."""
    return value.get("status", {}).get("phase") not in ("Succeeded", "Failed")


def fitting(objects: list[Any]) -> list[str]:
    """Which of the pods that wait would be placed, or would preempt others, if somebody looked again."""
    waiting = {obj.metadata.key for obj in objects if isinstance(obj, Pod) and not obj.spec.node_name}
    with Simulation() as simulation:
        simulation.add(*(obj for obj in objects if not (isinstance(obj, Pod) and obj.is_terminal)))
        placed = simulation.schedule()
        return [f"{pod} fits on {node}" for pod, node in placed.items() if pod in waiting and node is not None] + [
            f"{preemption.preemptor} would preempt {preemption.victim.key}" for preemption in simulation.preemptions
        ]
