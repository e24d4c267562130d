"""Requirement: one condition on labels, the atom of every label selector."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from kubesched.objects.label_syntax import label_key_problems, label_value_problems


class Operator(StrEnum):
    """How a requirement looks at a label. Equality is `IN` with one value."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


@dataclass(frozen=True, slots=True, order=True)
class Requirement:
    """A condition on one label key. Values are sorted and without repetition, so that equal means the same."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    @classmethod
    def of(cls, key: str, operator: Operator, values: Iterable[str] = ()) -> Requirement:
        return cls(key, operator, tuple(sorted(set(values))))

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        operator = self.operator
        if operator is Operator.IN:
            return value in self.values
        if operator is Operator.NOT_IN:
            return value not in self.values
        if operator is Operator.EXISTS:
            return value is not None
        if operator is Operator.DOES_NOT_EXIST:
            return value is None
        return value is not None and self._compares(value)

    def _compares(self, value: str) -> bool:
        number, bound = parse_int64(value), parse_int64(self.values[0])
        if number is None or bound is None:
            return False
        return number > bound if self.operator is Operator.GT else number < bound

    def __str__(self) -> str:
        values = ",".join(self.values)
        match self.operator:
            case Operator.IN:
                return f"{self.key}={values}" if len(self.values) == 1 else f"{self.key} in ({values})"
            case Operator.NOT_IN:
                return f"{self.key}!={values}" if len(self.values) == 1 else f"{self.key} notin ({values})"
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case Operator.GT:
                return f"{self.key}>{values}"
            case Operator.LT:
                return f"{self.key}<{values}"


def requirement_problems(key: str, operator: Operator, values: tuple[str, ...], path: str = "") -> list[str]:
    """What labels.NewRequirement says against a requirement, each with its field path below `path`."""
    dot = f"{path}." if path else ""
    problems = [invalid(f"{dot}key", key, "; ".join(found))] if (found := label_key_problems(key)) else []
    match operator:
        case Operator.IN | Operator.NOT_IN if not values:
            problems.append(invalid(f"{dot}values", values, "for 'in', 'notin' operators, values set can't be empty"))
        case Operator.EXISTS | Operator.DOES_NOT_EXIST if values:
            rule = "values set must be empty for exists and does not exist"
            problems.append(invalid(f"{dot}values", values, rule))
        case Operator.GT | Operator.LT:
            if len(values) != 1:
                rule = "for 'Gt', 'Lt' operators, exactly one value is required"
                problems.append(invalid(f"{dot}values", values, rule))
            problems += [
                invalid(f"{dot}values[{i}]", value, "for 'Gt', 'Lt' operators, the value must be an integer")
                for i, value in enumerate(values)
                if parse_int64(value) is None
            ]
    problems += [
        invalid(f"{dot}values[{i}][{key}]", value, "; ".join(found))
        for i, value in enumerate(values)
        if (found := label_value_problems(value))
    ]
    return problems


def invalid(path: str, value: str | tuple[str, ...], rule: str) -> str:
    """A message in the form of Kubernetes' field.Invalid. An absent list is null, as Go writes it."""
    shown = value if isinstance(value, str) else list(value) or None
    return f"{path}: Invalid value: {json.dumps(shown, ensure_ascii=False, separators=(',', ':'))}: {rule}"


def not_supported(path: str, value: str, supported: Iterable[str]) -> str:
    """A message in the form of Kubernetes' field.NotSupported."""
    choices = ", ".join(f'"{choice}"' for choice in supported)
    return f"{path}: Unsupported value: {json.dumps(value, ensure_ascii=False)}: supported values: {choices}"


def aggregate(problems: Iterable[str]) -> str:
    """Several messages as one, as Kubernetes' error aggregates print: repeated ones once, in brackets if many."""
    distinct = list(dict.fromkeys(problems))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


_INTEGER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)


def parse_int64(text: str) -> int | None:
    """The number in a text, by the rules of Go's strconv.ParseInt; None if it is none or too large."""
    if len(text) > 4000 or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -(1 << 63) <= number < 1 << 63 else None
