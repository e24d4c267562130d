"""YAML that anybody may have written: its values, or a `yaml.YAMLError` whatever is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

import yaml

DEEPEST: Final = 1000
"""Levels of lists and objects. PyYAML's C code calls itself for each: far deeper ones end the process."""

T = TypeVar("T")

_OPENING: Final = (yaml.SequenceStartEvent, yaml.MappingStartEvent)
_CLOSING: Final = (yaml.SequenceEndEvent, yaml.MappingEndEvent)
_NAMELESS: Final = re.compile(r'\s*in "<\w+ string>",')


class NestedTooDeeplyError(yaml.YAMLError):
    def __init__(self) -> None:
        super().__init__("nested too deeply")


def load_yaml(text: str | bytes, loader: Any) -> Any:
    """The value of a text that holds one document."""
    return _guarded(text, lambda: yaml.load(text, loader))  # noqa: S506 - a loader derived from the safe one


def load_yaml_documents(text: str | bytes, loader: Any) -> list[Any]:
    """The values of all documents of a text."""
    return _guarded(text, lambda: list(yaml.load_all(text, loader)))


def _guarded(text: str | bytes, load: Callable[[], T]) -> T:
    if _may_be_deep(text):
        _refuse_deep(text)
    try:
        return load()
    except RecursionError as error:
        raise NestedTooDeeplyError from error
    except ValueError as error:  # a number of thousands of digits, an impossible time, text that is no UTF-8
        raise yaml.YAMLError(str(error)) from error


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
