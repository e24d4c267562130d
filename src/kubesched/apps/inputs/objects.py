"""The objects that a command works on: from files, folders, standard input or a trace, or else from a live cluster."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from kubesched.apps.inputs.live_cluster import fetch_objects
from kubesched.apps.inputs.traces import STANDARD_INPUT, source_of, state_of
from kubesched.config import FeatureGates
from kubesched.errors import ConfigurationError
from kubesched.objects.manifests import decode_all, load_documents, read_documents, split_declared, split_foreign
from kubesched.traces import Source
from kubesched.traces.formats.manifests import LARGEST

NO_TRACE: Final = "--at is a moment of a trace, and none is given (-f)"


class LoadedObjects(NamedTuple):
    objects: list[Any]
    left_out: list[str]
    """Kinds that scheduling does not look at, sorted."""


def load_objects(
    paths: Sequence[Path] | None,
    kubeconfig: str,
    gates: FeatureGates,
    *,
    at: str = "",
    for_plugins: Iterable[type] = (),
) -> LoadedObjects:
    """Everything that scheduling reads in these files (`-` is standard input); without any, in the cluster.

    `for_plugins` are kinds that only plugins read.
    A file may be a trace; then it is the state at a moment, `at` (its end, if empty).
    InvalidObjectError names the file and the document, TraceError the file and the line; ConfigurationError and
    ClientError as `fetch_objects`.
    """
    if not paths:
        if at:
            raise ConfigurationError([NO_TRACE])
        return LoadedObjects(asyncio.run(fetch_objects(kubeconfig, gates, for_plugins)), [])
    recorded: list[Any] = []
    documents: list[tuple[str, Any]] = []
    has_trace = False
    for path in paths:
        source = source_of(path)
        if (state := state_of(source, at)) is not None:
            has_trace = True
            recorded += state
        else:
            documents += _documents(source)
    if at and not has_trace:
        raise ConfigurationError([NO_TRACE])
    declared, others = split_declared(documents, for_plugins)
    known, foreign = split_foreign(others)
    return LoadedObjects([*recorded, *decode_all(known), *declared], foreign)


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
    return _documents(source_of(path))


def _documents(source: Source) -> Iterator[tuple[str, Any]]:
    if source.path is not None and (source.is_plain_file or not source.path.is_file()):
        return read_documents(source.path)
    try:
        return load_documents(source.lines().whole(LARGEST).decode(), source.name)
    except UnicodeDecodeError as error:
        raise ConfigurationError([f"{source.name} is not UTF-8 text"]) from error
