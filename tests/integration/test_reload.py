"""`kubesched run --reload`: changed plugins and configurations are taken up under load, broken ones refused."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace
from tests.e2e.processes import free_port
from tests.integration.test_run_process import Scene, running, scene, until

from kubesched.apps.run.lifecycle import RunSettings, SchedulerProcess
from kubesched.apps.run.serving import EndpointOptions
from kubesched.clock import SystemClock
from kubesched.config import KubeSchedulerConfiguration, load_config_file
from kubesched.objects import Pod
from kubesched.serving.server import ServingOptions
from kubesched.testing import make_node, make_pod

__all__ = ["scene"]

PODS = int(os.environ.get("KUBESCHED_RELOAD_PODS", "2000"))
PLUGIN = """
from kubesched.framework import SUCCESS, FilterPlugin, ReservePlugin, ScorePlugin, Status


class Choice(FilterPlugin, ScorePlugin, ReservePlugin):
    name = "Choice"

    def filter(self, state, pod, node):
        return Status.unschedulable("not now") if node.name in REFUSED else None

    def score(self, state, pod, node):
        return hash((node.name, VERSION)) % 100

    def reserve(self, state, pod, node_name):
        return SUCCESS
"""
CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
podMaxBackoffSeconds: BACKOFF
profiles: [{plugins: {multiPoint: {enabled: [{name: "MODULE:Choice"}]}}}]
"""


class Files:
    """A configuration and its plugin in a folder, in versions."""

    def __init__(self, folder: Path, scene: Scene, module: str) -> None:
        self._folder = folder
        self._base = scene.config()
        self._module = module
        self.write(0)

    def write(self, version: int, refused: str = "") -> None:
        text = f"VERSION, REFUSED = {version}, {refused.split()!r}\n{PLUGIN}"
        (self._folder / f"{self._module}.py").write_text(text)
        backoff = str(5 + version % 2)
        (self._folder / "c.yaml").write_text(CONFIG.replace("MODULE", self._module).replace("BACKOFF", backoff))

    def break_plugin(self) -> None:
        (self._folder / f"{self._module}.py").write_text(PLUGIN.replace("def score", "async def score"))

    def read(self) -> KubeSchedulerConfiguration:
        return replace(
            load_config_file(self._folder / "c.yaml"),
            client_connection=self._base.client_connection,
            leader_election=self._base.leader_election,
        )

    def process(self, *, follows_files: bool) -> SchedulerProcess:
        endpoints = EndpointOptions(serving=ServingOptions(bind_address="127.0.0.1", port=free_port()))
        settings = RunSettings(
            config=self.read(),
            endpoints=endpoints,
            plugin_folder=self._folder,
            read_config=self.read,
            follows_files=follows_files,
        )
        return SchedulerProcess(settings, SystemClock(), Random(1))


async def test_a_burst_with_a_reload_every_second(
    scene: Scene, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """None is lost, none is bound twice, none is stuck; nodes are not overcommitted."""
    nodes = 40
    for number in range(nodes):
        await scene.rest.create(make_node(f"n{number}", cpu="64", pods=PODS // nodes + 5))
    files = Files(tmp_path, scene, "choice_in_burst")
    async with running(files.process(follows_files=True)):
        creating = asyncio.create_task(_create_pods(scene, PODS))
        version = 0
        while True:
            version += 1
            files.write(version, refused="n0 n1" if version % 3 == 0 else "")
            await asyncio.sleep(1.0)
            pods = await scene.rest.list_all(Pod, "default")
            if creating.done() and len(pods) == PODS and all(pod.spec.node_name for pod in pods):
                break
            assert version < 120, "somebody is stuck"
    log = capfd.readouterr().err
    assert log.count("Reloaded the configuration") >= min(version - 1, 3)
    assert "already assigned" not in log
    assert max(Counter(pod.spec.node_name for pod in pods).values()) <= PODS // nodes + 5


async def _create_pods(scene: Scene, count: int) -> None:
    for start in range(0, count, 50):
        await asyncio.gather(
            *(
                scene.rest.create(make_pod(f"p{number}", cpu="100m", image="pause"))
                for number in range(start, start + 50)
            )
        )


async def test_sighup_takes_up_a_change_and_refuses_a_broken_one(
    scene: Scene, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """One line each, and the old version goes on."""
    await scene.rest.create(make_node("n0", cpu="4"))
    files = Files(tmp_path, scene, "choice_by_signal")
    seen = ""

    async def logged(words: str) -> bool:
        nonlocal seen
        seen += capfd.readouterr().err
        return words in seen

    async with running(files.process(follows_files=False)):
        await scene.rest.create(make_pod("a", cpu="1", image="pause"))
        await until(lambda: scene.placed("a"))
        files.write(1, refused="n0")
        os.kill(os.getpid(), signal.SIGHUP)
        await until(lambda: logged("Reloaded the configuration and its plugins"))
        await scene.rest.create(make_pod("b", cpu="1", image="pause"))
        await until(lambda: _condition(scene, "b", "not now"))
        files.break_plugin()
        os.kill(os.getpid(), signal.SIGHUP)
        await until(lambda: logged("Not reloaded, the running configuration stays"))
        [line] = [line for line in seen.splitlines() if "Not reloaded" in line]
        assert "plugin choice_by_signal:Choice: score" in line
        await scene.rest.create(make_pod("c", cpu="1", image="pause"))
        await until(lambda: _condition(scene, "c", "not now"))
        files.write(2)
        os.kill(os.getpid(), signal.SIGHUP)
        await until(lambda: scene.placed("b"))
        await until(lambda: scene.placed("c"))


async def _condition(scene: Scene, name: str, words: str) -> bool:
    pod = await scene.rest.get(Pod, name, "default")
    return any(words in condition.message for condition in pod.status.conditions)
