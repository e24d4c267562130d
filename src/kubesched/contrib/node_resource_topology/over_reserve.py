"""Over-reserve: what was placed since a node's last report is subtracted from all its zones.

A pod's zone is the kubelet's choice: any of them may have to give for it, and never too little is subtracted. A node
that had no room for a pod is worth another look. Its newest report counts instead of the old one, and nothing is
subtracted any more, if its fingerprint says that it is about the pods which the scheduler knows there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kubesched.contrib.node_resource_topology.demand import Amounts, asks_exclusively, demand_of
from kubesched.contrib.node_resource_topology.fingerprint import fingerprint
from kubesched.contrib.node_resource_topology.sources import TopologySource
from kubesched.contrib.node_resource_topology.topology import NodeResourceTopology, manager_of
from kubesched.framework import Follower, Handle, Journal, PluginArgs, Pod, PodInfo

ALL: Final = "All"
NONE: Final = "None"
ONLY_EXCLUSIVE: Final = "OnlyExclusiveResources"
AUTODETECT: Final = "Autodetect"
ONLY_RESOURCES: Final = "OnlyResources"
SHARED: Final = "Shared"
DEDICATED: Final = "Dedicated"

FINGERPRINT_ATTRIBUTE: Final = "nodeTopologyPodsFingerprint"
METHOD_ATTRIBUTE: Final = "nodeTopologyPodsFingerprintMethod"
EXCLUSIVE_METHOD: Final = "with-exclusive-resources"
FINGERPRINT_ANNOTATION: Final = "topology.node.k8s.io/fingerprint"


class CacheArgs(PluginArgs, frozen=True):
    """`cache` of the plugin's arguments."""

    foreign_pods_detect: str = ALL
    """Which pods of other schedulers make a node unknown until its next report: All, None, OnlyExclusiveResources."""
    resync_method: str = AUTODETECT
    """Which pods fingerprints count: All, OnlyExclusiveResources, or as the report says: Autodetect."""
    informer_mode: str = DEDICATED
    """Which pods are there: those that run (Shared), or all that are not pending (Dedicated)."""
    resync_scope: str = ALL
    """Whether a report with another policy or scope counts at once (All), or not (OnlyResources)."""


class _Profiles:
    """The names of the profiles with this plugin: their pods are not foreign."""

    def __init__(self) -> None:
        self.names: set[str] = set()


class OverReserve(TopologySource):
    """Looks for better reports at most every `period` seconds, when a decision is to be made."""

    counts_reservations = True

    def __init__(self, handle: Handle, period: float, args: CacheArgs) -> None:
        super().__init__(handle)
        self._args = args
        self._period = period
        self._clock = handle.clock
        self._cluster = handle.cluster
        self._profiles = handle.objects.derived(_Profiles, _Profiles)
        self._profiles.names.add(handle.profile_name)
        self._new_reports = Follower(self._reports.changes)
        self._counted: dict[str, NodeResourceTopology] = {}
        self._placed: dict[str, dict[str, Amounts]] = {}  # by node, by the pod's key
        self._reserved: dict[str, dict[str, int]] = {}  # by node: their sum
        self._short: set[str] = set()
        self._with_foreign_pods: set[str] = set()
        self._configured_otherwise: set[str] = set()
        self._suspects: set[tuple[str, str]] = set()  # node, and scheduler of a pod there
        self._looked_at = handle.clock.monotonic()
        self.changes = Journal()
        handle.objects.of(Pod).subscribe(self._pod_changed)

    # ---- what is known -------------------------------------------------------------------------------------------

    def report(self, node_name: str) -> NodeResourceTopology | None:
        return self._counted.get(node_name)

    def is_fresh(self, node_name: str) -> bool:
        return node_name not in self._with_foreign_pods

    def reserved(self, node_name: str) -> Mapping[str, int]:
        return self._reserved.get(node_name, {})

    def refresh(self) -> None:
        if not self._new_reports.is_current:
            self._take_up()
        if self._suspects:
            self._judge_suspects()
        if self._short or self._with_foreign_pods or self._configured_otherwise:
            now = self._clock.monotonic()
            if now - self._looked_at >= self._period:
                self._looked_at = now
                self._resync()

    # ---- what happens --------------------------------------------------------------------------------------------

    def reserve(self, pod: Pod, node_name: str) -> None:
        """Nodes without a report have nothing to count."""
        if node_name in self._counted:
            asked = demand_of(self._cluster.templates.info(pod).template).pod
            self._placed.setdefault(node_name, {})[pod.key] = asked
            self._sum_up(node_name)
            self._short.discard(node_name)

    def unreserve(self, pod: Pod, node_name: str) -> None:
        if self._placed.get(node_name, {}).pop(pod.key, None) is not None:
            self._sum_up(node_name)

    def rejected(self, node_names: Iterable[str]) -> None:
        self._short.update(node_names)

    def take_over(self, previous: Any) -> None:
        if isinstance(previous, OverReserve):
            self._counted, self._placed, self._reserved = previous._counted, previous._placed, previous._reserved
            self._short, self._with_foreign_pods = previous._short, previous._with_foreign_pods
            self._suspects |= previous._suspects

    def _sum_up(self, node_name: str) -> None:
        total: dict[str, int] = {}
        for asked in self._placed[node_name].values():
            for name, amount in asked:
                total[name] = total.get(name, 0) + amount
        self._reserved[node_name] = total
        self.changes.append(node_name)

    # ---- reports -------------------------------------------------------------------------------------------------

    def _take_up(self) -> None:
        """A node's first report counts at once; later ones are looked at in time."""
        names = self._new_reports.changed()
        changed = (
            {*names} if isinstance(names, list) else {*self._counted, *(one.metadata.name for one in self._reports)}
        )
        for name in sorted(changed):
            report, counted = self._reports.get(name), self._counted.get(name)
            if report is None:
                self._forget(name)
            elif counted is None:
                self._count(report)
                row = self._cluster.nodes.row_of.get(name)
                pods = self._cluster.pods.on_node(row) if row is not None else ()
                self._suspects |= {(name, pod.pod.spec.scheduler_name) for pod in pods if self._may_be_foreign(pod)}
            elif self._args.resync_scope != ONLY_RESOURCES and manager_of(report) != manager_of(counted):
                self._configured_otherwise.add(name)

    def _count(self, report: NodeResourceTopology) -> None:
        """From now on this report counts, and all pods are part of it."""
        name = report.metadata.name
        self._forget(name)
        self._counted[name] = report

    def _forget(self, name: str) -> None:
        for known in (self._counted, self._placed, self._reserved):
            known.pop(name, None)
        for marked in (self._short, self._with_foreign_pods, self._configured_otherwise):
            marked.discard(name)
        self.changes.append(name)

    def _resync(self) -> None:
        for name in sorted(self._short | self._with_foreign_pods | self._configured_otherwise):
            report = self._reports.get(name)
            if report is None:
                continue
            if name in self._configured_otherwise or self._counts_the_same_pods(report):
                self._count(report)

    def _counts_the_same_pods(self, report: NodeResourceTopology) -> bool:
        name = report.metadata.name
        if name not in self._with_foreign_pods and not self._placed.get(name) and self._counted.get(name) is report:
            return False  # it counts already
        expected, only_exclusive = self._fingerprint_of(report)
        row = self._cluster.nodes.row_of.get(name)
        if not expected or row is None:
            return False
        pods = [pod for pod in self._cluster.pods.on_node(row) if self._is_there(pod.pod)]
        counted = [pod for pod in pods if not only_exclusive or asks_exclusively(pod.template)]
        found = fingerprint((pod.pod.metadata.namespace, pod.pod.metadata.name) for pod in counted)
        return bool(pods) and found == expected

    def _fingerprint_of(self, report: NodeResourceTopology) -> tuple[str, bool]:
        """And whether it is that of pods with exclusive resources only."""
        attributes: dict[str, str] = {}
        for one in report.attributes:
            attributes.setdefault(one.name, one.value)
        if FINGERPRINT_ATTRIBUTE not in attributes:
            return report.metadata.annotations.get(FINGERPRINT_ANNOTATION, ""), False
        method = self._args.resync_method
        detected = method == AUTODETECT and attributes.get(METHOD_ATTRIBUTE) == EXCLUSIVE_METHOD
        return attributes[FINGERPRINT_ATTRIBUTE], method == ONLY_EXCLUSIVE or detected

    def _is_there(self, pod: Pod) -> bool:
        """Whether its node counts it. Pods that are only assumed are not bound yet."""
        if self._args.informer_mode == DEDICATED:
            return bool(pod.spec.node_name) and pod.status.phase != "Pending"
        return pod.status.phase == "Running"

    # ---- pods of other schedulers --------------------------------------------------------------------------------

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        """Who is foreign is decided later: when all profiles are known."""
        pod = new or old
        assert pod is not None  # an event is about something
        if pod.spec.node_name and pod.spec.scheduler_name not in self._profiles.names:
            info = self._cluster.templates.info(pod)
            if self._may_be_foreign(info):
                self._suspects.add((pod.spec.node_name, pod.spec.scheduler_name))

    def _may_be_foreign(self, pod: PodInfo) -> bool:
        mode = self._args.foreign_pods_detect
        return mode != NONE and (mode != ONLY_EXCLUSIVE or asks_exclusively(pod.template))

    def _judge_suspects(self) -> None:
        for name, scheduler in sorted(self._suspects):
            if scheduler not in self._profiles.names and name in self._counted and name not in self._with_foreign_pods:
                self._with_foreign_pods.add(name)
                self.changes.append(name)
        self._suspects.clear()
