"""Jobs."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched.cluster.controllers.job_indexes import compact, missing_indexes, parse_indexes

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec:
  %s
  template:
    metadata: {annotations: {kubesched.io/run-seconds: "1"%s}}
    spec: {restartPolicy: %s, containers: [{name: c, image: busybox}]}
"""


def job(fields: str = "completions: 1", more: str = "", policy: str = "Never") -> str:
    return JOB % (fields, more, policy)


FAILS = ', kubesched.io/exit-code: "1"'


def verdict(rig: Any) -> dict[str, str]:
    found = rig.get("jobs.batch", "j")["status"].get("conditions") or ()
    return {item["type"]: item["reason"] for item in found if item["status"] == "True"}


async def test_a_job_runs_its_completions_a_few_at_a_time(rig: Any) -> None:
    """Never more active pods than the parallelism; done when all have succeeded."""
    rig.apply(job("completions: 5\n  parallelism: 2"))
    most = 0
    for _ in range(160):
        await rig.advance(0.05)
        most = max(most, sum(pod["status"]["phase"] in ("Pending", "Running") for pod in rig.items("pods")))
    status = rig.get("jobs.batch", "j")["status"]
    assert most == 2
    assert status["succeeded"] == 5
    assert status["completionTime"]
    assert verdict(rig) == {"SuccessCriteriaMet": "CompletionsReached", "Complete": "CompletionsReached"}
    assert all(not pod["metadata"].get("finalizers") for pod in rig.items("pods"))


async def test_a_pod_that_is_deleted_still_counts(rig: Any) -> None:
    """Its finalizer holds a finished pod until the status has it; deletions afterwards change nothing."""
    rig.apply(job("completions: 2\n  parallelism: 2"))
    await rig.advance(2.5)
    for pod in rig.names("pods"):
        rig.api.delete(rig.api.catalog.named("pods"), pod, "default")
    await rig.advance(5)
    assert rig.get("jobs.batch", "j")["status"]["succeeded"] == 2


async def test_an_indexed_job_gives_each_index_a_pod(rig: Any) -> None:
    """Index in annotation, label and name; the status lists the completed ones."""
    rig.apply(job("completionMode: Indexed\n  completions: 3\n  parallelism: 3"))
    await rig.advance(4)
    assert rig.get("jobs.batch", "j")["status"]["completedIndexes"] == "0-2"
    found = {pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"] for pod in rig.items("pods")}
    assert found == {"0", "1", "2"}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        pytest.param("backoffLimit: 0", "BackoffLimitExceeded", id="too many failures"),
        pytest.param("backoffLimit: 5\n  activeDeadlineSeconds: 3", "DeadlineExceeded", id="too long"),
    ],
)
async def test_a_job_fails(rig: Any, fields: str, reason: str) -> None:
    """The condition names the reason, and nothing is left running."""
    rig.apply(job(fields, FAILS))
    await rig.advance(6)
    assert verdict(rig)["Failed"] == reason
    assert all(pod["status"]["phase"] == "Failed" for pod in rig.items("pods"))


async def test_failures_are_tried_again_later(rig: Any) -> None:
    """The next pod comes ten seconds after a failure."""
    rig.apply(job("backoffLimit: 3", FAILS))
    await rig.advance(4)
    assert len(rig.names("pods")) == 1
    await rig.advance(9)
    assert len(rig.names("pods")) == 2


async def test_a_suspended_job_has_no_pods(rig: Any) -> None:
    """Suspending ends the pods, resuming makes new ones."""
    rig.apply(job("suspend: true"))
    await rig.advance(1)
    assert rig.names("pods") == []
    assert verdict(rig) == {"Suspended": "JobSuspended"}
    rig.change("jobs.batch", "j", lambda value: value["spec"].update(suspend=False))
    await rig.advance(4)
    assert "Complete" in verdict(rig)


async def test_a_finished_job_goes_when_its_time_is_over(rig: Any) -> None:
    """`ttlSecondsAfterFinished` removes the job and its pods."""
    rig.apply(job("ttlSecondsAfterFinished: 5"))
    await rig.advance(3)
    assert rig.names("jobs.batch") == ["j"]
    await rig.advance(8)
    assert rig.names("jobs.batch") == []
    assert rig.names("pods") == []


async def test_a_deleted_job_takes_its_running_pods_along(rig: Any) -> None:
    """Nobody counts them any more: their finalizer is taken off."""
    rig.apply(job())
    await rig.advance(1)
    rig.api.delete(rig.api.catalog.named("jobs.batch"), "j", "default")
    await rig.advance(4)
    assert rig.names("pods") == []


@pytest.mark.parametrize("text", ["", "0", "0-2", "1,3-5,9"])
def test_indexes_are_written_as_ranges(text: str) -> None:
    """What is parsed is written the same way."""
    assert compact(parse_indexes(text)) == text


def test_missing_indexes_come_in_order() -> None:
    """The lowest that nobody has taken."""
    assert missing_indexes(6, {0, 2}, 3) == [1, 3, 4]
