"""PreBind: one after the other, or side by side where plugins allow it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kubesched.objects import Pod
from kubesched.scheduler.columns import ClusterTables
from kubesched.scheduler.framework import SUCCESS, CycleState, PreBindPlugin, Status
from kubesched.scheduler.runtime.pre_binding import pre_bind
from kubesched.testing import make_pod

POD = make_pod("web")
STATE = CycleState(ClusterTables().templates.info(POD))


class Worker(PreBindPlugin):
    """Writes down when it begins and how it ends; works until it is told to stop."""

    def __init__(self, name: str, diary: list[str], *, in_parallel: bool = True, answer: Status = SUCCESS) -> None:
        self.name, self.pre_binds_in_parallel = name, in_parallel  # type: ignore[misc]  # of this one alone
        self._diary, self._answer = diary, answer
        self.may_end = asyncio.Event()

    async def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        self._diary.append(f"{self.name} begins")
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self._diary.append(f"{self.name} is stopped")
            raise
        self._diary.append(f"{self.name} ends")
        return self._answer


def begin(*plugins: PreBindPlugin) -> asyncio.Task[Status]:
    return asyncio.create_task(pre_bind(plugins, STATE, POD, "n1"))


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("parallel", "expected"),
    [
        pytest.param([True, True], ["A begins", "B begins"], id="both allow it"),
        pytest.param([True, False], ["A begins"], id="the second does not"),
        pytest.param([False, True], ["A begins"], id="the first does not"),
        pytest.param([True, True, False], ["A begins", "B begins"], id="the third waits for both"),
    ],
)
async def test_neighbours_that_allow_it_run_side_by_side(parallel: list[bool], expected: list[str]) -> None:
    """All of them have run in the end."""
    diary: list[str] = []
    plugins = [Worker(name, diary, in_parallel=allowed) for name, allowed in zip("ABC", parallel, strict=False)]
    running = begin(*plugins)
    await turns()
    assert diary == expected
    for plugin in plugins:
        plugin.may_end.set()
    assert (await running).is_success
    assert sorted(entry for entry in diary if "ends" in entry) == [f"{plugin.name} ends" for plugin in plugins]


@pytest.mark.parametrize("in_parallel", [True, False])
async def test_the_first_failure_ends_it(in_parallel: bool) -> None:
    """In the words of the framework; whoever runs beside it is stopped, whoever comes later is not asked."""
    diary: list[str] = []
    first = Worker("A", diary, in_parallel=in_parallel, answer=Status.failed("x"))
    first.may_end.set()
    status = await begin(first, Worker("B", diary, in_parallel=in_parallel))
    assert status.message == 'running PreBind plugin "A": x'
    assert diary == (["A begins", "A ends", "B begins", "B is stopped"] if in_parallel else ["A begins", "A ends"])


async def test_a_cancellation_stops_all_of_them() -> None:
    """When the scheduler stops, or the pod is preempted, none goes on behind its back."""
    diary: list[str] = []
    running = begin(Worker("A", diary), Worker("B", diary))
    await turns()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert diary[2:] == ["A is stopped", "B is stopped"]


@pytest.mark.parametrize(
    "in_parallel",
    [
        pytest.param(False, id="one after the other"),
        pytest.param(True, id="side by side, the first has ended"),
    ],
)
async def test_a_reason_to_stop_is_told_in_the_name_of_the_plugin_at_work(in_parallel: bool) -> None:
    """In the words of the framework; and nobody else begins."""
    diary: list[str] = []
    workers = [Worker(name, diary, in_parallel=in_parallel) for name in "AB"] + [Worker("C", diary, in_parallel=False)]
    workers[0].may_end.set()
    running = begin(*workers)
    await turns()
    running.cancel("preempted by X")
    assert (await running).message == 'running PreBind plugin "B": preempted by X'
    assert "C begins" not in diary


async def test_a_plugin_that_raises_is_an_error_of_this_pod() -> None:
    """And nothing else."""

    class Broken(Worker):
        async def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Any:
            raise ValueError("boom")

    status = await begin(Broken("A", []), Worker("B", []))
    assert status.message.startswith("plugin A at PreBind: ValueError: boom (test_pre_binding.py:")
