"""The cluster's process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kubesched.apps.up.cluster import ClusterOptions
from kubesched.apps.up.process import ClusterProcess
from kubesched.testing.api_server_process import ApiServerProcess

TRAP = "import pathlib\npathlib.Path(__file__).with_name('sprung').touch()\nraise SystemExit('a trap')\n"


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], bool]:
    """A current folder with modules that are named like ours and like our libraries'; says whether one was run."""
    for name in ("msgspec", "uvloop", "yaml", "kubesched", "site", "asyncio"):
        (tmp_path / f"{name}.py").write_text(TRAP)
    monkeypatch.chdir(tmp_path)
    return (tmp_path / "sprung").exists


async def test_modules_in_the_current_folder_are_not_run(trap: Callable[[], bool]) -> None:
    """`python -m` would look there first."""
    cluster = await ClusterProcess.start(ClusterOptions(nodes=0, port=0))
    await cluster.stop()
    assert cluster.address.startswith("https://127.0.0.1:")
    assert not trap()


async def test_nor_by_the_api_server_of_tests(trap: Callable[[], bool], tmp_path: Path) -> None:
    """Whose kubeconfig is written where the test wants it."""
    server = await ApiServerProcess.start(tmp_path / "kubeconfig")
    await server.stop()
    assert not trap()
