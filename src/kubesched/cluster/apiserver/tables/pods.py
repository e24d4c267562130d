"""The table of pods (`printPod` upstream)."""

from __future__ import annotations

from typing import Any, Final

from kubesched.cluster.apiserver.tables.layout import (
    NONE,
    TableLayout,
    age_of,
    columns,
    condition_status,
    name_of,
    since,
)
from kubesched.objects.base import Json


def _row(pod: Json, now: float) -> list[Any]:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    summary = _Summary(pod)
    addresses = status.get("podIPs") or [{}]
    return [
        name_of(pod),
        f"{summary.ready}/{summary.total}",
        summary.reason,
        f"{summary.restarts} ({since(summary.restarted, now)} ago)" if summary.restarted else str(summary.restarts),
        age_of(pod, now),
        addresses[0].get("ip") or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _readiness_gates(pod),
    ]


class _Summary:
    """Ready containers, restarts and the one word that says how a pod is."""

    def __init__(self, pod: Json) -> None:
        spec, status = pod.get("spec") or {}, pod.get("status") or {}
        sidecars = {
            item.get("name") for item in spec.get("initContainers") or () if item.get("restartPolicy") == "Always"
        }
        self.total = len(spec.get("containers") or ()) + len(sidecars)
        self.ready = 0
        self.restarts = 0
        self.restarted = ""
        self.reason = status.get("reason") or status.get("phase", "")
        for condition in status.get("conditions") or ():
            if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
                self.reason = "SchedulingGated"
        initializing = self._read_init(status.get("initContainerStatuses") or (), spec, sidecars)
        if not initializing or condition_status(pod, "Initialized") == "True":
            self._read_containers(pod, status.get("containerStatuses") or ())
        if pod["metadata"].get("deletionTimestamp"):
            if status.get("reason") == "NodeLost":
                self.reason = "Unknown"
            elif status.get("phase") not in ("Succeeded", "Failed"):
                self.reason = "Terminating"

    def _read_init(self, statuses: Any, spec: Json, sidecars: set[str]) -> bool:
        for index, container in enumerate(statuses):
            state = container.get("state") or {}
            terminated, waiting = state.get("terminated"), state.get("waiting")
            self._count_restarts(container)
            if terminated is not None and not terminated.get("exitCode"):
                continue
            if container.get("name") in sidecars and container.get("started"):
                self.ready += bool(container.get("ready"))
                continue
            if terminated is not None:
                self.reason = f"Init:{_terminated_reason(terminated)}"
            elif waiting is not None and waiting.get("reason") not in (None, "", "PodInitializing"):
                self.reason = f"Init:{waiting['reason']}"
            else:
                self.reason = f"Init:{index}/{len(spec.get('initContainers') or ())}"
            return True
        return False

    def _read_containers(self, pod: Json, statuses: Any) -> None:
        running, error = False, ""
        for container in reversed(statuses):
            state = container.get("state") or {}
            terminated, waiting = state.get("terminated"), state.get("waiting")
            self._count_restarts(container)
            if waiting is not None and waiting.get("reason"):
                self.reason = waiting["reason"]
            elif terminated is not None:
                self.reason = _terminated_reason(terminated)
                error = self.reason if terminated.get("exitCode") else error
            elif container.get("ready") and "running" in state:
                running = True
                self.ready += 1
        if self.reason == "Completed":
            if running and condition_status(pod, "Ready") == "True":
                self.reason = "Running"
            elif error:
                self.reason = error
            elif running:
                self.reason = "NotReady"

    def _count_restarts(self, container: Json) -> None:
        self.restarts += container.get("restartCount", 0)
        last = ((container.get("lastState") or {}).get("terminated") or {}).get("finishedAt") or ""
        self.restarted = max(self.restarted, last)


def _terminated_reason(terminated: Json) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _readiness_gates(pod: Json) -> str:
    gates = (pod.get("spec") or {}).get("readinessGates") or ()
    passed = sum(condition_status(pod, gate.get("conditionType", "")) == "True" for gate in gates)
    return f"{passed}/{len(gates)}" if gates else NONE


PODS: Final = TableLayout(
    columns(
        "Name",
        "Ready",
        "Status",
        "Restarts",
        "Age",
        wide=("IP", "Node", "Nominated Node", "Readiness Gates"),
    ),
    _row,
)
