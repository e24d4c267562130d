"""All simulated kubelets of the cluster in one task.

Every Node object is played, also those that a user creates; every pod that is bound to one goes through its stages.
Changes of pods come from one watch; what takes time waits in one delay queue, which is looked at ten times a second.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Final

from kubesched.clock import Clock, utc
from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.apiserver.options import DeleteOptions
from kubesched.cluster.informer import Informer
from kubesched.cluster.kubelet import pod_status
from kubesched.cluster.kubelet.delay_queue import DelayQueue, Step
from kubesched.cluster.kubelet.leases import NodeLeases
from kubesched.cluster.kubelet.node_status import is_down
from kubesched.cluster.kubelet.nodes import Nodes, SimulatedNode
from kubesched.cluster.kubelet.timings import Timings
from kubesched.cluster.local_events import EventWriter
from kubesched.cluster.records import NodeRecord, PodRecord
from kubesched.errors import RequestRefusedError
from kubesched.objects.base import Json
from kubesched.objects.meta import ObjectMeta
from kubesched.telemetry.logging import log

TICK: Final = 0.1
STEPS_BETWEEN_TURNS: Final = 150
"""Some 15 ms of work: then others (requests, controllers) get the loop."""
LONGEST_RESTART: Final = 300.0
GIGABYTE: Final = 1e9
TERMINATED: Final = 143  # what a shell reports of a process that SIGTERM ended


class SimulatedKubelets:
    """`run` plays the nodes until it is cancelled; nothing of a pod's progress is lost when it is started again."""

    def __init__(
        self, api: Api, pods: Informer[PodRecord], nodes: Informer[NodeRecord], rng: random.Random, timings: Timings
    ) -> None:
        self._api = api
        self._clock: Clock = api.clock
        self._rng = rng
        self._timings = timings
        self._delayed = DelayQueue(self._clock)
        self._nodes = Nodes(api)
        self._leases = NodeLeases(api)
        self._events = EventWriter(api, "kubelet")
        self._resource = api.catalog.named("pods")
        self._node_records = nodes
        self._on_node = pods.index(lambda pod: pod.spec.node_name)
        self._under_way: dict[str, bool] = {}  # pods by uid; True: on its way out
        self._held: dict[str, list[Step]] = {}  # what a node that is down will do when it is back
        nodes.listen(self._node_changed)
        pods.listen(self._pod_changed)

    async def run(self) -> None:
        while True:
            steps = self._delayed.take_due(STEPS_BETWEEN_TURNS)
            for step in steps:
                try:
                    step()
                except RequestRefusedError as refusal:
                    log.error("A simulated kubelet was refused", refusal)
                except Exception as error:  # one strange object must not stop the others
                    log.error("A simulated kubelet failed", error)
            await (asyncio.sleep(0) if len(steps) == STEPS_BETWEEN_TURNS else self._clock.sleep(TICK))

    # ---- nodes ------------------------------------------------------------------------------------------------

    def _node_changed(self, old: NodeRecord | None, new: NodeRecord | None) -> None:
        if new is None:
            assert old is not None
            name = old.metadata.name
            self._delayed.after(0.0, lambda: self._drop_node(name))
        elif old is None:
            self._delayed.after(0.0, lambda: self._adopt_node(new.metadata.name))
        elif is_down(old.metadata.annotations) != is_down(new.metadata.annotations):
            self._delayed.after(0.0, lambda: self._switch_node(new.metadata.name))

    def _adopt_node(self, name: str) -> None:
        record = self._node_records.get(name)
        if record is None or self._nodes.get(name) is not None:
            return
        self._nodes.adopt(record)
        self._leases.renew(record)
        # The first renewals are spread over the interval, so that they stay spread.
        self._delayed.after(
            self._rng.uniform(0, self._timings.lease), lambda: self._heartbeat(name, record.metadata.uid)
        )
        for pod in self._on_node[name]:
            self._pod_changed(None, pod)

    def _drop_node(self, name: str) -> None:
        if self._node_records.get(name) is None:
            self._nodes.forget(name)
            self._held.pop(name, None)
            self._leases.remove(name)

    def _heartbeat(self, name: str, uid: str) -> None:
        record = self._node_records.get(name)
        if record is None or record.metadata.uid != uid:
            return
        node = self._nodes.get(name)
        if node is not None and not node.down:
            self._leases.renew(record)
        self._delayed.after(self._timings.lease, lambda: self._heartbeat(name, uid))

    def _switch_node(self, name: str) -> None:
        record, node = self._node_records.get(name), self._nodes.get(name)
        if record is None or node is None:
            return
        down = is_down(record.metadata.annotations)
        if down == node.down:
            return
        self._nodes.switch(node, down=down)
        if down:
            self._events.normal("Node", record.metadata, "NodeNotReady", f"Node {name} status is now: NodeNotReady")
            return
        self._events.normal("Node", record.metadata, "NodeReady", f"Node {name} status is now: NodeReady")
        for step in self._held.pop(name, ()):
            self._delayed.after(0.0, step)
        for pod in self._on_node[name]:
            if pod.status.phase == "Running":
                self._later(0.0, pod.metadata, self._make_ready)

    # ---- pods -------------------------------------------------------------------------------------------------

    def _pod_changed(self, old: PodRecord | None, new: PodRecord | None) -> None:
        if new is None:
            assert old is not None
            self._under_way.pop(old.metadata.uid, None)
            return
        if not new.spec.node_name or self._nodes.get(new.spec.node_name) is None:
            return
        uid = new.metadata.uid
        if new.metadata.deletion_timestamp is not None:
            if not self._under_way.get(uid):
                self._under_way[uid] = True
                self._begin_to_stop(new)
        elif uid not in self._under_way and not new.is_finished:
            self._under_way[uid] = False
            self._later(0.0, new.metadata, self._resume if new.status.phase == "Running" else self._create)

    def _begin_to_stop(self, pod: PodRecord) -> None:
        metadata = pod.metadata
        grace = metadata.deletion_grace_period_seconds or 0
        delay = 0.0 if pod.is_finished else min(float(grace), self._varied(self._timings.stop))
        if pod.status.phase == "Running":
            self._events.normal("Pod", metadata, "Killing", "Stopping containers", host=pod.spec.node_name)
        self._later(delay, metadata, self._remove)

    def _later(
        self, seconds: float, metadata: ObjectMeta, stage: Callable[[ObjectMeta, Json, SimulatedNode], None]
    ) -> None:
        """Let the pod go through a stage then, if it still is the same pod; on a node that is down, once it is back."""

        def step() -> None:
            found = self._api.reader.bucket(self._resource).get(metadata.namespace, metadata.name)
            if found is None:
                return
            pod = found.decode()
            if pod["metadata"]["uid"] != metadata.uid:
                return
            node = self._nodes.get(pod["spec"]["nodeName"])
            if node is None:
                self._under_way.pop(metadata.uid, None)
            elif node.down:
                self._held.setdefault(node.name, []).append(step)
            else:
                stage(metadata, pod, node)

        self._delayed.after(seconds, step)

    def _create(self, metadata: ObjectMeta, pod: Json, node: SimulatedNode) -> None:
        if _is_over(pod):
            return
        pod_status.creating(pod, host_ip=node.host_ip, now=self._now())
        self._store(pod)
        missing = node.missing(pod_status.images(pod))
        pull = self._varied(sum(missing.values()) / GIGABYTE * self._timings.pull_per_gigabyte)
        for image in missing:
            self._events.normal("Pod", metadata, "Pulling", f'Pulling image "{image}"', host=node.name)
        self._later(pull + self._varied(self._timings.start), metadata, self._start)

    def _start(self, metadata: ObjectMeta, pod: Json, node: SimulatedNode) -> None:
        if _is_over(pod):
            return
        pulled = node.missing(pod_status.images(pod))
        if pulled:
            self._nodes.add_images(node, pulled)
        probe = pod_status.readiness_delay(pod)
        ip = (pod.get("status") or {}).get("podIP") or node.next_ip()
        pod_status.running(pod, pod_ip=ip, now=self._now(), ready=probe is None)
        self._store(pod)
        self._tell_start(metadata, pod, node, pulled)
        if probe is not None:
            self._later(probe + self._varied(self._timings.ready_after), metadata, self._make_ready)
        self._plan_end(metadata, pod)

    def _tell_start(self, metadata: ObjectMeta, pod: Json, node: SimulatedNode, pulled: dict[str, int]) -> None:
        for container in pod["spec"]["containers"]:
            name, image = container["name"], container["image"]
            about = {"host": node.name, "field_path": f"spec.containers{{{name}}}"}
            note = f'Container image "{image}" already present on machine'
            if image in pulled:
                note = f'Successfully pulled image "{image}". Image size: {pulled[image]} bytes.'
            self._events.normal("Pod", metadata, "Pulled", note, **about)
            self._events.normal("Pod", metadata, "Created", "Container created", **about)
            self._events.normal("Pod", metadata, "Started", "Container started", **about)

    def _resume(self, metadata: ObjectMeta, pod: Json, node: SimulatedNode) -> None:
        """A pod that ran before this process began: its clock starts again."""
        if not _is_over(pod):
            self._make_ready(metadata, pod, node)
            self._plan_end(metadata, pod)

    def _make_ready(self, metadata: ObjectMeta, pod: Json, node: SimulatedNode) -> None:
        if not _is_over(pod) and not _is_restarting(pod):
            pod_status.set_ready(pod, now=self._now(), ready=True)
            self._store(pod)

    def _plan_end(self, metadata: ObjectMeta, pod: Json) -> None:
        seconds = pod_status.run_seconds(pod, self._timings.job_run)
        if seconds is not None:
            self._later(seconds, metadata, self._end)

    def _end(self, metadata: ObjectMeta, pod: Json, node: SimulatedNode) -> None:
        if _is_over(pod):
            return
        code = pod_status.exit_code(pod)
        if code and pod["spec"].get("restartPolicy") != "Never":
            delay = min(LONGEST_RESTART, self._timings.restart * 2 ** pod_status.restart_count(pod))
            pod_status.waiting_to_restart(pod, now=self._now(), exit_code=code, delay=delay)
            self._store(pod)
            self._events.warning("Pod", metadata, "BackOff", "Back-off restarting failed container", host=node.name)
            self._later(delay, metadata, self._start)
            return
        pod_status.finished(pod, now=self._now(), exit_code=code)
        self._store(pod)

    def _remove(self, metadata: ObjectMeta, pod: Json, node: SimulatedNode) -> None:
        if pod["metadata"].get("finalizers") and not _is_finished(pod):  # somebody will look at how it ended
            pod_status.finished(pod, now=self._now(), exit_code=TERMINATED)
            self._store(pod)
        options = DeleteOptions(grace_period=0, uid=metadata.uid)
        self._api.delete(self._resource, metadata.name, metadata.namespace, options)

    def _store(self, pod: Json) -> None:
        """Write the pod's status as its kubelet: without the checks of a stranger's write."""
        metadata = pod["metadata"]
        found = self._api.reader.get(self._resource, metadata["name"], metadata["namespace"])
        self._api.writer.replace(self._resource, found, {}, pod)

    def _varied(self, seconds: float) -> float:
        spread = self._timings.spread
        return seconds * self._rng.uniform(1 - spread, 1 + spread)

    def _now(self) -> str:
        return utc(self._clock).strftime("%Y-%m-%dT%H:%M:%SZ")


def _is_finished(pod: Json) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _is_over(pod: Json) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp")) or _is_finished(pod)


def _is_restarting(pod: Json) -> bool:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return any("waiting" in (item.get("state") or {}) for item in statuses)
