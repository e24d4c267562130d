"""What a kubelet reports of a pod at each stage of its life. All functions change the pod in place.

bound ──► creating ──► running ──► ready ──► finished
                          ▲  └── failed container: waits, then runs again ──┐
                          └───────────────────────────────────────────────-┘
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final

from kubesched.objects.base import Json
from kubesched.objects.pod import RUN_SECONDS

EXIT_CODE: Final = "kubesched.io/exit-code"
_CONDITIONS: Final = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")


def creating(pod: Json, *, host_ip: str, now: str) -> None:
    """The kubelet has taken the pod and pulls its images."""
    status = _begin(pod)
    status |= {"phase": "Pending", "hostIP": host_ip, "hostIPs": [{"ip": host_ip}], "startTime": now}
    init = list(_init_containers(pod))
    waiting = {"waiting": {"reason": "PodInitializing" if init else "ContainerCreating"}}
    status["containerStatuses"] = [_container(item, waiting) for item in pod["spec"]["containers"]]
    if init:
        status["initContainerStatuses"] = [_container(item, waiting) for item in init]
    unready = {"reason": "ContainersNotReady", "message": f"containers with unready status: {_names(pod)}"}
    initialized = {"status": "False" if init else "True"}
    _set_conditions(
        status,
        now,
        PodReadyToStartContainers={"status": "False"},
        Initialized=initialized,
        Ready={"status": "False"} | unready,
        ContainersReady={"status": "False"} | unready,
    )


def running(pod: Json, *, pod_ip: str, now: str, ready: bool) -> None:
    """All containers run; init containers have done their part."""
    status = _begin(pod)
    ip = status.get("hostIP", pod_ip) if pod["spec"].get("hostNetwork") else pod_ip
    status |= {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}]}
    counts = {item["name"]: item.get("restartCount", 0) for item in status.get("containerStatuses") or ()}
    state = {"running": {"startedAt": now}}
    status["containerStatuses"] = [
        _container(item, state, ready=ready, restarts=counts.get(item["name"], 0), pod=pod)
        for item in pod["spec"]["containers"]
    ]
    done = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}}
    init = [
        _container(item, state if item.get("restartPolicy") == "Always" else done, ready=True, pod=pod)
        for item in _init_containers(pod)
    ]
    if init:
        status["initContainerStatuses"] = init
    _set_conditions(status, now, PodReadyToStartContainers={"status": "True"}, Initialized={"status": "True"})
    set_ready(pod, now=now, ready=ready)


def set_ready(pod: Json, *, now: str, ready: bool) -> None:
    """The readiness probes have answered, or the node has failed."""
    status = _begin(pod)
    condition: Json = {"status": "True"}
    if not ready:
        message = f"containers with unready status: {_names(pod)}"
        condition = {"status": "False", "reason": "ContainersNotReady", "message": message}
    for item in status.get("containerStatuses") or ():
        item["ready"] = ready
    _set_conditions(status, now, Ready=condition, ContainersReady=dict(condition))


def finished(pod: Json, *, now: str, exit_code: int) -> None:
    """All containers have ended for good."""
    status = _begin(pod)
    status["phase"] = "Failed" if exit_code else "Succeeded"
    for item in status.get("containerStatuses") or ():
        item["state"] = {"terminated": _terminated(item, now, exit_code)}
        item |= {"ready": False, "started": False}
    reason = {"status": "False", "reason": "PodFailed" if exit_code else "PodCompleted"}
    initialized = {"status": "True"} if exit_code else {"status": "True", "reason": "PodCompleted"}
    _set_conditions(
        status,
        now,
        PodReadyToStartContainers={"status": "False"},
        Initialized=initialized,
        Ready=reason,
        ContainersReady=dict(reason),
    )


def waiting_to_restart(pod: Json, *, now: str, exit_code: int, delay: float) -> int:
    """The containers have failed and will run again; returns how often they have failed by now."""
    restarts = 0
    for item in _begin(pod).get("containerStatuses") or ():
        item["restartCount"] = restarts = item.get("restartCount", 0) + 1
        item["lastState"] = {"terminated": _terminated(item, now, exit_code)}
        message = f"back-off {int(delay)}s restarting failed container={item['name']}"
        item["state"] = {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
        item["started"] = False
    set_ready(pod, now=now, ready=False)
    return restarts


def restart_count(pod: Json) -> int:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return max((item.get("restartCount", 0) for item in statuses), default=0)


def run_seconds(pod: Json, of_a_job: float) -> float | None:
    """How long the pod's containers run; None: until somebody ends them."""
    text = (pod["metadata"].get("annotations") or {}).get(RUN_SECONDS)
    if text is not None:
        try:
            return max(0.0, float(text))
        except ValueError:
            return None
    owners = pod["metadata"].get("ownerReferences") or ()
    return of_a_job if any(owner.get("kind") == "Job" for owner in owners) else None


def exit_code(pod: Json) -> int:
    """What the containers end with: 0, or what the annotation says."""
    text = (pod["metadata"].get("annotations") or {}).get(EXIT_CODE, "0")
    return int(text) % 256 if text.isascii() and text.isdecimal() else 0


def readiness_delay(pod: Json) -> float | None:
    """The longest initial delay of the readiness probes; None if the pod has none."""
    probes = [item["readinessProbe"] for item in pod["spec"]["containers"] if item.get("readinessProbe")]
    return max((float(probe.get("initialDelaySeconds") or 0) for probe in probes), default=None)


def images(pod: Json) -> Iterator[str]:
    for item in (*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"]):
        yield item["image"]


def _begin(pod: Json) -> Json:
    status: Json = pod.setdefault("status", {})
    if generation := pod["metadata"].get("generation"):
        status["observedGeneration"] = generation
    return status


def _init_containers(pod: Json) -> list[Json]:
    return pod["spec"].get("initContainers") or []


def _names(pod: Json) -> str:
    return f"[{' '.join(item['name'] for item in pod['spec']['containers'])}]"


def _container(
    container: Json, state: Json, *, ready: bool = False, restarts: int = 0, pod: Json | None = None
) -> Json:
    status = {
        "name": container["name"],
        "state": state,
        "lastState": {},
        "ready": ready,
        "restartCount": restarts,
        "image": container["image"],
        "imageID": "",
        "started": "running" in state,
    }
    if pod is not None:
        status["imageID"] = f"{container['image']}@sha256:{hashlib.sha256(container['image'].encode()).hexdigest()}"
        identity = f"{pod['metadata']['uid']}/{container['name']}/{restarts}"
        status["containerID"] = f"simulated://{hashlib.sha256(identity.encode()).hexdigest()}"
    return status


def _terminated(item: Json, now: str, code: int) -> Json:
    started = ((item.get("state") or {}).get("running") or {}).get("startedAt", now)
    ended = {"exitCode": code, "reason": "Error" if code else "Completed", "startedAt": started, "finishedAt": now}
    return ended | ({"containerID": item["containerID"]} if "containerID" in item else {})


def _set_conditions(status: Json, now: str, **wanted: Json) -> None:
    """Conditions in a kubelet's order; one that keeps its status keeps its time."""
    known = {item["type"]: item for item in status.get("conditions") or ()}
    for kind, condition in wanted.items():
        old = known.get(kind)
        keeps = old is not None and old.get("status") == condition["status"]
        changed_at = old.get("lastTransitionTime", now) if old is not None and keeps else now
        known[kind] = {"type": kind, "lastProbeTime": None, "lastTransitionTime": changed_at} | condition
    ours = [known.pop(kind) for kind in _CONDITIONS if kind in known]
    status["conditions"] = ours + list(known.values())
