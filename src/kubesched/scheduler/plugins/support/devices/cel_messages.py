"""What the CEL library says, in the words of cel-go: those are what users of Kubernetes know and search for."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

_ENTRY: Final = re.compile(
    r"ERROR: <input>:(?P<line>\d+):(?P<column>\d+): (?P<problem>[^\n]*)(?P<rest>\n \| [^\n]*\n \| \.*\^)?"
)
_DOTTED_NAME: Final = re.compile(r"undeclared reference to '(?P<name>[^']*\.[^']*)' \(in container ''\)")
_CALL: Final = re.compile(r"found no matching overload for '(?P<name>\w+)' applied to '\((?P<types>.+)\)'")
_NO_FIELDS: Final = "expression of type 'kubernetes.DRADevice' cannot be the operand of a select operation"
_FIELD: Final = re.compile(r"\(?\s*(?:device)?\s*\.\s*(\w+)")

MISSING_KEY: Final = re.compile(r'NOT_FOUND: Key not found in map : "?(?P<key>.*?)"?', re.DOTALL)
_NO_OVERLOAD: Final = re.compile(r"UNKNOWN: No matching overloads found : (?P<call>.*)", re.DOTALL)
_MEMBER_CALL: Final = re.compile(r"(?:\((?P<target>[^)]*)\)\.)?(?P<name>[\w.]+)\((?P<rest>.*)\)")
_COMPARISON: Final = re.compile(r"(?P<name>_[<>]=?_)\((?:list|bytes|map), .*\)")
_INDEX: Final = re.compile(
    r"UNKNOWN: Index error: (?:index=(?P<index>-?\d+) size=.*|expected integer type, got (?P<type>.*))"
)
_CONVERSION: Final = re.compile(r"[A-Z_]+: cannot convert (?P<source>string|u?int|double|bool) to (?P<target>\w+)")
_TOO_MANY_ITERATIONS: Final = "Iteration budget exceeded"
_STATUS_PREFIX: Final = re.compile(r"[A-Z_]+: ")

NOT_ITERABLE: Final = "UNKNOWN: No matching overloads found : <iter_range>"
_ITERATION: Final = re.compile(
    r'device\.attributes\["(?P<domain>[^"]*)"\]\.(?P<name>\w+)\.(?:all|exists|exists_one|filter|map)\('
)
_GO_TYPES: Final = {bool: "types.Bool", int: "types.Int", str: "types.String", bytes: "cel.Semver"}


def compile_problem(message: str, expression: str) -> str:
    """Of an expression that was refused before it ran."""
    text = message.removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]")
    return _ENTRY.sub(lambda entry: _entry(entry, expression.split("\n")), text)


def result_type_problem(name: str) -> str:
    """Of an expression with a result that is no bool; `MAP<STRING, ERROR>` reads `map(string, ...)` there."""
    words = re.sub(r"\b[A-Z]+\b", lambda m: "google.protobuf.Any" if m[0] == "ERROR" else m[0].lower(), name)
    return f"must evaluate to bool or the unknown type, not {words.replace('<', '(').replace('>', ')')}"


def run_time_problem(message: str, functions: Collection[str]) -> str:
    """Of an expression without an answer. `functions` are those that are none of CEL's own."""
    if missing := MISSING_KEY.fullmatch(message):
        return f"no such key: {missing['key']}"
    if unknown := _NO_OVERLOAD.fullmatch(message):
        if unordered := _COMPARISON.fullmatch(unknown["call"]):
            return f"no such overload: {unordered['name']}"
        member = _MEMBER_CALL.fullmatch(unknown["call"])
        if member is not None and member["name"] == "size":
            return "no such overload: size"
        if member is None or member["name"] not in functions:
            return "no such overload"
        types = ", ".join(filter(None, (member["target"], member["rest"])))
        names = types.replace("int64", "int").replace("bytes", "kubernetes.Quantity")
        return f"no such overload: {member['name']}({names})"
    if index := _INDEX.fullmatch(message):
        if index["index"] is not None:
            return f"index out of bounds: {index['index']}"
        return f"unsupported index type '{index['type']}' in list"
    if _TOO_MANY_ITERATIONS in message:
        return "operation cancelled: too many iterations"
    if conversion := _CONVERSION.fullmatch(message):
        return f"type conversion error from '{conversion['source']}' to '{conversion['target']}'"
    return _STATUS_PREFIX.sub("", message, count=1).replace("divide by zero", "division by zero")


def iteration_problem(expression: str, attributes: Mapping[str, Mapping[str, object]]) -> str:
    """Of an expression that goes through the values of an attribute that is no list on this device."""
    for iteration in _ITERATION.finditer(expression):
        value = attributes.get(iteration["domain"], {}).get(iteration["name"])
        if (name := _GO_TYPES.get(type(value))) is not None:
            return f"got '{name}', expected iterable type"
    return "no such overload"


def not_a_bool(value: object) -> str:
    """Of an expression that turned out not to be a condition."""
    if isinstance(value, str):
        reason = "string could not be converted to bool: unsupported native conversion from string to 'bool'"
    elif isinstance(value, int):
        reason = "int could not be converted to bool: unsupported type conversion from 'int' to bool"
    elif isinstance(value, list):
        reason = "list could not be converted to bool: type conversion error from list to 'bool'"
    elif isinstance(value, (bytes, bytearray)):
        reason = "kubernetes.Semver could not be converted to bool: type conversion error from 'Semver' to 'bool'"
    else:
        reason = f"{type(value).__name__} could not be converted to bool"
    return f"CEL result of type {reason}"


def _entry(entry: re.Match[str], lines: list[str]) -> str:
    line, column, problem = int(entry["line"]), int(entry["column"]), entry["problem"]
    source = lines[line - 1] if line <= len(lines) else ""
    if problem == _NO_FIELDS:
        field = _FIELD.match(source[column - 1 :])
        problem = f"undefined field '{field[1] if field else ''}'"
    elif dotted := _DOTTED_NAME.fullmatch(problem):
        first = dotted["name"].split(".")[0]
        column -= len(dotted["name"].rsplit(".", 1)[0])
        problem = f"undeclared reference to '{first}' (in container '')"
    elif call := _CALL.fullmatch(problem):
        if re.search(rf"\.\s*{call['name']}\s*$", source[: column - 1]):
            target, _, rest = call["types"].partition(", ")
            problem = f"found no matching overload for '{call['name']}' applied to '{target}.({rest})'"
    else:
        problem = problem.replace("cannot be the range of", "cannot be range of")
    where = f"\n | {source}\n | {'.' * (column - 1)}^" if entry["rest"] else ""
    return f"ERROR: <input>:{line}:{column}: {problem}{where}"
