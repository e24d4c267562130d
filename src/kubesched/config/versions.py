"""Kubernetes' minor versions, and which of them can be asked for."""

from __future__ import annotations

from typing import Final, NamedTuple

from kubesched.errors import ConfigurationError


class Version(NamedTuple):
    """A Kubernetes minor version."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"

    @classmethod
    def parse(cls, text: str) -> Version:
        """Read `1.36`, `v1.36` or, with a patch number that is left out, `v1.36.4`; ConfigurationError otherwise."""
        major, minor, *patch = [*text.removeprefix("v").split("."), ""][:3]
        if not (major.isdecimal() and minor.isdecimal() and (patch == [""] or patch[0].isdecimal())):
            raise ConfigurationError([f'could not parse "{text}" as version'])
        return cls(int(major), int(minor))


CURRENT_VERSION: Final = Version(1, 37)
OLDEST_EMULATED_VERSION: Final = Version(1, 34)
