"""Files of our own, such as experiments: YAML read strictly into structs. What is wrong is said with file and line.

The structs forbid unknown fields (`SpecStruct`). Scheduler configurations do not come this way: they follow the rules
of Kubernetes' own decoder (`config.decode`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import yaml

from kubesched.config.document import Document, parse_document
from kubesched.config.load import read_text
from kubesched.errors import ConfigurationError, InvalidObjectError
from kubesched.objects import convert

SpecT = TypeVar("SpecT", bound=msgspec.Struct)
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(.*)`")
_STEP: Final = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")


class SpecStruct(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Base of everything in such a file: frozen, keyword-only, camelCase in the file, no other keys."""


def read_spec(path: Path, into: type[SpecT]) -> SpecT:
    """The struct in a file. ConfigurationError in one line, `file:line: field: problem`, if it does not fit."""
    text = read_text(path)
    try:
        document = parse_document(text)
    except ConfigurationError as error:
        raise ConfigurationError([f"{path}: {problem}" for problem in error.problems]) from error
    lines = Lines(text, str(path))
    for where, name in _duplicates(document):
        raise lines.problem(f"{where}.{name}".lstrip("."), "the key is there twice")
    try:
        return convert(document, into)
    except InvalidObjectError as error:
        unknown = _UNKNOWN.fullmatch(error.problem)
        if unknown is None:
            raise lines.problem(error.path, error.problem) from error
        field = f"{error.path}.{unknown[1]}".lstrip(".")
        raise lines.problem(field, "unknown key") from error


class Lines:
    """Where the fields of a YAML text stand. `name` is the file's."""

    def __init__(self, text: str, name: str) -> None:
        self._name = name
        self._root = next(yaml.compose_all(text, yaml.CSafeLoader), None)  # empty documents may follow

    def problem(self, path: str, problem: str) -> ConfigurationError:
        """An error about the field at this path, e.g. `nodes[2].count`; about the nearest one that is there."""
        field = f"{path}: " if path else ""
        return ConfigurationError([f"{self._name}:{self._line(path)}: {field}{problem}"])

    def _line(self, path: str) -> int:
        node, line = self._root, 1
        for name, index in _STEP.findall(path):
            if isinstance(node, yaml.MappingNode):
                found = [(key, value) for key, value in node.value if key.value == name]
                if not found:
                    break
                line, node = found[0][0].start_mark.line + 1, found[0][1]
            elif isinstance(node, yaml.SequenceNode) and index and int(index) < len(node.value):
                node = node.value[int(index)]
                line = node.start_mark.line + 1
            else:
                break
        return line


def _duplicates(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Document):
        yield from ((path, name) for name in value.duplicates)
        for name, item in value.items():
            yield from _duplicates(item, f"{path}.{name}".lstrip("."))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _duplicates(item, f"{path}[{index}]")
