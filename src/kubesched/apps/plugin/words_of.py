"""The strings that a plugin's code contains: the labels, values and resources that it may look for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any, Final

from kubesched.scheduler.framework import Plugin

LABEL: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._/-]{0,60}[A-Za-z0-9])?")
MOST_WORDS: Final = 12


def words_of(plugin: type[Plugin], args: Any) -> list[str]:
    """Those that can be labels, in a fixed order: keys with a prefix first.

    From its arguments, its methods, and the constants and functions of its module that these use.
    """
    found = set(_strings(args, set()))
    seen: set[int] = set()
    for owner in plugin.__mro__:
        if not owner.__module__.startswith(("kubesched.scheduler", "builtins")):
            for name, value in vars(owner).items():
                if not name.startswith("__") or isinstance(value, FunctionType):
                    found |= set(_strings(value, seen))
    usable = [word for word in found if LABEL.fullmatch(word) and word != plugin.name]
    return sorted(usable, key=lambda word: ("/" not in word, word))[:MOST_WORDS]


def _strings(value: Any, seen: set[int]) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for key, one in value.items():
                yield from _strings(key, seen)
                yield from _strings(one, seen)
        case list() | tuple() | set() | frozenset():
            for one in value:
                yield from _strings(one, seen)
        case FunctionType() if id(value) not in seen:
            seen.add(id(value))
            yield from _of_code(value.__code__, value, seen)
        case _:
            return


def _of_code(code: CodeType, function: FunctionType, seen: set[int]) -> Iterator[str]:
    """The constants of a function, and those of its module that it names."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _of_code(constant, function, seen)
        elif constant != function.__doc__:
            yield from _strings(constant, seen)
    for name in code.co_names:
        value = function.__globals__.get(name)
        if not isinstance(value, FunctionType) or value.__module__ == function.__module__:
            yield from _strings(value, seen)
