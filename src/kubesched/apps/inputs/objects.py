"""The objects that a command works on: from files, folders or standard input, or else from a live cluster."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from kubesched.apps.inputs.live_cluster import fetch_objects
from kubesched.config import FeatureGates
from kubesched.errors import ConfigurationError
from kubesched.objects.manifests import decode_all, load_documents, read_documents, split_foreign

STANDARD_INPUT: Final = "standard input"


class LoadedObjects(NamedTuple):
    objects: list[Any]
    left_out: list[str]
    """Kinds that scheduling does not look at, sorted."""


def load_objects(paths: Sequence[Path] | None, kubeconfig: str, gates: FeatureGates) -> LoadedObjects:
    """Everything that scheduling reads in these files (`-` is standard input); without any, in the cluster.

    InvalidObjectError names the file and the document; ConfigurationError and ClientError as `fetch_objects`.
    """
    if not paths:
        return LoadedObjects(asyncio.run(fetch_objects(kubeconfig, gates)), [])
    known, foreign = split_foreign(document for path in paths for document in _documents(path))
    return LoadedObjects(decode_all(known), foreign)


def read_standard_input() -> str:
    """All of it; ConfigurationError if it is no UTF-8."""
    try:
        text = sys.stdin.read()
        text.encode()  # in some locales, what is no text comes as surrogates
    except UnicodeError as error:
        raise ConfigurationError([f"{STANDARD_INPUT} is not UTF-8 text"]) from error
    return text


def _documents(path: Path) -> Iterator[tuple[str, Any]]:
    return load_documents(read_standard_input(), STANDARD_INPUT) if path == Path("-") else read_documents(path)
