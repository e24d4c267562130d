"""Label selectors as text, as in `kubectl get -l`: `a=b,c!=d,e in (x,y),f notin (z),g,!h,i>5` (labels.Parse)."""

from __future__ import annotations

import re
from typing import Final

from kubesched.errors import InvalidObjectError
from kubesched.objects.label_syntax import label_key_problems
from kubesched.objects.requirements import Operator, Requirement, invalid
from kubesched.objects.selectors import Selector, checked_requirement

_ITEM: Final = re.compile(r"[ \t\r\n]*(==|!=|[=!(),><]|[^=!(),>< \t\r\n]+)")
_END: Final = ""
_SYMBOLS: Final = frozenset(("==", "!=", "=", "!", "(", ")", ",", ">", "<"))
_OPERATORS: Final = {
    "in": Operator.IN,
    "notin": Operator.NOT_IN,
    "=": Operator.IN,
    "==": Operator.IN,
    "!=": Operator.NOT_IN,
    ">": Operator.GT,
    "<": Operator.LT,
}
_OPERATOR_NAMES: Final = "in, notin, =, ==, !=, gt, lt"


def parse_label_selector(text: str) -> Selector:
    """The selector that `text` describes; an empty text selects everything."""
    return Selector.of(_Parser(text).requirements())


class _Parser:
    def __init__(self, text: str) -> None:
        self._items: list[str] = [*_ITEM.findall(text), _END]
        self._position = 0

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
        while (item := self._peek()) != _END:
            if not _is_identifier(item) and item != "!":
                raise InvalidObjectError(f"found '{item}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self._requirement())
            except InvalidObjectError as error:
                raise InvalidObjectError(f"unable to parse requirement: {error}") from None
            separator = self._take()
            if separator == _END:
                break
            if separator != ",":
                raise InvalidObjectError(f"found '{separator}', expected: ',' or 'end of string'")
            following = self._peek()
            if not _is_identifier(following) and following != "!":
                raise InvalidObjectError(f"found '{following}', expected: identifier after ','")
        return found

    def _requirement(self) -> Requirement:
        negated = self._peek() == "!"
        if negated:
            self._take()
        key = self._take()
        if not _is_identifier(key):
            raise InvalidObjectError(f"found '{key}', expected: identifier")
        if problems := label_key_problems(key):
            raise InvalidObjectError(invalid("<nil>", key, "; ".join(problems)))
        if negated:
            return checked_requirement(key, Operator.DOES_NOT_EXIST, ())
        if self._peek() in (_END, ","):
            return checked_requirement(key, Operator.EXISTS, ())
        item = self._take()
        operator = _OPERATORS.get(item)
        if operator is None:
            raise InvalidObjectError(f"found '{item}', expected: {_OPERATOR_NAMES}")
        values = self._values() if item in ("in", "notin") else self._exact_value()
        return checked_requirement(key, operator, values)

    def _values(self) -> tuple[str, ...]:
        opening = self._take()
        if opening != "(":
            raise InvalidObjectError(f"found '{opening}' expected: '('")
        values: list[str] = []
        expects_value = True
        while (item := self._take()) != ")":
            if item == ",":
                if expects_value:
                    values.append("")
                expects_value = True
            elif _is_identifier(item) and expects_value:
                values.append(item)
                expects_value = False
            else:
                wanted = "',', ')' or identifier" if expects_value else "',' or ')'"
                raise InvalidObjectError(f"found '{item}', expected: {wanted}")
        if expects_value:
            values.append("")
        return tuple(sorted(set(values)))

    def _exact_value(self) -> tuple[str, ...]:
        if self._peek() in (_END, ","):
            return ("",)
        value = self._take()
        if not _is_identifier(value):
            raise InvalidObjectError(f"found '{value}', expected: identifier")
        return (value,)

    def _peek(self) -> str:
        return self._items[self._position]

    def _take(self) -> str:
        item = self._items[self._position]
        self._position = min(self._position + 1, len(self._items) - 1)
        return item


def _is_identifier(item: str) -> bool:
    return item != _END and item not in _SYMBOLS
