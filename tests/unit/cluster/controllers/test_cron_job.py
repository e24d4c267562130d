"""CronJobs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kubesched.cluster.controllers.cron_times import NoTimeError, passed_times, until_next
from kubesched.cluster.cron import parse_schedule
from kubesched.objects.base import Json

CRON_JOB = """
apiVersion: batch/v1
kind: CronJob
metadata: {name: c}
spec:
  %s
  jobTemplate:
    metadata: {labels: {of: cron}}
    spec:
      backoffLimit: 0
      template:
        metadata: {annotations: {kubesched.io/run-seconds: "%d", kubesched.io/exit-code: "%d"}}
        spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}
"""


def cron_job(fields: str = 'schedule: "* * * * *"', seconds: int = 5, code: int = 0) -> str:
    return CRON_JOB % (fields.replace("\n", "\n  "), seconds, code)


def status(rig: Any) -> Json:
    found: Json = rig.get("cronjobs.batch", "c").get("status") or {}
    return found


async def to_the_minute(rig: Any) -> None:
    await rig.advance(60 - rig.clock.time() % 60 + 0.5)


async def test_a_job_starts_at_its_time(rig: Any) -> None:
    """Named after the minute, owned and labelled; the status says that it runs, and later that it succeeded."""
    rig.apply(cron_job('schedule: "* * * * *"\ntimeZone: Asia/Kolkata'))
    assert not rig.names("jobs.batch")
    await to_the_minute(rig)
    minute = int(rig.clock.time()) // 60
    job = rig.get("jobs.batch", f"c-{minute}")
    scheduled = datetime.fromtimestamp(minute * 60, UTC)
    assert job["metadata"]["labels"]["of"] == "cron"
    assert job["metadata"]["ownerReferences"][0]["kind"] == "CronJob"
    stamp = job["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"]
    assert stamp.endswith("+05:30")
    assert datetime.fromisoformat(stamp) == scheduled
    assert [item["name"] for item in status(rig)["active"]] == [f"c-{minute}"]
    assert status(rig)["lastScheduleTime"] == scheduled.strftime("%Y-%m-%dT%H:%M:%SZ")
    await rig.advance(8)
    job = rig.get("jobs.batch", f"c-{minute}")
    assert "active" not in status(rig)
    assert status(rig)["lastSuccessfulTime"] == job["status"]["completionTime"]
    assert rig.reasons("c") == ["SuccessfulCreate", "SawCompletedJob"]


async def test_only_the_last_jobs_are_kept(rig: Any) -> None:
    """As many as the limits say; their pods go with them."""
    rig.apply(cron_job('schedule: "* * * * *"\nsuccessfulJobsHistoryLimit: 1'))
    for _ in range(3):
        await to_the_minute(rig)
    await rig.advance(10)
    minute = int(rig.clock.time()) // 60
    assert rig.names("jobs.batch") == [f"c-{minute}"]
    assert len(rig.names("pods")) == 1
    assert rig.reasons("c").count("SuccessfulDelete") == 2


async def test_failed_jobs_have_a_limit_of_their_own(rig: Any) -> None:
    """None is kept here, and none counts as a success."""
    rig.apply(cron_job('schedule: "* * * * *"\nfailedJobsHistoryLimit: 0', code=1))
    await to_the_minute(rig)
    await rig.advance(15)
    assert not rig.names("jobs.batch")
    assert "lastSuccessfulTime" not in status(rig)


@pytest.mark.parametrize(
    ("policy", "running", "reason"),
    [
        pytest.param("Allow", 2, "SuccessfulCreate", id="side by side"),
        pytest.param("Forbid", 1, "JobAlreadyActive", id="one after the other"),
        pytest.param("Replace", 1, "SuccessfulDelete", id="the new one instead of the old"),
    ],
)
async def test_a_job_that_runs_longer_than_the_interval(rig: Any, policy: str, running: int, reason: str) -> None:
    """The policy decides what becomes of the next one."""
    rig.apply(cron_job(f'schedule: "* * * * *"\nconcurrencyPolicy: {policy}', seconds=1000))
    await to_the_minute(rig)
    first = rig.names("jobs.batch")
    await to_the_minute(rig)
    jobs = rig.names("jobs.batch")
    assert [item["name"] for item in status(rig)["active"]] == jobs
    assert len(jobs) == running
    assert (first[0] in jobs) is (policy != "Replace")
    assert reason in rig.reasons("c")


async def test_a_suspended_cron_job_starts_nothing(rig: Any) -> None:
    """Resumed, it starts the last time that it missed: once."""
    rig.apply(cron_job('schedule: "* * * * *"\nsuspend: true'))
    for _ in range(2):
        await to_the_minute(rig)
    assert not rig.names("jobs.batch")
    rig.change("cronjobs.batch", "c", lambda value: value["spec"].update(suspend=False))
    await rig.advance(1)
    assert rig.names("jobs.batch") == [f"c-{int(rig.clock.time()) // 60}"]


async def test_a_time_that_was_missed_by_more_than_the_deadline(rig: Any) -> None:
    """It is left out; the next one comes."""
    rig.apply(cron_job('schedule: "* * * * *"\nsuspend: true\nstartingDeadlineSeconds: 10'))
    await to_the_minute(rig)
    await rig.advance(15)
    rig.change("cronjobs.batch", "c", lambda value: value["spec"].update(suspend=False))
    await rig.advance(1)
    assert not rig.names("jobs.batch")
    await to_the_minute(rig)
    assert len(rig.names("jobs.batch")) == 1


async def test_a_schedule_is_changed(rig: Any) -> None:
    """The old times no longer count."""
    rig.apply(cron_job('schedule: "@yearly"'))
    await rig.advance(1)
    rig.change("cronjobs.batch", "c", lambda value: value["spec"].update(schedule="* * * * *"))
    await to_the_minute(rig)
    assert len(rig.names("jobs.batch")) == 1


async def test_a_job_that_is_refused_is_tried_again(rig: Any) -> None:
    """A quota that is in the way says so in an event; without it, the Job starts."""
    quota = "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {count/jobs.batch: '0'}}}"
    rig.apply(quota)
    await rig.advance(1)
    rig.apply(cron_job())
    await to_the_minute(rig)
    assert not rig.names("jobs.batch")
    assert "FailedCreate" in rig.reasons("c")
    rig.api.delete(rig.api.catalog.named("resourcequotas"), "q", "default")
    await rig.advance(30)
    assert len(rig.names("jobs.batch")) == 1


async def test_a_job_that_somebody_deletes_is_missed(rig: Any) -> None:
    """It is no longer active, and is not started again."""
    rig.apply(cron_job(seconds=1000))
    await to_the_minute(rig)
    rig.api.delete(rig.api.catalog.named("jobs.batch"), rig.names("jobs.batch")[0], "default")
    await rig.advance(5)
    assert not rig.names("jobs.batch")
    assert "active" not in status(rig)
    assert "MissingJob" in rig.reasons("c")


async def test_a_schedule_that_never_comes(rig: Any) -> None:
    """An event says so."""
    rig.apply(cron_job('schedule: "0 0 30 2 *"'))
    await rig.advance(1)
    assert rig.reasons("c") == ["InvalidSchedule"]


def moment(text: str) -> datetime:
    return datetime.fromisoformat(f"2026-01-{text}+00:00")


@pytest.mark.parametrize(
    ("schedule", "since", "now", "last", "count"),
    [
        pytest.param("0 * * * *", "01 00:30", "01 00:59", None, 0, id="none yet"),
        pytest.param("0 * * * *", "01 00:30", "01 01:00", "01 01:00", 1, id="the first, on the second"),
        pytest.param("0 * * * *", "01 00:30", "01 05:10", "01 05:00", 5, id="the last of a few"),
        pytest.param("0 * * * *", "01 00:30", "11 00:00", "11 00:00", 240, id="the last of many"),
        pytest.param("0 0 * * 1-5", "01 12:00", "06 12:00", "06 00:00", 2, id="times that are not evenly spaced"),
    ],
)
def test_times_that_have_passed(schedule: str, since: str, now: str, last: str | None, count: int) -> None:
    """The last one, and about how many."""
    passed = passed_times(parse_schedule(schedule), moment(since), moment(now))
    assert passed.last == (moment(last) if last else None)
    assert passed.count == count


def test_the_time_until_the_next_one() -> None:
    """A little late, so that it has surely come; an error if there is none."""
    assert until_next(parse_schedule("0 * * * *"), moment("01 00:00"), moment("01 00:59")) == 60.1
    with pytest.raises(NoTimeError):
        until_next(parse_schedule("0 0 30 2 *"), moment("01 00:00"), moment("01 00:59"))
