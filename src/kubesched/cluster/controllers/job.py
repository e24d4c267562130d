"""Job: pods that run to completion, a number of them in total and a number of them at a time.

A pod keeps a finalizer until its end is counted in the Job's status, so that none is forgotten when pods are deleted.
Count and finalizer change in one go: nothing can come between them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from kubesched.cluster.controllers import conditions
from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.controllers.controller_refs import ControllerRefs
from kubesched.cluster.controllers.job_indexes import compact, index_of, missing_indexes, parse_indexes
from kubesched.cluster.controllers.pod_making import pod_from
from kubesched.cluster.local_events import EventWriter
from kubesched.cluster.records import PodRecord, WorkloadRecord
from kubesched.objects.base import Json

NAME: Final = "job"
KIND: Final = "Job"
FINALIZER: Final = "batch.kubernetes.io/job-tracking"
INDEX: Final = "batch.kubernetes.io/job-completion-index"
FIRST_BACKOFF: Final = 10.0
LONGEST_BACKOFF: Final = 600.0
BURST: Final = 50


class JobController:
    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._events = EventWriter(context.api, "job-controller")
        self._resource = context.jobs.resource
        self._pods = context.pods.resource
        self._controller_refs = ControllerRefs(context, self._resource, context.owned_pods)
        self._backoff: dict[str, tuple[int, float]] = {}  # by uid: failures in a row, no new pod before
        context.wake(NAME, context.jobs, context.pods)
        context.jobs.listen(self._job_gone)

    def reconcile(self, namespace: str, name: str) -> None:
        job = self._context.jobs.get(name, namespace)
        if job is None:
            return
        if verdict := _verdict(job.status):
            self._finish(job, verdict)
            return
        self._controller_refs.settle(job)
        pods = self._context.owned_pods.of[job.metadata.uid]
        self._count_finished(job, pods)
        status: Json = self._context.api.get(self._resource, name, namespace).get("status") or {}
        active = [pod for pod in pods if pod.is_active]
        if failure := self._failure(job, status, active):
            self._end(job, active, "Failed", *failure)
        elif job.spec.get("suspend"):
            self._suspend(job, active)
        elif _is_done(job, status, active):
            self._end(job, active, "Complete", "CompletionsReached", "Reached expected number of succeeded pods")
        elif job.metadata.deletion_timestamp is None:
            self._run(job, status, pods, active)

    def _count_finished(self, job: WorkloadRecord, pods: list[PodRecord]) -> None:
        ended = [pod for pod in pods if FINALIZER in pod.metadata.finalizers and _has_ended(job, pod)]
        if not ended:
            return
        succeeded = [pod for pod in ended if pod.status.phase == "Succeeded"]
        failed = len(ended) - len(succeeded)
        indexed = job.spec.get("completionMode") == "Indexed"

        def count(status: Json) -> None:
            if failed:
                status["failed"] = status.get("failed", 0) + failed
            if indexed:
                done = parse_indexes(status.get("completedIndexes", "")) | {index_of(pod) for pod in succeeded}
                done &= set(range(job.spec.get("completions") or 0))
                status["completedIndexes"], status["succeeded"] = compact(done), len(done)
            elif succeeded:
                status["succeeded"] = status.get("succeeded", 0) + len(succeeded)

        self._context.set_status(self._resource, job.metadata, count)
        for pod in ended:
            self._release(pod)
        self._note_failures(job, failed, bool(succeeded))

    def _release(self, pod: PodRecord) -> None:
        def release(value: Json) -> None:
            left = [item for item in value["metadata"].get("finalizers") or () if item != FINALIZER]
            value["metadata"]["finalizers"] = left

        self._context.change(self._pods, pod.metadata, release)

    def _note_failures(self, job: WorkloadRecord, failed: int, succeeded: bool) -> None:
        uid = job.metadata.uid
        if succeeded or not failed:
            self._backoff.pop(uid, None)
            return
        count = self._backoff.get(uid, (0, 0.0))[0] + failed
        delay = min(LONGEST_BACKOFF, FIRST_BACKOFF * 2 ** min(count - 1, 10))
        self._backoff[uid] = (count, self._context.clock.monotonic() + delay)

    def _failure(self, job: WorkloadRecord, status: Json, active: list[PodRecord]) -> tuple[str, str] | None:
        restarts = sum(item.restart_count for pod in active for item in pod.status.container_statuses)
        limit = job.spec.get("backoffLimit", 6)
        if status.get("failed", 0) > limit or (restarts and restarts >= max(limit, 1)):
            return "BackoffLimitExceeded", "Job has reached the specified backoff limit"
        deadline, started = job.spec.get("activeDeadlineSeconds"), status.get("startTime")
        if deadline is not None and started:
            left = deadline - (self._context.now() - datetime.fromisoformat(started)).total_seconds()
            if left <= 0:
                return "DeadlineExceeded", "Job was active longer than specified deadline"
            self._context.enqueue(NAME, job.metadata, after=left)
        return None

    def _run(self, job: WorkloadRecord, status: Json, pods: list[PodRecord], active: list[PodRecord]) -> None:
        wanted = _wanted_active(job, status, active) - _still_ending(job, pods)
        surplus = len(active) - wanted
        created = 0
        if surplus > 0:
            for pod in sorted(active, key=lambda pod: (bool(pod.spec.node_name), pod.is_ready))[:surplus]:
                self._context.delete(self._pods, pod.metadata)
        elif surplus < 0 and (wait := self._waits(job)) > 0:
            self._context.enqueue(NAME, job.metadata, after=wait)
        elif surplus < 0:
            created = self._create(job, status, active, min(-surplus, BURST))
        self._report(job, active, created)

    def _waits(self, job: WorkloadRecord) -> float:
        return self._backoff.get(job.metadata.uid, (0, 0.0))[1] - self._context.clock.monotonic()

    def _create(self, job: WorkloadRecord, status: Json, active: list[PodRecord], count: int) -> int:
        indexes: list[int] | None = None
        if job.spec.get("completionMode") == "Indexed":
            taken = parse_indexes(status.get("completedIndexes", "")) | {index_of(pod) for pod in active}
            indexes = missing_indexes(job.spec.get("completions") or 0, taken, count)
            count = len(indexes)
        for number in range(count):
            pod = pod_from(job.spec["template"], self._resource, job.metadata)
            metadata = pod["metadata"]
            metadata["finalizers"] = [*metadata.get("finalizers", ()), FINALIZER]
            if indexes is not None:
                index = str(indexes[number])
                metadata.setdefault("annotations", {})[INDEX] = index
                metadata.setdefault("labels", {})[INDEX] = index
                metadata["generateName"] = f"{job.metadata.name}-{index}-"
                pod["spec"].setdefault("hostname", f"{job.metadata.name}-{index}"[:63])
            made = self._context.api.create(self._pods, pod, job.metadata.namespace)
            message = f"Created pod: {made.name}"
            self._events.normal(KIND, job.metadata, "SuccessfulCreate", message, api_version="batch/v1")
        return count

    def _report(self, job: WorkloadRecord, active: list[PodRecord], created: int) -> None:
        now = self._context.timestamp()
        ready = sum(pod.is_ready for pod in active)

        def change(status: Json) -> None:
            status.setdefault("startTime", now)
            status["ready"] = ready
            status.setdefault("uncountedTerminatedPods", {})
            _set_count(status, "active", len(active) + created)
            if conditions.find(status, "Suspended"):
                resumed = {"type": "Suspended", "status": "False", "reason": "JobResumed", "message": "Job resumed"}
                conditions.put(status, {**resumed, "lastProbeTime": now}, now)

        self._context.set_status(self._resource, job.metadata, change)

    def _suspend(self, job: WorkloadRecord, active: list[PodRecord]) -> None:
        for pod in active:
            self._context.delete(self._pods, pod.metadata)
        now = self._context.timestamp()

        def change(status: Json) -> None:
            status.pop("startTime", None)
            status["ready"] = 0
            _set_count(status, "active", 0)
            suspended = conditions.find(status, "Suspended")
            if suspended is None or suspended["status"] != "True":
                told = {"type": "Suspended", "status": "True", "reason": "JobSuspended", "message": "Job suspended"}
                conditions.put(status, {**told, "lastProbeTime": now}, now)

        self._context.set_status(self._resource, job.metadata, change)

    def _end(self, job: WorkloadRecord, active: list[PodRecord], verdict: str, reason: str, message: str) -> None:
        """The Job is over: what still runs is ended, and the status says why."""
        for pod in active:
            self._context.delete(self._pods, pod.metadata)
        now = self._context.timestamp()
        first = "SuccessCriteriaMet" if verdict == "Complete" else "FailureTarget"

        def change(status: Json) -> None:
            status.setdefault("startTime", now)
            for kind in (first, verdict):
                condition = {"type": kind, "status": "True", "reason": reason, "message": message}
                conditions.put(status, {**condition, "lastProbeTime": now}, now)
            if verdict == "Complete":
                status["completionTime"] = now
            status["ready"] = 0
            status["uncountedTerminatedPods"] = {}
            _set_count(status, "active", 0)

        self._context.set_status(self._resource, job.metadata, change)
        if verdict == "Complete":
            self._events.normal(KIND, job.metadata, "Completed", "Job completed", api_version="batch/v1")
        else:
            self._events.warning(KIND, job.metadata, reason, message, api_version="batch/v1")
        self._context.enqueue(NAME, job.metadata)

    def _finish(self, job: WorkloadRecord, verdict: Json) -> None:
        """After the end: let go of the pods, and of the Job itself when its time to live is over."""
        for pod in self._context.owned_pods.of[job.metadata.uid]:
            if FINALIZER in pod.metadata.finalizers and not pod.is_active:
                self._release(pod)
        lifetime = job.spec.get("ttlSecondsAfterFinished")
        if lifetime is None or job.metadata.deletion_timestamp is not None:
            return
        ended = datetime.fromisoformat(verdict["lastTransitionTime"])
        left = lifetime - (self._context.now() - ended).total_seconds()
        if left > 0:
            self._context.enqueue(NAME, job.metadata, after=left)
        else:
            self._context.delete(self._resource, job.metadata, propagation="Foreground")

    def _job_gone(self, old: WorkloadRecord | None, new: WorkloadRecord | None) -> None:
        if old is not None and new is None:
            self._backoff.pop(old.metadata.uid, None)


def _verdict(status: Json) -> Json | None:
    """The condition that says that the Job is over."""
    for kind in ("Complete", "Failed"):
        found = conditions.find(status, kind)
        if found is not None and found["status"] == "True":
            return found
    return None


def _has_ended(job: WorkloadRecord, pod: PodRecord) -> bool:
    if pod.is_finished:
        return True
    replaces_early = job.spec.get("podReplacementPolicy") != "Failed"
    return pod.metadata.deletion_timestamp is not None and (replaces_early or not pod.spec.node_name)


def _still_ending(job: WorkloadRecord, pods: list[PodRecord]) -> int:
    """Pods that hold their place until they have failed for good."""
    if job.spec.get("podReplacementPolicy") != "Failed":
        return 0
    return sum(pod.metadata.deletion_timestamp is not None and not pod.is_finished for pod in pods)


def _is_done(job: WorkloadRecord, status: Json, active: list[PodRecord]) -> bool:
    completions, succeeded = job.spec.get("completions"), int(status.get("succeeded", 0))
    if completions is None:  # a queue of work: the first success says that it is empty
        return succeeded > 0 and not active
    return succeeded >= int(completions)


def _wanted_active(job: WorkloadRecord, status: Json, active: list[PodRecord]) -> int:
    parallelism, completions = job.spec.get("parallelism", 1), job.spec.get("completions")
    succeeded = status.get("succeeded", 0)
    if completions is None:
        return len(active) if succeeded else int(parallelism)
    return int(min(parallelism, completions - succeeded))


def _set_count(status: Json, key: str, value: int) -> None:
    if value:
        status[key] = value
    else:
        status.pop(key, None)
