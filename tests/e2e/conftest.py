"""A real control plane for all scenarios, wiped between them; schedulers that end with their test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.e2e.control_plane import ControlPlane, RealControlPlane
from tests.e2e.embedded import EmbeddedControlPlane
from tests.e2e.scheduler import Scheduler
from tools.controlplane.install import NotInstallableError, install

StartScheduler = Callable[..., Scheduler]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder needs a control plane."""
    for item in items:
        if "tests/e2e/" in item.path.as_posix():
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def real_control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealControlPlane]:
    try:
        programs = install()
    except NotInstallableError as error:
        pytest.skip(f"no control plane: {error}")
    control_plane = RealControlPlane(programs, tmp_path_factory.mktemp("control-plane"))
    yield control_plane
    control_plane.stop()


@pytest.fixture(scope="session")
def embedded_control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedControlPlane]:
    control_plane = EmbeddedControlPlane(tmp_path_factory.mktemp("embedded"))
    yield control_plane
    control_plane.stop()


@pytest.fixture
def real_cluster(real_control_plane: RealControlPlane) -> RealControlPlane:
    """The real control plane, without anything that an earlier scenario left."""
    wipe(real_control_plane)
    real_control_plane.forget_bindings()
    return real_control_plane


@pytest.fixture(params=["real", "embedded"])
def cluster(request: pytest.FixtureRequest) -> ControlPlane:
    """A control plane of each kind, without anything that an earlier scenario left."""
    control_plane: ControlPlane = request.getfixturevalue(f"{request.param}_control_plane")
    wipe(control_plane)
    return control_plane


def wipe(control_plane: ControlPlane) -> None:
    admin = control_plane.admin
    admin.delete_all("Lease", "kube-system")
    for kind in ("Pod", "Node", "PodDisruptionBudget", "PersistentVolumeClaim", "PersistentVolume", "StorageClass"):
        admin.delete_all(kind)
    admin.delete_all("Event")


@pytest.fixture
def start_scheduler(request: pytest.FixtureRequest) -> Iterator[StartScheduler]:
    """Starts a scheduler beside the test's control plane, and waits until it is ready."""
    name = "real_cluster" if "real_cluster" in request.fixturenames else "cluster"
    control_plane: ControlPlane = request.getfixturevalue(name)
    started: list[Scheduler] = []

    def start(name: str = "", *, ready: bool = True, **options: Any) -> Scheduler:
        scheduler = Scheduler(control_plane, name or f"scheduler-{len(started)}", **options)
        started.append(scheduler)
        return scheduler.wait_until_ready() if ready else scheduler

    yield start
    for scheduler in started:
        scheduler.stop()
        print(f"--- {scheduler.log_file.name}\n{scheduler.log[-2000:]}")
        scheduler.check_log()
