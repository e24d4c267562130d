"""Which kinds of devices CEL conditions select, remembered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final

from kubesched.errors import InvalidObjectError
from kubesched.objects import DeviceClass
from kubesched.scheduler.plugins.support.devices.budget import Budget
from kubesched.scheduler.plugins.support.devices.cel import Selector, is_compiled_quickly
from kubesched.scheduler.plugins.support.devices.kinds import DeviceKind
from kubesched.scheduler.plugins.support.devices.sandbox import Question, shared_sandbox

_MOST_ANSWERS: Final = 256
"""Kept for one kind of device."""
_MOST_WORK_HERE: Final = 50_000
"""Of an evaluation in this process, by the estimate: some milliseconds, some megabytes."""
_SANDBOX_STEPS: Final = 100
"""What an evaluation by another process counts where time stands still."""
_ADVICE: Final = (
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for optional "
    "fields"
)


@dataclass(frozen=True, slots=True)
class Condition:
    """A CEL expression; `source` says whose it is, for messages."""

    source: str
    expression: str


def class_conditions(device_class: DeviceClass) -> tuple[Condition, ...]:
    """What devices of a class must satisfy."""
    return tuple(
        Condition(f"class {device_class.metadata.name}: selector #{k}", selector.cel.expression)
        for k, selector in enumerate(device_class.spec.selectors)
        if selector.cel is not None
    )


class Selectors:
    """Compiles each expression once, and evaluates it once per kind of device."""

    def __init__(self, *, lists: bool = False) -> None:
        """`lists`: whether they understand list attributes (gate DRAListTypeAttributes)."""
        self._lists = lists
        self._compiled = lru_cache(maxsize=1024)(partial(Selector, lists=lists))

    def select(
        self, conditions: Iterable[Condition], kind: DeviceKind, budget: Budget | None = None, device: str = ""
    ) -> bool:
        """Whether all conditions hold.

        InvalidObjectError if one has no answer: with whose condition it is, and with the device if it is named.
        BudgetSpent if there is no time left to ask; what was asked before stays known.
        """
        for condition in conditions:
            selected = kind.selected.get(condition.expression)
            if selected is None:
                selected = self._evaluate(condition.expression, kind, budget)
                _remember(kind.selected, condition.expression, selected)
            if isinstance(selected, str):
                raise _unanswered(condition, selected, device)
            if not selected:
                return False
        return True

    def _evaluate(self, expression: str, kind: DeviceKind, budget: Budget | None) -> bool | str:
        """The answer, or what the problem is."""
        if budget is not None:
            budget.spend()
        if not is_compiled_quickly(expression):
            return self._ask_sandbox(expression, kind, budget)
        selector = self._compiled(expression)
        if selector.problem:
            return f"compile error: {selector.problem}"
        if selector.work > _MOST_WORK_HERE:
            return self._ask_sandbox(expression, kind, budget)
        try:
            return selector.matches(kind.facts)
        except InvalidObjectError as error:
            return f"runtime error: {error.problem}"

    def _ask_sandbox(self, expression: str, kind: DeviceKind, budget: Budget | None) -> bool | str:
        if budget is not None:
            budget.steps += _SANDBOX_STEPS
        facts = kind.facts
        question = Question(
            expression, self._lists, facts.driver, facts.shared, facts.attributes, facts.capacity, facts.problem
        )
        return shared_sandbox().ask(question, budget)


def _remember(answers: dict[str, bool | str], expression: str, answer: bool | str) -> None:
    """The oldest answer makes room where there are many: expressions come with claims, and claims come and go."""
    if len(answers) >= _MOST_ANSWERS:
        del answers[next(iter(answers))]
    answers[expression] = answer


def _unanswered(condition: Condition, problem: str, device: str) -> InvalidObjectError:
    if not device or not problem.startswith("runtime error"):
        return InvalidObjectError(f"{condition.source}: CEL {problem}")
    advice = _ADVICE if "no such key:" in problem else ""
    return InvalidObjectError(f"{condition.source} on device {device}: CEL {problem}{advice}")
