"""What must never happen, checked at every moment at which it could.

- A decision overcommits no node, by what the replica knew (its own decisions included).
- A node is overcommitted in fact only if the replica could not know: of another's binding, or of one of its own whose
  answer did not come.
- A pod is bound once, and is not said to be unschedulable after that.
- Only the holder of the lease writes.
- Every pod that a replica knows is in exactly one place of its queue and cache.
- What was acknowledged or shown to a watch is there after a crash, and so is what was durable before it, in order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.world.api_server import ApiServerProcess
from tests.world.history import History
from tests.world.network import WorldTransport
from tests.world.replica import Replica

from kubesched.client.transport import Response
from kubesched.cluster.apiserver.storage import Bucket, Change, ChangeType
from kubesched.cluster.apiserver.storage.journal import Row
from kubesched.objects import Pod
from kubesched.objects.base import Json
from kubesched.objects.pod import PodCondition
from kubesched.scheduler.build import Assembled
from kubesched.scheduler.framework import PodInfo

if TYPE_CHECKING:
    from tests.world.world import World

LEASE = ("kube-system", "kube-scheduler")
Place = tuple[str, str, str]


class Known(NamedTuple):
    """What a replica knew about a node when it chose it."""

    process: str
    uids: frozenset[str]
    milli_cpu: int


class Invariants:
    def __init__(self, world: World, history: History) -> None:
        self._world = world
        self._history = history
        self.bindings = 0
        self.holder = ""
        """Of the lease, as the server has shown it last."""
        self.meant: dict[str, PodCondition] = {}
        """What a scheduler wanted to be said of a pod, last."""
        self._decided: dict[tuple[str, str], Known] = {}  # by pod uid and node
        self._bound_by: dict[str, str] = {}
        self._shown: dict[Place, int | None] = {}  # version, None where it was deleted
        self._latest_shown = 0
        self._in_effect: list[tuple[Place, Change]] = []  # when the server crashed: maybe on disk

    # ---- what passes on the network ----

    def leaves(self, transport: WorldTransport, method: str, path: str, body: bytes | None) -> None:
        if method == "GET" or transport.role != "scheduler":
            return
        identity = self._replica_of(transport.process.name).identity
        if self.holder != identity:
            self._history.violated(f"{transport.process.name} writes {method} {path}, the lease is {self.holder!r}'s")

    def answered(self, transport: WorldTransport, method: str, path: str, response: Response) -> None:
        if path.endswith("/binding") and response.status == 201:
            self.bindings += 1

    def _replica_of(self, process: str) -> Replica:
        return next(replica for replica in self._world.replicas if process.startswith(f"{replica.name}."))

    # ---- what replicas decide ----

    def scheduler_made(self, process: str, assembled: Assembled) -> None:
        """Look at what a replica decides and wants to be written."""
        cache = assembled.cache
        assume = cache.assume

        def checked_assume(info: PodInfo, node_name: str) -> None:
            assume(info, node_name)
            self._decision(process, assembled, info.pod, node_name)

        cache.assume = checked_assume  # type: ignore[method-assign]
        for profile in assembled.profiles.values():
            writer: Any = profile.handle.api
            patch = writer.patch_pod_status

            async def noted_patch(
                pod: Pod, condition: PodCondition | None, nominating: Any, patch: Any = patch
            ) -> None:
                if condition is not None:
                    self.meant[pod.metadata.uid] = condition
                await patch(pod, condition, nominating)

            writer.patch_pod_status = noted_patch

    def _decision(self, process: str, assembled: Assembled, pod: Pod, node_name: str) -> None:
        cluster = assembled.cache.cluster
        table = cluster.nodes
        row = table.row_for(node_name)
        on_node = cluster.pods.on_node(row)
        self._decided[pod.metadata.uid, node_name] = Known(
            process, frozenset(info.uid for info in on_node), int(table.allocatable[0].item(row))
        )
        self._history.add(process, f"decides {pod.key} {node_name}")
        if table.requested[0].item(row) > table.allocatable[0].item(row):
            self._history.violated(f"{process} puts {pod.key} on {node_name}, which lacks cpu")
        if table.pod_count[row] > table.allowed_pods[row]:
            self._history.violated(f"{process} puts {pod.key} on {node_name}, which has too many pods")
        # Its own ports only: others may be taken twice, by a binding that was carried out and answered with 504.
        ports = Counter(port for info in on_node for port in info.template.host_ports)
        own = next(info.template.host_ports for info in on_node if info.uid == pod.metadata.uid)
        if any(ports[port] > 1 for port in own):
            self._history.violated(f"{process} puts {pod.key} on {node_name}, whose port is taken")

    # ---- what the server shows ----

    def disk_loaded(self, version: int, rows: Iterable[Row]) -> None:
        """A server starts with this: all that was shown, and a part of what was under way, from its beginning."""
        expected = {place: shown for place, shown in self._shown.items() if shown is not None}
        for place, change in self._in_effect:
            if change.version <= version:
                expected[place] = change.version
                if change.type is ChangeType.DELETED:
                    del expected[place]
        found = {(row.bucket, row.namespace, row.name): row.version for row in rows}
        if version < self._latest_shown:
            self._history.violated(f"version {self._latest_shown} was shown, and the disk has {version}")
        if found != expected:
            missing = dict(expected.items() - found.items())
            surplus = dict(found.items() - expected.items())
            self._history.violated(f"after a crash the disk lacks {missing} and has {surplus}")
        self._shown = dict(found)
        self._latest_shown = version

    def server_started(self, server: ApiServerProcess) -> None:
        """Look at everything that it shows to watches."""
        for bucket in server.store._buckets.values():
            self._follow(server, bucket)

    def _follow(self, server: ApiServerProcess, bucket: Bucket) -> None:
        history = bucket.history

        def shown() -> None:
            change = history._changes[-1]
            deleted = change.type is ChangeType.DELETED
            self._shown[bucket.name, *change.entry.key] = None if deleted else change.version
            self._latest_shown = max(self._latest_shown, change.version)
            if bucket.name == "leases.coordination.k8s.io" and change.entry.key == LEASE:
                self._lease_shown(change.entry.decode())
            elif bucket.name == "pods" and not deleted:
                before = change.previous.decode() if change.previous is not None else {}
                self._pod_shown(server, before, change.entry.decode())

        history.listen(shown)

    def server_dies(self, server: ApiServerProcess) -> None:
        self._in_effect = sorted(
            (
                ((bucket.name, *change.entry.key), change)
                for bucket in server.store._buckets.values()
                for change in bucket.unsettled
            ),
            key=lambda item: item[1].version,
        )

    def _lease_shown(self, lease: Json) -> None:
        holder = lease["spec"].get("holderIdentity") or ""
        if holder != self.holder:
            self._history.add("lease", f"held by {holder!r}")
            self.holder = holder

    def _pod_shown(self, server: ApiServerProcess, before: Json, pod: Json) -> None:
        key, uid, node = pod["metadata"]["name"], pod["metadata"]["uid"], pod["spec"].get("nodeName")
        is_same = before.get("metadata", {}).get("uid") == uid
        node_before = before["spec"].get("nodeName") if is_same else None
        if not node:
            return
        if node_before and node_before != node:
            self._history.violated(f"pod {key} moves from {node_before} to {node}")
        if scheduled_status(pod) == "False":
            self._history.violated(f"pod {key} is on {node} and said to be unschedulable")
        if not node_before:
            self._history.add("server", f"pod {key} is bound to {node}")
            self._bound(server, pod)

    def _bound(self, server: ApiServerProcess, pod: Json) -> None:
        """Is there room for it in fact? If not, who bound it must not have known of a pod that takes the room."""
        uid, node_name = pod["metadata"]["uid"], pod["spec"]["nodeName"]
        known = self._decided.get((uid, node_name))
        if known is None:
            self._history.violated(f"pod {pod['metadata']['name']} is bound to {node_name}: nobody decided that")
            return
        self._bound_by[uid] = known.process
        pods = server.store._buckets["pods"].entries.values()
        there = [value for entry in pods if is_on(value := entry.decode(), node_name)]
        if sum(map(milli_cpu, there)) <= known.milli_cpu:
            return
        unknown = [value for value in there if value["metadata"]["uid"] not in known.uids]
        excuses = [(_name(value), self._bound_by.get(value["metadata"]["uid"], "?")) for value in unknown]
        self._history.add("server", f"{node_name} is overcommitted by {_name(pod)}: not known of were {excuses}")
        if not unknown:
            self._history.violated(f"{known.process} overcommits {node_name} by {_name(pod)}, and knew all pods there")

    # ---- every second ----

    def check(self) -> None:
        for replica in self._world.replicas:
            process, scheduler = replica.process, replica.scheduler
            if process is None or scheduler is None or process.is_paused:
                continue
            assembled = replica.assembled
            # Who is stopping lets go of its pods: they are another one's from then on.
            if assembled is not None and scheduler._is_leading and not scheduler._is_stopping:
                self._every_pod_has_one_place(process.name, assembled)

    def _every_pod_has_one_place(self, who: str, assembled: Assembled) -> None:
        cache, queue = assembled.cache, assembled.queue
        waiting = Counter(queued.uid for _, queued in queue.waiting())
        in_flight = {pod.metadata.uid for pod in queue.in_flight_pods()}
        known = {pod.metadata.uid: pod for pod in assembled.objects.of(Pod)}
        for uid, pod in known.items():
            bound = bool(pod.spec.node_name)
            under_way = (uid in in_flight or cache.is_assumed(uid)) and not bound
            places = (waiting[uid], under_way, bound)
            if sum(map(int, places)) != 1 and not (pod.is_terminating and not any(places)):
                self._history.violated(
                    f"{who}: pod {pod.key} waits {places[0]}, is under way {under_way}, bound {bound}"
                )
            if bound and cache.node_of(uid) != pod.spec.node_name:
                self._history.violated(f"{who}: pod {pod.key} is on {pod.spec.node_name}, not {cache.node_of(uid)}")
        for uid in waiting:
            if uid not in known:
                self._history.violated(f"{who}: a pod waits that is gone: {uid}")
        for state in cache.pods():
            if state.info.uid not in known and not state.assumed:
                self._history.violated(f"{who}: a pod counts that is gone: {state.info.key}")


def is_on(pod: Json, node: str) -> bool:
    return pod["spec"].get("nodeName") == node and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")


def milli_cpu(pod: Json) -> int:
    """Pods of this world ask in thousandths."""
    return sum(int(item["resources"]["requests"]["cpu"].removesuffix("m")) for item in pod["spec"]["containers"])


def scheduled_status(pod: Json) -> str:
    conditions = pod.get("status", {}).get("conditions") or ()
    return next((item["status"] for item in conditions if item["type"] == "PodScheduled"), "")


def _name(pod: Json) -> str:
    return str(pod["metadata"]["name"])
