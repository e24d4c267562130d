"""What the API server refuses is told in a line, and ends the start."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from tests.e2e.certificates import Authority
from tests.e2e.conftest import StartScheduler
from tests.e2e.control_plane import RealControlPlane
from tests.e2e.processes import eventually


def with_foreign_authority(real_cluster: RealControlPlane) -> Path:
    file = real_cluster.kubeconfig("stranger")
    config = yaml.safe_load(file.read_text())
    config["clusters"][0]["cluster"]["certificate-authority"] = str(Authority(real_cluster.folder / "foreign").file)
    file.write_text(yaml.safe_dump(config))
    return file


@pytest.mark.parametrize(
    ("kubeconfig", "says"),
    [
        pytest.param(
            with_foreign_authority, "the API server's certificate is not trusted: ", id="a CA that did not sign it"
        ),
        pytest.param(
            lambda cluster: cluster.kubeconfig("visitor"),
            'a permission is missing: pods is forbidden: User "visitor" cannot list resource "pods"',
            id="a user without permissions",
        ),
    ],
)
def test_a_refusal_is_one_line_and_exit_code_1(
    real_cluster: RealControlPlane, start_scheduler: StartScheduler, kubeconfig: object, says: str
) -> None:
    """Waiting would not help: a person has to mend it."""
    assert callable(kubeconfig)
    scheduler = start_scheduler(kubeconfig=kubeconfig(real_cluster), ready=False)
    assert scheduler.wait() == 1
    lines = scheduler.log.splitlines()
    assert lines[0].startswith(f"error: {says}"), scheduler.log
    assert all(line.startswith("error: ") for line in lines), scheduler.log


def test_credentials_that_are_not_accepted_yet_are_tried_again(
    real_cluster: RealControlPlane, start_scheduler: StartScheduler
) -> None:
    """As kube-scheduler: it starts, serves and keeps trying."""
    token = real_cluster.folder / "late.token"
    token.write_text("made-up")
    scheduler = start_scheduler(kubeconfig=real_cluster.kubeconfig("late", {"tokenFile": str(token)}), ready=False)
    eventually(lambda: scheduler.answers("/livez") == 200, "it serves")
    eventually(lambda: "401 Unauthorized" in scheduler.log, "it says what is wrong")
    assert scheduler.answers("/readyz") == 500
    assert scheduler.is_running
