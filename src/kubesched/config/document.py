"""From YAML or JSON text to plain mappings and lists, without losing what strict decoding must report."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable
from typing import Any, Final

import yaml

from kubesched.errors import ConfigurationError
from kubesched.objects.yaml_text import NestedTooDeeplyError, load_yaml_documents, yaml_problem

try:
    from yaml import CSafeLoader as _SafeLoader
except ImportError:  # PyYAML built without libyaml
    from yaml import SafeLoader as _SafeLoader  # type: ignore[assignment] # same interface, slower


_TOO_DEEP: Final = "the configuration is nested too deeply"
_NOT_YAML: Final = "error converting YAML to JSON: yaml"
_EXPONENTIAL: Final = re.compile(r"[-+]?[0-9]+[eE][-+]?[0-9]+")


class Document(dict[str, Any]):
    """A mapping of the file that remembers which keys occurred more than once (the last one wins)."""

    duplicates: tuple[str, ...] = ()


def parse_document(text: str) -> Document:
    """Parse one YAML or JSON mapping; ConfigurationError if the text is neither, or not a mapping."""
    content = _parse_json(text) if text.lstrip().startswith("{") else _parse_yaml(text)
    if not isinstance(content, Document):
        raise ConfigurationError([f"a configuration file must hold one mapping, not {kind_of(content)}"])
    return content


def kind_of(value: object) -> str:
    """What a decoded value is, in the words of JSON."""
    for types, name in _KINDS:
        if isinstance(value, types):
            return name
    return type(value).__name__


_KINDS: Final[tuple[tuple[type, str], ...]] = (
    (bool, "boolean"),
    (int, "number"),
    (float, "number"),
    (str, "string"),
    (dict, "object"),
    (list, "array"),
    (type(None), "null"),
)


def _document(pairs: Iterable[tuple[Any, Any]]) -> Document:
    document = Document()
    repeated: list[str] = []
    for key, value in pairs:
        name = key if isinstance(key, str) else json.dumps(key, default=str)
        if name in document:
            repeated.append(name)
        document[name] = value
    document.duplicates = tuple(dict.fromkeys(repeated))
    return document


def _parse_json(text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_document)
    except RecursionError as error:
        raise ConfigurationError([_TOO_DEEP]) from error
    except ValueError:
        return _parse_yaml(text)  # flow-style YAML also begins with a brace; its error names line and column


class _Loader(_SafeLoader):
    """The safe loader without YAML 1.1's timestamps: what looks like a date stays text, as in Kubernetes."""

    yaml_implicit_resolvers = {  # noqa: RUF012 -- PyYAML reads this class attribute, and typeshed declares it mutable
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in _SafeLoader.yaml_implicit_resolvers.items()
    }


def _construct_document(loader: _Loader, node: yaml.MappingNode) -> Document:
    written = [key.value for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
    loader.flatten_mapping(node)  # resolves `<<: *anchor`; merged keys come first, so that written ones win
    document = _document((_key(loader, key), loader.construct_object(value, deep=True)) for key, value in node.value)
    document.duplicates = tuple(name for name in document.duplicates if written.count(name) > 1)
    return document


def _key(loader: _Loader, node: yaml.Node) -> Hashable:
    # A key is text in Kubernetes' JSON view of YAML, whatever it looks like (`on:`, `1:`).
    return node.value if isinstance(node, yaml.ScalarNode) else str(loader.construct_object(node, deep=True))


def _construct_list(loader: _Loader, node: yaml.SequenceNode) -> list[Any]:
    # Built at once, not by PyYAML's two-step generator: a list that contains itself is refused that way.
    return [loader.construct_object(item, deep=True) for item in node.value]


_Loader.add_constructor("tag:yaml.org,2002:map", _construct_document)
_Loader.add_constructor("tag:yaml.org,2002:seq", _construct_list)
# YAML 1.1 asks for a point in a number with an exponent; Go's YAML and JSON do not.
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _EXPONENTIAL, list("-+0123456789"))


def _parse_yaml(text: str) -> object:
    """The only document. Empty ones may follow: a separator at the end of a file harms nobody."""
    try:
        documents = load_yaml_documents(text, _Loader)
    except NestedTooDeeplyError as error:
        raise ConfigurationError([_TOO_DEEP]) from error
    except yaml.YAMLError as error:
        raise ConfigurationError([f"{_NOT_YAML}: {yaml_problem(error)}"]) from error
    if any(document is not None for document in documents[1:]):
        raise ConfigurationError([f"{_NOT_YAML}: expected a single document in the stream, but found another document"])
    return documents[0] if documents else None
