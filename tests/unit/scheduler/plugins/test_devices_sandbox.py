"""Expressions that may be expensive are evaluated by a process that can be killed."""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.hostile.corpus import growing_selector, slow_selector

from kubesched.clock import SystemClock, VirtualClock
from kubesched.errors import InvalidObjectError
from kubesched.objects.dra import Device, DeviceAttribute
from kubesched.scheduler.plugins.support.devices import selection
from kubesched.scheduler.plugins.support.devices.budget import Budget, BudgetSpent
from kubesched.scheduler.plugins.support.devices.kinds import DeviceKind, DeviceKinds
from kubesched.scheduler.plugins.support.devices.sandbox import STOPPED, Question, Sandbox
from kubesched.scheduler.plugins.support.devices.selection import Condition, Selectors

MEGABYTE = 1 << 20


def large_type(levels: int = 9) -> str:
    """A few hundred characters, with a type that is thirty times as large on each level."""
    text = f"a{levels} == a{levels}"
    for k in range(levels, 0, -1):
        text = f"cel.bind(a{k}, {{a{k - 1}: {{a{k - 1}: [{{a{k - 1}: a{k - 1}}}]}}}}, {text})"
    return f"cel.bind(a0, 1, {text})"


@pytest.fixture
def sandbox(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    made = Sandbox()
    monkeypatch.setattr(selection, "shared_sandbox", lambda: made)
    yield made
    made.close()


@pytest.fixture
def kind() -> DeviceKind:
    attributes = {"model": DeviceAttribute(string_value="a"), "n": DeviceAttribute(int_value=3)}
    return DeviceKinds().of("gpu.example.com", Device(attributes=attributes))


def selected(expression: str, kind: DeviceKind, budget: Budget | None = None) -> bool:
    return Selectors().select([Condition("claim c: selector #0", expression)], kind, budget)


def question(expression: str) -> Question:
    return Question(expression, lists=False, driver="d", shared=False, attributes={}, capacity={}, problem="")


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    "expression",
    [
        'device.driver == "gpu.example.com"',
        'device.attributes["gpu.example.com"].model == "a" && device.attributes["gpu.example.com"].n in [1, 2, 3]',
        'cel.bind(a, device.attributes["gpu.example.com"], a.n > 2 && a.model.startsWith("a"))',
        '[1, 2, 3].exists(x, x == device.attributes["gpu.example.com"].n)',
    ],
)
def test_what_is_common_needs_no_other_process(expression: str, kind: DeviceKind, sandbox: Sandbox) -> None:
    """It is evaluated here, in microseconds."""
    assert selected(expression, kind)
    assert sandbox.process_id is None


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        pytest.param(growing_selector(26), STOPPED, id="a list of 67 million entries (14 s and 4.1 GB)"),
        pytest.param(large_type(), STOPPED, id="a type that cannot be held in memory"),
        pytest.param(slow_selector(digits=9), "compile error: too complex, exceeds cost limit", id="too expensive"),
        pytest.param("1 == 1 " * 2000, "compile error: too long", id="too long"),
        pytest.param(slow_selector(digits=5), "runtime error: operation cancelled: too many iterations", id="loops"),
    ],
)
def test_what_takes_too_much_is_an_error_of_the_selector(
    expression: str, problem: str, kind: DeviceKind, sandbox: Sandbox
) -> None:
    """One clear line, the claim that it is of, and no crash; memory stays as it was."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    largest_child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss  # other tests start processes, too
    with pytest.raises(InvalidObjectError) as refused:
        selected(expression, kind)
    assert refused.value.problem.startswith(f"claim c: selector #0: CEL {problem}")
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 50 * MEGABYTE
    largest_now = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    inherited = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # a child begins with what its parent has
    assert largest_now == largest_child or (largest_now - inherited) * 1024 < 300 * MEGABYTE
    assert selected(growing_selector(12), kind), "the next one is answered"


def test_a_problem_is_known_when_it_is_asked_for_again(kind: DeviceKind, sandbox: Sandbox) -> None:
    """No process is killed twice for the same thing."""
    for _ in range(2):
        with pytest.raises(InvalidObjectError):
            selected(growing_selector(26), kind)
        assert sandbox.process_id is None
        sandbox._send = None  # type: ignore[method-assign, assignment]  # nothing is asked any more


@pytest.mark.parametrize(
    "expression",
    [
        growing_selector(12),
        'cel.bind(a, 1, cel.bind(b, 2, cel.bind(c, device.driver, c == "gpu.example.com" && a < b)))',
        'cel.bind(a, 1, cel.bind(b, 2, cel.bind(c, device.attributes["gpu.example.com"].m, c == "x")))',
        "cel.bind(a, 1, cel.bind(b, 2, cel.bind(c, 3, a + b)))",
        "cel.bind(a, 1, cel.bind(b, 2, cel.bind(c, 3, nothing)))",
    ],
)
def test_it_answers_as_this_process_does(
    expression: str, kind: DeviceKind, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Conditions that hold or do not, and what is wrong with others."""

    def answer() -> object:
        kind.selected.clear()
        try:
            return selected(expression, kind)
        except InvalidObjectError as error:
            return error.problem

    there = answer()
    assert sandbox.process_id is not None
    monkeypatch.setattr(selection, "is_compiled_quickly", lambda _: True)
    monkeypatch.setattr(selection, "_MOST_WORK_HERE", 1 << 64)
    assert answer() == there


def test_nobody_waits_for_an_answer_that_takes_long(sandbox: Sandbox) -> None:
    """It is there when it is asked for again."""
    slow = question(growing_selector(18))
    with pytest.raises(BudgetSpent):
        sandbox.ask(slow, Budget(SystemClock(), 0.0))
    for _ in range(1000):
        try:
            assert sandbox.ask(slow, Budget(SystemClock(), 0.02)) is True
            break
        except BudgetSpent:
            continue
    else:
        pytest.fail("no answer")


def test_another_question_waits_until_the_first_is_answered(sandbox: Sandbox) -> None:
    """Neither answer is lost."""
    first, second = question(growing_selector(18)), question("1 == 2")
    with pytest.raises(BudgetSpent):
        sandbox.ask(first, Budget(SystemClock(), 0.0))
    assert sandbox.ask(second, Budget(VirtualClock(), 1.0)) is False, "where time stands still, it is waited for"
    assert sandbox.ask(first, None) is True


def test_a_process_that_is_killed_is_an_error_and_another_one_starts(sandbox: Sandbox) -> None:
    assert sandbox.ask(question("true"), None) is True
    process = sandbox._process
    assert process is not None
    process.kill()
    process.wait()
    assert sandbox.ask(question("1 == 1"), None) == STOPPED
    assert sandbox.ask(question("1 == 1"), None) is True


def test_no_process_is_left() -> None:
    """When it is closed, and when nobody holds it any more."""
    sandbox = Sandbox()
    assert sandbox.ask(question("true"), None) is True
    first = sandbox.process_id
    sandbox.close()
    assert sandbox.ask(question("true"), None) is True
    second = sandbox.process_id
    assert first is not None
    assert second is not None
    assert not is_alive(first)
    del sandbox
    gc.collect()
    assert not is_alive(second)


@pytest.mark.parametrize("ending", ["pass", "import os; os.kill(os.getpid(), 9)"], ids=["it ends", "it is killed"])
def test_no_process_outlives_ours(ending: str, tmp_path: Path) -> None:
    """Not even in the middle of a question."""
    program = f"""
from kubesched.clock import SystemClock
from kubesched.scheduler.plugins.support.devices.budget import Budget, BudgetSpent
from kubesched.scheduler.plugins.support.devices.sandbox import Question, shared_sandbox
sandbox = shared_sandbox()
ask = lambda text, budget: sandbox.ask(Question(text, False, "d", False, {{}}, {{}}, ""), budget)
ask("true", None)
try:
    ask({growing_selector(18)!r}, Budget(SystemClock(), 0.0))
except BudgetSpent:
    pass
print(sandbox.process_id, flush=True)
{ending}
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    pid = int(done.stdout)
    for _ in range(500):
        if not is_alive(pid) or Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
            return
        subprocess.run([sys.executable, "-c", "import time; time.sleep(0.02)"], check=True)
    pytest.fail(f"process {pid} is still there")


def test_what_is_kept_of_expressions_is_bounded(kind: DeviceKind) -> None:
    """Claims come and go, each with an expression of its own; a kind of device may stay for ever."""
    for k in range(1000):
        assert selected(f"{k} >= 0", kind)
    assert len(kind.selected) <= 256
