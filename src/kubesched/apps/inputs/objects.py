"""The objects that a command works on: from files, folders, standard input or a trace, or else from a live cluster."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from kubesched.apps.inputs.live_cluster import fetch_objects
from kubesched.apps.inputs.traces import is_trace, state_of
from kubesched.config import FeatureGates
from kubesched.errors import ConfigurationError
from kubesched.objects.manifests import decode_all, load_documents, read_documents, split_foreign

STANDARD_INPUT: Final = "standard input"


class LoadedObjects(NamedTuple):
    objects: list[Any]
    left_out: list[str]
    """Kinds that scheduling does not look at, sorted."""


def load_objects(paths: Sequence[Path] | None, kubeconfig: str, gates: FeatureGates, *, at: str = "") -> LoadedObjects:
    """Everything that scheduling reads in these files (`-` is standard input); without any, in the cluster.

    A file may be a trace; then it is the state at a moment, `at` (its end, if empty).
    InvalidObjectError names the file and the document, TraceError the file and the line; ConfigurationError and
    ClientError as `fetch_objects`.
    """
    traces = [path for path in paths or () if is_trace(path)]
    if at and not traces:
        raise ConfigurationError(["--at is a moment of a trace, and none is given (-f)"])
    if not paths:
        return LoadedObjects(asyncio.run(fetch_objects(kubeconfig, gates)), [])
    known, foreign = split_foreign(document for path in paths if path not in traces for document in documents_of(path))
    recorded = [obj for path in traces for obj in state_of(path, at)]
    return LoadedObjects([*recorded, *decode_all(known)], foreign)


def read_standard_input() -> str:
    """All of it; ConfigurationError if it is no UTF-8."""
    try:
        text = sys.stdin.read()
        text.encode()  # in some locales, what is no text comes as surrogates
    except UnicodeError as error:
        raise ConfigurationError([f"{STANDARD_INPUT} is not UTF-8 text"]) from error
    return text


def documents_of(path: Path) -> Iterator[tuple[str, Any]]:
    """The manifests of a file, a folder or (`-`) standard input, each with the words for where it is."""
    return load_documents(read_standard_input(), STANDARD_INPUT) if path == Path("-") else read_documents(path)
