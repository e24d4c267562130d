"""CronJobs: their schedule, their time zone and the Jobs that they make (`validateCronJobSpec` upstream)."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.apiserver.problems import Problem, invalid, required, unsupported
from kubesched.cluster.apiserver.validation.workloads import job_spec_problems, non_negative
from kubesched.cluster.cron import InvalidScheduleError, load_zone, parse_schedule
from kubesched.objects.base import Json

LONGEST_NAME: Final = 52  # a Job's name has eleven characters more, and a label holds it
POLICIES: Final = ("Allow", "Forbid", "Replace")
_EXPLICIT: Final = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"


def cron_job_problems(cron_job: Json) -> list[Problem]:
    spec = cron_job.get("spec") or {}
    problems = _schedule(spec)
    problems += non_negative(spec, "spec", "startingDeadlineSeconds")
    problems += _time_zone(spec.get("timeZone"))
    if spec.get("concurrencyPolicy") not in POLICIES:
        problems.append(unsupported("spec.concurrencyPolicy", spec.get("concurrencyPolicy", ""), POLICIES))
    problems += _job_template((spec.get("jobTemplate") or {}).get("spec") or {})
    problems += non_negative(spec, "spec", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")
    name = cron_job["metadata"].get("name", "")
    if len(name) > LONGEST_NAME:
        problems.append(invalid("metadata.name", name, f"must be no more than {LONGEST_NAME} characters"))
    return problems


def _schedule(spec: Json) -> list[Problem]:
    schedule, path = spec.get("schedule", ""), "spec.schedule"
    if not schedule:
        return [required(path)]
    problems: list[Problem] = []
    try:
        parse_schedule(schedule)
    except InvalidScheduleError as error:
        problems.append(invalid(path, schedule, str(error)))
    if "TZ" in schedule:
        problems.append(invalid(path, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"))
    return problems


def _time_zone(zone: str | None) -> list[Problem]:
    path = "spec.timeZone"
    if zone is None:
        return []
    if not zone:
        return [invalid(path, zone, "timeZone must be nil or non-empty string")]
    problems = [invalid(path, zone, _EXPLICIT)] if zone.lower() == "local" else []
    if zone == "Local":  # which Go knows
        return problems
    try:
        load_zone(zone)
    except InvalidScheduleError as error:
        problems.append(invalid(path, zone, str(error)))
    return problems


def _job_template(spec: Json) -> list[Problem]:
    path = "spec.jobTemplate.spec"
    problems = job_spec_problems(spec, path, needs_selector=False)
    if spec.get("selector") is not None:
        problems.append(invalid(f"{path}.selector", spec["selector"], "`selector` will be auto-generated"))
    if spec.get("manualSelector"):
        problems.append(unsupported(f"{path}.manualSelector", True, ("nil", "false")))
    return problems
