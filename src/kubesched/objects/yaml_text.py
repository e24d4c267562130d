"""YAML that anybody may have written: its values, or a `yaml.YAMLError` whatever is wrong with it."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

import yaml

DEEPEST: Final = 1000
"""Levels of lists and objects. PyYAML's C code calls itself for each: far deeper ones end the process."""

MOST_MERGED: Final = 100_000
"""Pairs that merge keys (`<<`) bring into all objects of a text: each line can double what the one before it has."""
MOST_VALUES: Final = 1_000_000
"""Values of a text whose aliases are written out: JSON has none, and ten lines can stand for a billion values."""

T = TypeVar("T")

_OPENING: Final = (yaml.SequenceStartEvent, yaml.MappingStartEvent)
_CLOSING: Final = (yaml.SequenceEndEvent, yaml.MappingEndEvent)
_NAMELESS: Final = re.compile(r'\s*in "<\w+ string>",')


class NestedTooDeeplyError(yaml.YAMLError):
    def __init__(self) -> None:
        super().__init__("nested too deeply")


def load_yaml(text: str | bytes, loader: Any) -> Any:
    """The value of a text that holds one document."""
    return _guarded(text, lambda: yaml.load(text, _bounded(loader)))  # noqa: S506 - a loader derived from the safe one


def load_yaml_documents(text: str | bytes, loader: Any) -> list[Any]:
    """The values of all documents of a text."""
    return _guarded(text, lambda: list(yaml.load_all(text, _bounded(loader))))


def _guarded(text: str | bytes, load: Callable[[], T]) -> T:
    if _may_be_deep(text):
        _refuse_deep(text)
    try:
        value = load()
        if _has_aliases(text):
            _refuse_large(value)
        return value
    except RecursionError as error:
        raise NestedTooDeeplyError from error
    except ValueError as error:  # a number of thousands of digits, an impossible time, text that is no UTF-8
        raise yaml.YAMLError(str(error)) from error


class TooManyAliasesError(yaml.YAMLError):
    def __init__(self) -> None:
        super().__init__("document contains excessive aliasing")


@functools.cache
def _bounded(loader: Any) -> Any:
    """The loader, with a limit of what merge keys bring in."""

    class Bounded(loader):  # type: ignore[misc]  # its base is a value
        merged = 0

        def flatten_mapping(self, node: yaml.MappingNode) -> None:
            for key, value in node.value:
                if key.tag == "tag:yaml.org,2002:merge":
                    parts = value.value if isinstance(value, yaml.SequenceNode) else [value]
                    for part in parts:
                        if isinstance(part, yaml.MappingNode):
                            self.flatten_mapping(part)
                            self._count(len(part.value))
            super().flatten_mapping(node)

        def _count(self, pairs: int) -> None:
            self.merged += pairs
            if self.merged > MOST_MERGED:
                raise TooManyAliasesError

    return Bounded


def _has_aliases(text: str | bytes) -> bool:
    return ("*" if isinstance(text, str) else b"*") in text  # type: ignore[operator]  # of the same type


def _refuse_large(value: Any) -> None:
    """Count the values as if every alias were written out; each list and object is looked at once."""
    sizes: dict[int, int] = {}

    def size(item: Any) -> int:
        if not isinstance(item, dict | list):
            return 1
        known = sizes.get(id(item))
        if known is None:
            children = item.values() if isinstance(item, dict) else item
            known = sizes[id(item)] = 1 + sum(map(size, children))
            if known > MOST_VALUES:
                raise TooManyAliasesError
        return known

    size(value)


def yaml_problem(error: yaml.YAMLError) -> str:
    """What is wrong, and where, in one line."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return " ".join(_NAMELESS.sub(" at", str(error)).split())
    where = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
    return where + ", ".join(part for part in (error.context, error.problem) if part)


def _may_be_deep(text: str | bytes) -> bool:
    """A level takes a bracket, or a column of its own: most texts have too few of both."""
    data = text.encode(errors="replace") if isinstance(text, str) else text
    return data.count(b"[") + data.count(b"{") > DEEPEST or any(len(line) > DEEPEST for line in data.splitlines())


def _refuse_deep(text: str | bytes) -> None:
    depth = 0
    for event in yaml.parse(text, yaml.CSafeLoader):
        depth += isinstance(event, _OPENING) - isinstance(event, _CLOSING)
        if depth > DEEPEST:
            raise NestedTooDeeplyError
