"""CronJob: a Job at every time of a schedule, and only the last few of those that are over."""

from __future__ import annotations

import copy
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Final

from kubesched.cluster.controllers import conditions
from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.controllers.cron_times import TOO_MANY, NoTimeError, passed_times, until_next
from kubesched.cluster.cron import Interval, InvalidScheduleError, Schedule, load_zone, parse_schedule
from kubesched.cluster.local_events import EventWriter
from kubesched.cluster.records import WorkloadRecord, owner_reference
from kubesched.errors import RequestRefusedError
from kubesched.objects.base import Json

NAME: Final = "cronjob"
KIND: Final = "CronJob"
SCHEDULED: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_MANY_MISSED: Final = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"


class CronJobController:
    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._events = EventWriter(context.api, "cronjob-controller")
        self._resource = context.cron_jobs.resource
        self._jobs = context.jobs.resource
        context.wake(NAME, context.cron_jobs, context.jobs)

    def reconcile(self, namespace: str, name: str) -> None:
        cron_job = self._context.cron_jobs.get(name, namespace)
        if cron_job is None:
            return
        status, jobs = copy.deepcopy(cron_job.status), self._context.owned_jobs.of[cron_job.metadata.uid]
        try:
            self._forget_old(cron_job, status, jobs)
            self._note_ends(cron_job, status, jobs)
            if cron_job.metadata.deletion_timestamp is None and not cron_job.spec.get("suspend"):
                self._start_due(cron_job, status)
        finally:  # also when a Job is refused: what was seen is noted, and the attempt is repeated
            self._context.set_status(self._resource, cron_job.metadata, lambda value: _become(value, status))

    def _forget_old(self, cron_job: WorkloadRecord, status: Json, jobs: list[WorkloadRecord]) -> None:
        """Of the Jobs that are over, keep as many as the limits say: those that started last."""
        for verdict, limit in (("Complete", "successfulJobsHistoryLimit"), ("Failed", "failedJobsHistoryLimit")):
            if cron_job.spec.get(limit) is None:
                continue
            ended = sorted((job for job in jobs if _verdict(job) == verdict), key=_by_start)
            for job in ended[: max(0, len(ended) - int(cron_job.spec[limit]))]:
                self._delete(cron_job, status, job)

    def _note_ends(self, cron_job: WorkloadRecord, status: Json, jobs: list[WorkloadRecord]) -> None:
        active = {item["uid"]: item for item in status.get("active") or ()}
        for job in jobs:
            name, verdict = job.metadata.name, _verdict(job)
            if not verdict:
                if job.metadata.uid not in active:
                    self._warn(
                        cron_job, "UnexpectedJob", f"Saw a job that the controller did not create or forgot: {name}"
                    )
                continue
            if job.metadata.uid in active:
                _remove_active(status, job.metadata.uid)
                self._tell(cron_job, "SawCompletedJob", f"Saw completed job: {name}, condition: {verdict}")
            done = job.status.get("completionTime")
            if verdict == "Complete" and done and done > status.get("lastSuccessfulTime", ""):
                status["lastSuccessfulTime"] = done
        for uid in active.keys() - {job.metadata.uid for job in jobs}:
            self._tell(cron_job, "MissingJob", f"Active job went missing: {active[uid]['name']}")
            _remove_active(status, uid)

    def _start_due(self, cron_job: WorkloadRecord, status: Json) -> None:
        schedule = self._schedule(cron_job)
        if schedule is None:
            return
        now = self._context.now()
        try:
            if (due := self._due(cron_job, status, schedule, now)) is not None:
                self._start(cron_job, status, due)
            wait = until_next(schedule, _since(cron_job, status), now)
        except NoTimeError as error:
            self._warn(cron_job, "InvalidSchedule", f"invalid schedule: {cron_job.spec['schedule']} : {error}")
            return
        if wait is not None:
            self._context.enqueue(NAME, cron_job.metadata, after=wait)

    def _schedule(self, cron_job: WorkloadRecord) -> Schedule | Interval | None:
        text, zone = cron_job.spec["schedule"], cron_job.spec.get("timeZone") or ""
        try:
            return parse_schedule(text, zone)
        except InvalidScheduleError as error:  # a zone that another machine knew, with the data directory of that one
            self._warn(cron_job, "UnparseableSchedule", f'unparseable schedule: "{text}" : {error}')
            return None

    def _due(
        self, cron_job: WorkloadRecord, status: Json, schedule: Schedule | Interval, now: datetime
    ) -> datetime | None:
        """The time whose Job has to be started now; None if there is none, or if it may not be."""
        since, deadline = _since(cron_job, status), cron_job.spec.get("startingDeadlineSeconds")
        if deadline is not None:
            since = max(since, now - timedelta(seconds=deadline))
        passed = passed_times(schedule, since, now)
        due = passed.last
        if due is None:
            return None
        if passed.count > TOO_MANY:
            self._warn(cron_job, "TooManyMissedTimes", _MANY_MISSED)
        if deadline is not None and due + timedelta(seconds=deadline) < now:
            self._warn(cron_job, "MissSchedule", f"Missed scheduled time to start a job: {format_datetime(due)}")
            return None
        active = status.get("active") or ()
        if _timestamp(due) == status.get("lastScheduleTime") or _job_name(cron_job, due) in {j["name"] for j in active}:
            return None
        if active and cron_job.spec.get("concurrencyPolicy") == "Forbid":
            why = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self._tell(cron_job, "JobAlreadyActive", why)
            return None
        return due

    def _start(self, cron_job: WorkloadRecord, status: Json, due: datetime) -> None:
        if cron_job.spec.get("concurrencyPolicy") == "Replace":
            for job in self._context.owned_jobs.of[cron_job.metadata.uid]:
                if job.metadata.uid in {item["uid"] for item in status.get("active") or ()}:
                    self._delete(cron_job, status, job)
        namespace, name = cron_job.metadata.namespace, _job_name(cron_job, due)
        try:
            made = self._context.api.create(self._jobs, self._job(cron_job, due), namespace).decode()
            self._tell(cron_job, "SuccessfulCreate", f"Created job {name}")
        except RequestRefusedError as refusal:
            if refusal.reason != "AlreadyExists":
                self._warn(cron_job, "FailedCreate", f"Error creating job: {refusal.message}")
                raise
            made = self._context.api.get(self._jobs, name, namespace)
            if cron_job.metadata.uid not in {item["uid"] for item in made["metadata"].get("ownerReferences") or ()}:
                return
        reference = {"kind": "Job", "apiVersion": "batch/v1", "name": name, "namespace": namespace}
        reference |= {key: made["metadata"][key] for key in ("uid", "resourceVersion")}
        status.setdefault("active", []).append(reference)
        status["lastScheduleTime"] = _timestamp(due)

    def _job(self, cron_job: WorkloadRecord, due: datetime) -> Json:
        template, zone = cron_job.spec["jobTemplate"], load_zone(cron_job.spec.get("timeZone") or "")
        described = template.get("metadata") or {}
        scheduled = due.astimezone(zone).isoformat().replace("+00:00", "Z")
        return {
            "metadata": {
                "name": _job_name(cron_job, due),
                "labels": dict(described.get("labels") or {}),
                "annotations": {**(described.get("annotations") or {}), SCHEDULED: scheduled},
                "ownerReferences": [owner_reference("batch/v1", KIND, cron_job.metadata)],
            },
            "spec": copy.deepcopy(template["spec"]),
        }

    def _delete(self, cron_job: WorkloadRecord, status: Json, job: WorkloadRecord) -> None:
        self._context.delete(self._jobs, job.metadata, propagation="Background")
        _remove_active(status, job.metadata.uid)
        self._tell(cron_job, "SuccessfulDelete", f"Deleted job {job.metadata.name}")

    def _tell(self, cron_job: WorkloadRecord, reason: str, message: str) -> None:
        self._events.normal(KIND, cron_job.metadata, reason, message, api_version="batch/v1")

    def _warn(self, cron_job: WorkloadRecord, reason: str, message: str) -> None:
        self._events.warning(KIND, cron_job.metadata, reason, message, api_version="batch/v1")


def _since(cron_job: WorkloadRecord, status: Json) -> datetime:
    """From when on times count: the last one that was met, or the creation."""
    if last := status.get("lastScheduleTime"):
        return datetime.fromisoformat(last)
    assert cron_job.metadata.creation_timestamp is not None
    return cron_job.metadata.creation_timestamp


def _verdict(job: WorkloadRecord) -> str:
    """How the Job ended; empty as long as it has not."""
    for kind in ("Complete", "Failed"):
        found = conditions.find(job.status, kind)
        if found is not None and found["status"] == "True":
            return kind
    return ""


def _by_start(job: WorkloadRecord) -> tuple[bool, str, str]:
    started = job.status.get("startTime", "")
    return (not started, started, job.metadata.name)


def _job_name(cron_job: WorkloadRecord, due: datetime) -> str:
    return f"{cron_job.metadata.name}-{int(due.timestamp()) // 60}"


def _timestamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _remove_active(status: Json, uid: str) -> None:
    left = [item for item in status.get("active") or () if item["uid"] != uid]
    status.pop("active", None)
    if left:
        status["active"] = left


def _become(value: Json, status: Json) -> None:
    value.clear()
    value.update(status)
