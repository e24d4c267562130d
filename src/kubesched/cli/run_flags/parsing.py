"""Reading a command line as Go's pflag does: `--name value`, `--name=value`, `-v5`, bare booleans, underscores."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubesched.cli.run_flags.table import FLAGS, SHORTHANDS, Flag
from kubesched.errors import ConfigurationError


@dataclass(frozen=True, kw_only=True)
class FlagValues:
    """The value of every flag, and which were given."""

    values: Mapping[str, Any]
    given: frozenset[str]

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def shown(self) -> dict[str, str]:
        """Every flag with its value as text, for /flagz."""
        return {name: flag.type.show(self.values[name]) for name, flag in FLAGS.items()}


def parse_flags(arguments: Sequence[str]) -> FlagValues:
    """Raises ConfigurationError about the first argument that is wrong, in pflag's words."""
    values: dict[str, Any] = {name: flag.default for name, flag in FLAGS.items()}
    given: set[str] = set()
    for flag, shown_name, text in _occurrences(arguments):
        try:
            value = flag.type.read(text)
        except ValueError as error:
            problem = f'invalid argument {json.dumps(text)} for "{shown_name}" flag: {error}'
            raise ConfigurationError([problem]) from error
        if flag.type.merge is not None and flag.name in given:
            value = flag.type.merge(values[flag.name], value)
        values[flag.name] = value
        given.add(flag.name)
    return FlagValues(values=values, given=frozenset(given))


def _occurrences(arguments: Sequence[str]) -> Iterator[tuple[Flag, str, str]]:
    """(flag, its name for messages, its text) in order."""
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "--" and not any(rest):
            return
        if argument.startswith("--") and argument != "--":
            yield _long(argument[2:], rest)
        elif argument.startswith("-") and len(argument) > 1 and argument != "--":
            yield _short(argument[1:], rest)
        elif argument:
            extra = json.dumps([argument, *rest] if argument != "--" else rest)
            raise ConfigurationError([f'"kubesched run" does not take any arguments, got {extra}'])


def _long(argument: str, rest: list[str]) -> tuple[Flag, str, str]:
    name, equals, text = argument.partition("=")
    flag = FLAGS.get(name.replace("_", "-"))
    if flag is None:
        raise ConfigurationError([f"unknown flag: --{name}"])
    shown_name = f"-{flag.short}, --{flag.name}" if flag.short else f"--{flag.name}"
    return flag, shown_name, text if equals else _following(flag, f"--{name}", rest)


def _short(argument: str, rest: list[str]) -> tuple[Flag, str, str]:
    letter, text = argument[0], argument[1:]
    flag = SHORTHANDS.get(letter)
    if flag is None:
        raise ConfigurationError([f"unknown shorthand flag: '{letter}' in -{argument}"])
    shown_name = f"-{flag.short}, --{flag.name}"
    if not text:
        return flag, shown_name, _following(flag, f"-{letter}", rest)
    return flag, shown_name, text.removeprefix("=")


def _following(flag: Flag, name: str, rest: list[str]) -> str:
    if flag.type.bare is not None:
        return flag.type.bare
    if not rest:
        raise ConfigurationError([f"flag needs an argument: {name}"])
    return rest.pop(0)
