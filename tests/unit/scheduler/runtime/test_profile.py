"""The extension points after Score: who is asked, in which order, and what counts."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from kubesched.clock import VirtualClock
from kubesched.config import FeatureGates
from kubesched.config.model import KubeSchedulerProfile, Plugin, Plugins, PluginSet
from kubesched.objects import Pod
from kubesched.scheduler.columns import ClusterTables, PodInfo
from kubesched.scheduler.framework import (
    SKIP,
    SUCCESS,
    WAIT,
    BindPlugin,
    Code,
    CycleState,
    Diagnosis,
    Fetches,
    NominatingInfo,
    NominatingMode,
    ObjectStores,
    PostBindPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    SharedServices,
    Status,
)
from kubesched.scheduler.plugins.registry import IN_TREE
from kubesched.scheduler.runtime.profile import Profile
from kubesched.scheduler.state.nominator import PodNominator
from kubesched.scheduler.state.pod_groups import PodGroups
from kubesched.testing import make_pod
from kubesched.testing.recording import RecordingApi, RecordingRecorder

POD = make_pod("web")
STATE = CycleState(ClusterTables().templates.info(POD))
NOMINATED = PostFilterResult(NominatingInfo("n1"))
UNTOUCHED = PostFilterResult(NominatingInfo("", NominatingMode.NOOP))


class Obedient(PostFilterPlugin, PreBindPlugin, BindPlugin, PostBindPlugin):
    """Answers what it is told."""

    answer: Any = None

    def __init__(self, args: Any, handle: Any) -> None:
        self.asked = 0

    def _give(self) -> Any:
        self.asked += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def post_filter(self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis) -> Any:
        return self._give()

    def pre_bind_preflight(self, state: CycleState, pod: Pod, node_name: str) -> Any:
        return self._give()

    async def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Any:
        return self._give()

    async def bind(self, state: CycleState, pod: Pod, node_name: str) -> Any:
        return self._give()

    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        self._give()


class A(Obedient):
    name = "A"


class B(Obedient):
    name = "B"


def profile_of(*answers: Any) -> Profile:
    """Only A and B, with these answers (and a way to sort the queue)."""
    enabled = PluginSet(enabled=tuple(Plugin(name=name) for name in ("PrioritySort", "A", "B")))
    gates = FeatureGates()
    config = KubeSchedulerProfile(scheduler_name="test", plugins=Plugins(multi_point=enabled))
    services = SharedServices(
        cluster=ClusterTables(),
        objects=ObjectStores(),
        clock=VirtualClock(),
        random=Random(0),
        gates=gates,
        api=RecordingApi(),
        recorder=RecordingRecorder(),
        nominator=PodNominator(),
        pod_groups=PodGroups(),
        fetches=Fetches(VirtualClock()),
    )
    profile = Profile(config, {**IN_TREE, "A": A, "B": B}, services)
    for name, answer in zip("AB", answers, strict=False):
        vars(profile.plugins[name])["answer"] = answer
    return profile


def asked(profile: Profile) -> list[int]:
    return [vars(profile.plugins[name])["asked"] for name in "AB"]


@pytest.mark.parametrize(
    ("answers", "expected", "both_asked"),
    [
        pytest.param([(NOMINATED, SUCCESS), None], (NOMINATED, Code.SUCCESS, ()), False, id="success ends the round"),
        pytest.param(
            [(None, Status.unresolvable("no")), None], (None, Code.UNRESOLVABLE, ("no",)), False, id="so does no hope"
        ),
        pytest.param(
            [(None, Status.unschedulable("a")), (None, Status.unschedulable("b"))],
            (None, Code.UNSCHEDULABLE, ("a", "b")),
            True,
            id="reasons add up",
        ),
        pytest.param(
            [(NOMINATED, Status.unschedulable("a")), (UNTOUCHED, Status.unschedulable())],
            (NOMINATED, Code.UNSCHEDULABLE, ("a",)),
            True,
            id="the last result that says something counts",
        ),
        pytest.param([(None, Status.failed("x")), None], (None, Code.ERROR, ("x",)), False, id="an error"),
    ],
)
async def test_post_filter(answers: list[Any], expected: tuple[Any, Code, tuple[str, ...]], both_asked: bool) -> None:
    """As RunPostFilterPlugins goes on or stops."""
    profile = profile_of(*answers)
    result, status = await profile.post_filter(STATE, STATE.pod, Diagnosis())
    assert (result, status.code, status.reasons) == expected
    assert asked(profile) == [1, int(both_asked)]


@pytest.mark.parametrize("answer", [ValueError("boom"), None, (None, None), SUCCESS], ids=repr)
async def test_a_post_filter_that_breaks_its_contract(answer: Any) -> None:
    """Costs the attempt its preemption, no more."""
    _, status = await profile_of(answer).post_filter(STATE, STATE.pod, Diagnosis())
    assert status.code is Code.ERROR
    assert status.plugin == "A"


@pytest.mark.parametrize(
    ("answers", "code", "asked_both"),
    [
        pytest.param([SUCCESS, None], Code.SUCCESS, False, id="the first that binds"),
        pytest.param([SKIP, SUCCESS], Code.SUCCESS, True, id="the next, where one skips"),
        pytest.param([SKIP, SKIP], Code.SKIP, True, id="nobody"),
        pytest.param([Status.failed("x"), SUCCESS], Code.ERROR, False, id="a failure is final"),
        pytest.param([None, SUCCESS], Code.ERROR, False, id="no answer is a failure"),
    ],
)
async def test_bind(answers: list[Any], code: Code, asked_both: bool) -> None:
    """One plugin binds."""
    profile = profile_of(*answers)
    assert (await profile.bind(STATE, POD, "n1")).code is code
    assert asked(profile) == [1, int(asked_both)]


@pytest.mark.parametrize(
    ("answers", "code", "active"),
    [
        pytest.param([SKIP, SKIP], Code.SKIP, [], id="nobody has anything to do"),
        pytest.param([SKIP, SUCCESS], Code.SUCCESS, ["B"], id="one has"),
        pytest.param([SUCCESS, Status.failed("x")], Code.ERROR, [], id="one fails"),
        pytest.param([Status.unschedulable("x"), SUCCESS], Code.ERROR, [], id="one rejects"),
    ],
)
async def test_preflight(answers: list[Any], code: Code, active: list[str]) -> None:
    """Only those that have something to do are asked to do it."""
    status, plugins = profile_of(*answers).pre_bind_preflight(STATE, POD, "n1")
    assert (status.code, [plugin.name for plugin in plugins]) == (code, active)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(Status.failed("boom"), 'running PreBindPreFlight "A": boom', id="an error"),
        pytest.param(
            Status.unschedulable("no"),
            'PreBindPreFlight A returned "Unschedulable", which is unsupported. '
            "It is supposed to return Success, Skip, or Error status",
            id="a rejection",
        ),
        pytest.param(
            WAIT,
            'PreBindPreFlight A returned "Wait", which is unsupported. '
            "It is supposed to return Success, Skip, or Error status",
            id="something else",
        ),
    ],
)
def test_preflight_knows_no_rejection(answer: Status, message: str) -> None:
    """The words of RunPreBindPreFlights."""
    status, _ = profile_of(answer, SUCCESS).pre_bind_preflight(STATE, POD, "n1")
    assert (status.code, status.message) == (Code.ERROR, message)


@pytest.mark.parametrize(
    ("concern", "is_asked"),
    [
        pytest.param(True, True, id="it has"),
        pytest.param(False, False, id="it has not"),
        pytest.param(ValueError("boom"), True, id="it cannot tell"),
    ],
)
def test_a_plugin_is_called_if_it_has_something_to_do_for_the_template(concern: Any, is_asked: bool) -> None:
    """That is asked once per template."""
    profile = profile_of(SUCCESS, SUCCESS)
    questions: list[object] = []

    def concerns(template: object) -> bool:
        questions.append(template)
        if isinstance(concern, Exception):
            raise concern
        return bool(concern)

    vars(profile.plugins["A"])["concerns"] = concerns
    for _ in range(2):
        _, active = profile.pre_bind_preflight(STATE, POD, "n1")
        assert [plugin.name for plugin in active] == ["A"] * is_asked + ["B"]
    assert questions == [STATE.pod.template]


async def test_post_bind_reaches_everybody() -> None:
    """Whoever fails: the pod is bound."""
    profile = profile_of(ValueError("boom"), None)
    profile.post_bind(STATE, POD, "n1")
    assert asked(profile) == [1, 1]
