"""Objects from files: YAML or JSON, several documents, lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from kubesched.errors import InvalidObjectError
from kubesched.objects.base import KubeStruct
from kubesched.objects.codec import convert, decode_object
from kubesched.objects.kinds import KIND_OF, KINDS, Kind
from kubesched.objects.yaml_text import load_yaml_documents, yaml_problem

SUFFIXES: Final = (".yaml", ".yml", ".json")


class _Loader(yaml.CSafeLoader):
    """The safe loader, but times stay text: the codec reads them."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def load_manifests(text: str, source: str) -> list[KubeStruct]:
    """All objects in a text of one or more YAML (or JSON) documents; `kind: List` is taken apart.

    InvalidObjectError names `source`, the document's number and the path of what does not fit.
    """
    return decode_all(load_documents(text, source))


def read_documents(path: Path) -> Iterator[tuple[str, Any]]:
    """As `load_documents`, for a file, or for all YAML and JSON files of a folder in the order of their names."""
    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES)
    for file in files:
        try:
            text = file.read_text(encoding="utf-8")
        except OSError as error:
            raise InvalidObjectError(f"cannot read {file}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise InvalidObjectError(f"cannot read {file}: not a text file") from error
        yield from load_documents(text, str(file))


def decode_all(documents: Iterable[tuple[str, Any]]) -> list[KubeStruct]:
    """The objects in what `load_documents` and `read_documents` find."""
    objects = []
    for where, manifest in documents:
        try:
            objects.append(_decode(manifest))
        except InvalidObjectError as error:
            raise InvalidObjectError(f"{where}: {error}") from error
    return objects


def split_foreign(documents: Iterable[tuple[str, Any]]) -> tuple[list[tuple[str, Any]], list[str]]:
    """The manifests without those of kinds that scheduling does not look at, and the names of these kinds, sorted.

    Whoever saves a whole cluster, or has a folder of an application, has such kinds in it.
    """
    known, foreign = [], set()
    for where, manifest in documents:
        if _is_foreign(manifest):
            foreign.add(manifest["kind"])
        else:
            known.append((where, manifest))
    return known, sorted(foreign)


def split_declared(
    documents: Iterable[tuple[str, Any]], declared: Iterable[type]
) -> tuple[list[Any], list[tuple[str, Any]]]:
    """The objects of kinds that plugins declare, and all other manifests. InvalidObjectError as `decode_all`."""
    by_name: dict[tuple[str, Any], Kind] = {
        (kind.group, kind.name): kind for struct in declared if struct not in KIND_OF for kind in (KIND_OF[struct],)
    }
    objects: list[Any] = []
    others: list[tuple[str, Any]] = []
    for where, manifest in documents:
        names = (manifest.get("apiVersion"), manifest.get("kind")) if isinstance(manifest, dict) else (None, None)
        kind = by_name.get((_group(names[0]), names[1])) if isinstance(names[0], str) else None
        if kind is None:
            others.append((where, manifest))
            continue
        try:
            if names[0] != kind.api_version:
                raise InvalidObjectError(
                    f"expected {kind.api_version!r}, got {names[0]!r}", path="apiVersion", kind=kind.name
                )
            objects.append(convert(manifest, kind.struct))
        except InvalidObjectError as error:
            raise InvalidObjectError(f"{where}: {error}") from error
    return objects, others


def _is_foreign(manifest: Any) -> bool:
    """Of an unknown kind, or of the same name in another group than ours: PodGroup is the name of several."""
    kind = manifest.get("kind") if isinstance(manifest, dict) else None
    if not isinstance(kind, str) or not kind:
        return False
    known, api_version = KINDS.get(kind), manifest.get("apiVersion")
    return known is None or (isinstance(api_version, str) and "/" in api_version and _group(api_version) != known.group)


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]


def _decode(manifest: Any) -> KubeStruct:
    if not isinstance(manifest, dict):
        raise InvalidObjectError(f"expected an object, got {type(manifest).__name__}")
    return decode_object(manifest)


def load_documents(text: str, source: str) -> Iterator[tuple[str, Any]]:
    """All manifests in a text as they stand there, each with the words for where that is; lists are taken apart."""
    documents = _parse(text, source)
    for number, document in enumerate(documents, start=1):
        where = f"{source}: document {number}" if len(documents) > 1 else source
        if document is None:
            continue
        if isinstance(document, dict) and _is_list(document):
            for i, item in enumerate(document.get("items") or ()):
                yield f"{where}: items[{i}]", item
        else:
            yield where, document


def _parse(text: str, source: str) -> list[Any]:
    if text.lstrip().startswith("{"):  # JSON as a rule, which a decoder of its own reads many times as fast
        with suppress(msgspec.DecodeError, RecursionError):
            return [msgspec.json.decode(text)]
    try:
        return load_yaml_documents(text, _Loader)
    except yaml.YAMLError as error:
        raise InvalidObjectError(f"{source}: not valid YAML: {yaml_problem(error)}") from error


def _is_list(document: dict[str, Any]) -> bool:
    return str(document.get("kind", "")).endswith("List") and isinstance(document.get("items"), list | None)
