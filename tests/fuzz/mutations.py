"""Structured mutations: from a valid object to one that is nearly valid, and from two objects to a patch.

Everything is drawn from one `Random`: the same seed gives the same requests.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any, Final

Path = tuple[Any, ...]

NASTY: Final[list[Any]] = [
    *(None, True, False, 0, 1, -1, 2**31, -(2**31) - 1, 2**63, 10**400, 0.5, 1e308),
    *(
        "",
        " ",
        "a",
        "-",
        "A_B",
        "x" * 64,
        "x" * 300,
        "\u0000",
        "é",
        "💥",
        "../..",
        "a/b/c",
        "10%",
        "100Gi",
        "-1",
        "1e99",
    ),
    *("2024-02-30T00:00:00Z", "9999-12-31T23:59:59Z", "10.0.0.300", "::1", "*", "In", "Exists", "$(x)", "null"),
    *([], {}, [None], [[]], [{}], {"": ""}, {"a": None}, ["a", "a"], [1, "a"], {"name": "a"}),
]
DIRECTIVES: Final = ("replace", "delete", "merge", "nonsense")


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """Where there is something in it, the whole included."""
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places(item, (*path, index))


def at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def mutated(value: Any, donors: list[Any], rng: Random) -> Any:
    """A copy with one to four changes; `donors` are other objects whose parts are put where they do not belong."""
    made = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        made = _change(made, donors, rng)
    return made


def _change(value: Any, donors: list[Any], rng: Random) -> Any:
    inner = [path for path in places(value) if path]
    if not inner:
        return rng.choice(NASTY)
    path = rng.choice(inner)
    parent, key = at(value, path[:-1]), path[-1]
    match rng.randrange(7):
        case 0:
            del parent[key]
        case 1 | 2:
            parent[key] = copy.deepcopy(rng.choice(NASTY))
        case 3:
            donor = rng.choice(donors)
            parent[key] = copy.deepcopy(at(donor, rng.choice(list(places(donor)))))
        case 4 if isinstance(parent, list):
            parent[key:key] = [copy.deepcopy(parent[key]) for _ in range(rng.choice((1, 2, 50)))]
        case 5 if isinstance(parent, dict):
            parent[rng.choice(("x", "", "$patch", "apiVersion", "a.b", "é", "\r\n", str(key).upper()))] = parent[key]
        case _:
            other = rng.choice(inner)
            parent[key] = copy.deepcopy(at(value, other))
    return value


def encoded(value: Any, rng: Random) -> bytes:
    """As JSON; now and then with a key that is given twice, a lone surrogate, or a byte that is wrong."""
    text = json.dumps(value).encode()
    match rng.randrange(20):
        case 0:
            return text.replace(b"{", b'{"a":1,"a":2,', 1).replace(b",}", b"}")
        case 1:
            return text.replace(b'":', b'\\ud800":', 1)
        case 2:
            position = rng.randrange(len(text) + 1)
            return text[:position] + bytes([rng.randrange(256)]) + text[position:]
        case 3:
            return text[: rng.randrange(len(text) + 1)]
    return text


def json_patch(value: Any, donors: list[Any], rng: Random) -> Any:
    """Up to four operations, most of them about places that there are."""

    def pointer() -> str:
        path = list(rng.choice(list(places(value))))
        if rng.random() < 0.3:
            path.append(rng.choice(("-", "0", "99", "x", "", "~1", "metadata", "-1", "01", "💥")))
        return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)

    operations = []
    for _ in range(rng.randrange(5)):
        donor = rng.choice(donors)
        item = rng.choice((rng.choice(NASTY), at(donor, rng.choice(list(places(donor))))))
        kind = rng.choice(("add", "replace", "remove", "move", "copy", "test", "nonsense"))
        operation: dict[str, Any] = {"op": kind, "path": pointer(), "value": item, "from": pointer()}
        for key in list(operation):
            if rng.random() < 0.05:
                operation[key] = rng.choice(NASTY)
        operations.append(operation)
    return rng.choice(NASTY) if rng.random() < 0.03 else operations


def merge_patch(value: Any, donors: list[Any], rng: Random, *, strategic: bool) -> Any:
    """A part of a mutated object; a strategic one may carry directives."""
    patch = mutated(value, donors, rng)
    for path in sorted(places(patch), key=len, reverse=True):
        if len(path) > 1 and rng.random() < 0.3:
            parent = at(patch, path[:-1])
            if isinstance(parent, dict):
                parent.pop(path[-1], None)
    if strategic and rng.random() < 0.5:
        objects = [path for path in places(patch) if isinstance(at(patch, path), dict)]
        if objects:
            chosen = at(patch, rng.choice(objects))
            field = rng.choice(("containers", "finalizers", "ports", "tolerations", "x"))
            directives: list[tuple[str, Any]] = [
                ("$patch", rng.choice(DIRECTIVES)),
                ("$retainKeys", [field]),
                (f"$setElementOrder/{field}", rng.choice(([{"name": "a"}], ["a"], [1], [{}], "a"))),
                (f"$deleteFromPrimitiveList/{field}", rng.choice((["a"], "a", [{}]))),
            ]
            directive, given = rng.choice(directives)
            chosen[directive] = given
    return patch
