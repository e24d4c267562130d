"""Label and field selectors, compiled once and asked often. They are values: equal by content, usable as cache keys."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from kubesched.errors import InvalidObjectError
from kubesched.objects.meta import LabelSelector
from kubesched.objects.requirements import Operator, Requirement, aggregate, requirement_problems


@dataclass(frozen=True, slots=True)
class Selector:
    """All requirements must hold. Without requirements it selects everything, unless it is `Selector.NOTHING`."""

    requirements: tuple[Requirement, ...] = ()
    selects_nothing: bool = False

    EVERYTHING: ClassVar[Selector]
    NOTHING: ClassVar[Selector]

    @classmethod
    def of(cls, requirements: Iterable[Requirement]) -> Selector:
        """The selector for these requirements, in whatever order they come."""
        return cls(tuple(sorted(set(requirements))))

    @property
    def selects_everything(self) -> bool:
        return not self.requirements and not self.selects_nothing

    def matches(self, labels: Mapping[str, str]) -> bool:
        if self.selects_nothing:
            return False
        return all(requirement.matches(labels) for requirement in self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


Selector.EVERYTHING = Selector()
Selector.NOTHING = Selector(selects_nothing=True)

_LABEL_SELECTOR_OPERATORS: Final = {
    operator.value: operator for operator in (Operator.IN, Operator.NOT_IN, Operator.EXISTS, Operator.DOES_NOT_EXIST)
}


def compile_label_selector(source: LabelSelector | None) -> Selector:
    """metav1.LabelSelectorAsSelector: no selector selects nothing, an empty one everything."""
    if source is None:
        return Selector.NOTHING
    requirements = [
        checked_requirement(key, Operator.IN, (value,)) for key, value in sorted(source.match_labels.items())
    ]
    for expression in source.match_expressions:
        operator = _LABEL_SELECTOR_OPERATORS.get(expression.operator)
        if operator is None:
            raise InvalidObjectError(f'"{expression.operator}" is not a valid label selector operator')
        requirements.append(checked_requirement(expression.key, operator, expression.values))
    return Selector.of(requirements)


def selector_from_labels(labels: Mapping[str, str]) -> Selector:
    """A selector for exactly these labels, unchecked (labels.SelectorFromSet). No labels select everything."""
    return Selector.of(Requirement(key, Operator.IN, (value,)) for key, value in labels.items())


def checked_requirement(key: str, operator: Operator, values: tuple[str, ...]) -> Requirement:
    """The requirement, if Kubernetes accepts it; else InvalidObjectError with its message."""
    problems = requirement_problems(key, operator, values)
    if problems:
        raise InvalidObjectError(aggregate(problems))
    return Requirement.of(key, operator, values)


@dataclass(frozen=True, slots=True, order=True)
class FieldRequirement:
    """A field equals a value, or does not. A field that is absent counts as empty."""

    field: str
    equals: bool
    value: str

    def matches(self, fields: Mapping[str, str]) -> bool:
        return (fields.get(self.field, "") == self.value) is self.equals

    def __str__(self) -> str:
        escaped = re.sub(r"([\\,=])", r"\\\1", self.value)
        return f"{self.field}{'=' if self.equals else '!='}{escaped}"


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """All requirements must hold; without any it selects everything."""

    requirements: tuple[FieldRequirement, ...] = ()

    EVERYTHING: ClassVar[FieldSelector]

    def matches(self, fields: Mapping[str, str]) -> bool:
        return all(requirement.matches(fields) for requirement in self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


FieldSelector.EVERYTHING = FieldSelector()

_FIELD_TERM: Final = re.compile(r"(?:[^\\,]|\\.|\\$)+", re.DOTALL)
_FIELD_OPERATOR: Final = re.compile(r"!=|==|=")


def parse_field_selector(text: str) -> FieldSelector:
    """fields.ParseSelector: `metadata.name=x,status.phase!=Failed`; `\\`, `,` and `=` in values after a backslash."""
    requirements = []
    for term in sorted(_FIELD_TERM.findall(text)):
        operator = _FIELD_OPERATOR.search(term)
        if operator is None:
            raise InvalidObjectError(f"invalid selector: '{text}'; can't understand '{term}'")
        field, value = term[: operator.start()], _unescape(term[operator.end() :])
        requirements.append(FieldRequirement(field, operator[0] != "!=", value))
    return FieldSelector(tuple(sorted(set(requirements))))


def _unescape(value: str) -> str:
    for escape in re.findall(r"\\.|\\$|[,=]", value, re.DOTALL):
        if len(escape) == 1 and escape != "\\":
            raise InvalidObjectError(f"invalid field selector: unescaped character in value: {ord(escape)}")
        if escape not in ("\\\\", "\\,", "\\="):
            raise InvalidObjectError(f"invalid field selector: invalid escape sequence: {escape}")
    return re.sub(r"\\(.)", r"\1", value)
