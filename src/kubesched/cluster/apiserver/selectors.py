"""Label and field selectors as they stand in a query string (`labels.Parse` and `fields.ParseSelector` upstream)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kubesched.cluster.apiserver import status
from kubesched.cluster.apiserver.validation.names import label_key_problems, label_value_problems
from kubesched.errors import RequestRefusedError

_TOKEN: Final = re.compile(r"\s*(,|\(|\)|!=|==|=|!|>|<|[^\s,()!=<>]+)", re.ASCII)
_SYMBOLS: Final = frozenset({",", "(", ")", "!=", "==", "=", "!", ">", "<"})

Requirement = Callable[[Mapping[str, str]], bool]


@dataclass(frozen=True, slots=True)
class Selector:
    """All requirements must hold. `text` is what was asked; equal texts select equally."""

    text: str
    requirements: tuple[Requirement, ...]

    def matches(self, values: Mapping[str, str]) -> bool:
        return all(requirement(values) for requirement in self.requirements)

    def __bool__(self) -> bool:
        return bool(self.requirements)


EVERYTHING: Final = Selector("", ())


def parse_label_selector(text: str) -> Selector:
    """Refuses (400) what `labels.Parse` refuses."""
    if not text.strip():
        return EVERYTHING
    return Selector(text, tuple(_LabelParser(text).requirements()))


def parse_field_selector(text: str, supported: Collection[str]) -> Selector:
    """Refuses (400) a malformed selector and a field that the resource cannot be selected by."""
    requirements = []
    for term in filter(None, re.split(r"(?<!\\),", text)):
        field, operator, wanted = _split_field_term(term)
        if field not in supported:
            raise status.bad_request(f"field label not supported: {field}")
        requirements.append(_equals(field, wanted) if operator != "!=" else _differs(field, wanted))
    return Selector(text, tuple(requirements))


def object_selector(selector: Mapping[str, Any] | None) -> Selector:
    """A `LabelSelector` object; None selects nothing, an empty one everything (`LabelSelectorAsSelector`)."""
    if selector is None:
        return Selector("<none>", (lambda _: False,))
    requirements = [_equals(key, value) for key, value in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or ():
        key, values = expression["key"], frozenset(expression.get("values") or ())
        match expression["operator"]:
            case "In":
                requirements.append(_is_in(key, values))
            case "NotIn":
                requirements.append(_not_in(key, values))
            case "Exists":
                requirements.append(_exists(key))
            case _:
                requirements.append(_absent(key))
    return Selector("<object>", tuple(requirements))


class _LabelParser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _TOKEN.findall(text)
        if "".join(self._tokens) != re.sub(r"\s+", "", text):
            raise self._refuse(f"unexpected character in {text!r}")
        self._next = 0

    def requirements(self) -> list[Requirement]:
        found = [self._requirement()]
        while (token := self._take()) == ",":
            found.append(self._requirement())
        if token:
            raise self._refuse(f"found '{token}', expected: ',' or 'end of string'")
        return found

    def _requirement(self) -> Requirement:
        if self._peek() == "!":
            self._take()
            return _absent(self._key())
        key = self._key()
        match self._peek():
            case "" | ",":
                return _exists(key)
            case "=" | "==":
                self._take()
                return _equals(key, self._value())
            case "!=":
                self._take()
                return _differs(key, self._value())
            case "in":
                self._take()
                return _is_in(key, self._values())
            case "notin":
                self._take()
                return _not_in(key, self._values())
            case ">" | "<" as operator:
                self._take()
                return self._compare(key, operator)
            case other:
                raise self._refuse(f"found '{other}', expected: in, notin, =, ==, !=, gt, lt")

    def _key(self) -> str:
        key = self._take()
        if not key or key in _SYMBOLS:
            raise self._refuse(f"found '{key}', expected: !, identifier, or 'end of string'")
        if problems := label_key_problems(key):
            raise self._refuse(f'key: Invalid value: "{key}": {"; ".join(problems)}')
        return key

    def _value(self) -> str:
        if self._peek() in ("", ","):
            return ""
        value = self._take()
        if value in _SYMBOLS:
            raise self._refuse(f"found '{value}', expected: identifier")
        if problems := label_value_problems(value):
            raise self._refuse(f'values[0]: Invalid value: "{value}": {"; ".join(problems)}')
        return value

    def _values(self) -> frozenset[str]:
        if (token := self._take()) != "(":
            raise self._refuse(f"found '{token}', expected: '('")
        values = set()
        while True:
            values.add("" if self._peek() in (",", ")") else self._value())
            match self._take():
                case ")":
                    return frozenset(values)
                case ",":
                    continue
                case token:
                    raise self._refuse(f"found '{token}', expected: ',' or ')'")

    def _compare(self, key: str, operator: str) -> Requirement:
        value = self._take()
        if not re.fullmatch(r"[+-]?\d+", value):
            raise self._refuse(
                f"values[0]: Invalid value: \"{value}\": for 'Gt', 'Lt' operators, the value must be an integer"
            )
        bound = int(value)
        return lambda labels: _number(labels.get(key)) > bound if operator == ">" else _less(labels.get(key), bound)

    def _peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        self._next += 1
        return token

    def _refuse(self, why: str) -> RequestRefusedError:
        return status.bad_request(f"unable to parse requirement: {why}")


def _split_field_term(term: str) -> tuple[str, str, str]:
    found = re.match(r"(.*?)(!=|==|=)(.*)", term, re.DOTALL)
    if found is None:
        raise status.bad_request(f"invalid selector: '{term}'; can't understand '{term}'")
    return found[1], found[2], re.sub(r"\\([\\,=])", r"\1", found[3])


def _number(value: str | None) -> float:
    try:
        return int(value or "")
    except ValueError:
        return float("-inf")


def _less(value: str | None, bound: int) -> bool:
    return float("-inf") < _number(value) < bound


def _equals(key: str, value: str) -> Requirement:
    return lambda values: values.get(key) == value


def _differs(key: str, value: str) -> Requirement:
    return lambda values: values.get(key) != value


def _is_in(key: str, allowed: frozenset[str]) -> Requirement:
    return lambda values: values.get(key) in allowed


def _not_in(key: str, refused: frozenset[str]) -> Requirement:
    return lambda values: key not in values or values[key] not in refused


def _exists(key: str) -> Requirement:
    return lambda values: key in values


def _absent(key: str) -> Requirement:
    return lambda values: key not in values
