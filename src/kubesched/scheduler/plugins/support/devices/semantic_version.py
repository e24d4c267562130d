"""Semantic versions, as device attributes and CEL expressions write them (blang/semver, as Kubernetes uses it)."""

from __future__ import annotations

import re
from functools import total_ordering
from typing import Final

_DIGITS: Final = re.compile(r"[0-9]+", re.ASCII)
_IDENTIFIER: Final = re.compile(r"[0-9A-Za-z-]+", re.ASCII)


@total_ordering
class SemanticVersion:
    """`major.minor.patch-prerelease`; the build part is read, and does not count in comparisons."""

    __slots__ = ("major", "minor", "patch", "prerelease")

    def __init__(self, major: int, minor: int, patch: int, prerelease: tuple[str, ...] = ()) -> None:
        self.major = major
        self.minor = minor
        self.patch = patch
        self.prerelease = prerelease

    @classmethod
    def parse(cls, text: str) -> SemanticVersion:
        """ValueError with the reason if this is no semantic version."""
        if not text:
            raise ValueError("Version string empty")
        parts = text.split(".", 2)
        if len(parts) != 3:
            raise ValueError("No Major.Minor.Patch elements found")
        rest, _, build = parts[2].partition("+")
        patch, dash, prerelease = rest.partition("-")
        major, minor = _number(parts[0], "major"), _number(parts[1], "minor")
        number = _number(patch, "patch")
        identifiers = tuple(prerelease.split(".")) if dash else ()
        for identifier in identifiers:
            _check_prerelease(identifier)
        if "+" in parts[2]:
            for identifier in build.split("."):
                _check_build(identifier)
        return cls(major, minor, number, identifiers)

    @classmethod
    def parse_tolerantly(cls, text: str) -> SemanticVersion:
        """Also takes a leading `v`, leading zeros, and missing minor and patch numbers (normalizeAndParse)."""
        parts = [_without_leading_zeros(part) for part in text.removeprefix("v").split(".", 2)]
        if len(parts) < 3:
            if any(sign in parts[-1] for sign in "+-"):
                raise ValueError("short version cannot contain PreRelease/Build meta data")
            parts += ["0"] * (3 - len(parts))
        return cls.parse(".".join(parts))

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, SemanticVersion) else NotImplemented

    def __lt__(self, other: SemanticVersion) -> bool:
        return self._key() < other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        """Without the build part: equal versions read the same."""
        release = f"{self.major}.{self.minor}.{self.patch}"
        return f"{release}-{'.'.join(self.prerelease)}" if self.prerelease else release

    def _key(self) -> tuple[object, ...]:
        # A prerelease sorts before its release, numbers sort before words, and fewer identifiers before more.
        identifiers = tuple((0, int(i), "") if i.isdecimal() else (1, 0, i) for i in self.prerelease)
        return self.major, self.minor, self.patch, not self.prerelease, identifiers


def _number(text: str, name: str) -> int:
    if not _DIGITS.fullmatch(text):
        raise ValueError(f'Invalid character(s) found in {name} number "{text}"')
    if len(text) > 1 and text[0] == "0":
        raise ValueError(f'{name.capitalize()} number must not contain leading zeroes "{text}"')
    number = int(text) if len(text) <= 20 else 1 << 64
    if number >= 1 << 64:
        raise ValueError(f'strconv.ParseUint: parsing "{text}": value out of range')
    return number


def _check_prerelease(identifier: str) -> None:
    if not identifier:
        raise ValueError("Prerelease is empty")
    if _DIGITS.fullmatch(identifier):
        if len(identifier) > 1 and identifier[0] == "0":
            raise ValueError(f'Numeric PreRelease version must not contain leading zeroes "{identifier}"')
    elif not _IDENTIFIER.fullmatch(identifier):
        raise ValueError(f'Invalid character(s) found in prerelease "{identifier}"')


def _check_build(identifier: str) -> None:
    if not identifier:
        raise ValueError("Build meta data is empty")
    if not _IDENTIFIER.fullmatch(identifier):
        raise ValueError(f'Invalid character(s) found in build meta data "{identifier}"')


def _without_leading_zeros(part: str) -> str:
    if len(part) <= 1:
        return part
    stripped = part.lstrip("0")
    return stripped if stripped[:1].isdecimal() else "0" + stripped
