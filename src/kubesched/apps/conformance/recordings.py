"""Recordings: files of cases that another scheduler decided. docs/conformance.md describes them."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from kubesched.config import FeatureGates
from kubesched.config.versions import Version
from kubesched.errors import ConfigurationError, InvalidObjectError

PATTERNS: Final = ("*.json", "*.json.gz")


class _Case(msgspec.Struct):
    name: str
    objects: list[dict[str, Any]]
    expected: dict[str, Any]
    pod: dict[str, Any] | None = None
    pods: list[dict[str, Any]] | None = None

    def __post_init__(self) -> None:
        if (self.pod is None) == (self.pods is None):
            raise ValueError("expected either `pod` or `pods`")


class _Recording(msgspec.Struct, rename="camel"):
    area: str
    cases: list[_Case]
    kube_scheduler_version: str = ""


@dataclass(frozen=True, slots=True)
class Recording:
    """The recorded cases of an area. `gates` are those of the version that decided them."""

    area: str
    cases: Sequence[Mapping[str, Any]]
    gates: FeatureGates


def recordings(path: Path) -> Iterator[Recording]:
    """Of a file, or of every JSON file below a folder, compressed or not. InvalidObjectError if one is no recording."""
    files = sorted(file for pattern in PATTERNS for file in path.rglob(pattern)) if path.is_dir() else [path]
    if not files:
        raise InvalidObjectError("no recordings (*.json) here", name=str(path))
    for file in files:
        try:
            content = msgspec.json.decode(_content(file))
            gates = _gates_of(msgspec.convert(content, _Recording).kube_scheduler_version)
        except (OSError, EOFError) as error:
            problem = (error.strerror if isinstance(error, OSError) else None) or error
            raise InvalidObjectError(f"cannot be read: {problem}", name=str(file)) from error
        except msgspec.DecodeError as error:
            raise InvalidObjectError(f"not a recording: {error}", name=str(file)) from error
        except ConfigurationError as error:
            raise InvalidObjectError(f"not a recording: kubeSchedulerVersion: {error}", name=str(file)) from error
        yield Recording(content["area"], content["cases"], gates)


def _gates_of(version: str) -> FeatureGates:
    """Those of the recorded version, the current one if none is named."""
    return FeatureGates.parse("", emulated_version=str(Version.parse(version)) if version else "")


def _content(file: Path) -> bytes:
    return gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
