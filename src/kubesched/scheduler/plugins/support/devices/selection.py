"""Which kinds of devices CEL conditions select, remembered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache, partial

from kubesched.errors import InvalidObjectError
from kubesched.objects import DeviceClass
from kubesched.scheduler.plugins.support.devices.cel import Selector
from kubesched.scheduler.plugins.support.devices.kinds import DeviceKind


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
        self._compiled = lru_cache(maxsize=1024)(partial(Selector, lists=lists))

    def select(self, conditions: Iterable[Condition], kind: DeviceKind) -> bool:
        """Whether all conditions hold. InvalidObjectError, with whose condition it is, if one has no answer."""
        for condition in conditions:
            selected = kind.selected.get(condition.expression)
            if selected is None:
                selected = kind.selected[condition.expression] = self._evaluate(condition, kind)
            if not selected:
                return False
        return True

    def _evaluate(self, condition: Condition, kind: DeviceKind) -> bool:
        selector = self._compiled(condition.expression)
        if selector.problem:
            raise InvalidObjectError(f"{condition.source}: CEL compile error: {selector.problem}")
        try:
            return selector.matches(kind.facts)
        except InvalidObjectError as error:
            raise InvalidObjectError(f"{condition.source}: CEL runtime error: {error.problem}") from error
