"""From JSON to structs and back. Raw data ends here; what is wrong with it is reported with its path."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar

import msgspec

from kubesched.errors import InvalidObjectError
from kubesched.objects.base import KubeStruct, MicroTime
from kubesched.objects.kinds import KIND_OF, KINDS
from kubesched.objects.quantity import Quantity, parse_quantity

T = TypeVar("T")


def decode(data: bytes | str, into: type[T]) -> T:
    """The object in a JSON text. InvalidObjectError names the field that does not fit."""
    return _decode(_decoder(into), into, data)


def decoding(into: type[T]) -> Callable[[bytes | str], T]:
    """`decode` for many texts of one type: what it needs is looked up once."""
    return partial(_decode, _decoder(into), into)


def _decode(decoder: msgspec.json.Decoder[T], into: type[T], data: bytes | str) -> T:
    try:
        return decoder.decode(data)
    except msgspec.ValidationError:
        return convert(_parse_json(data), into)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidObjectError(f"not valid JSON: {error}") from error


def convert(source: Any, into: type[T]) -> T:
    """The object in dicts and lists as JSON or YAML give them. InvalidObjectError names the field that does not fit."""
    try:
        return _convert(source, into)
    except msgspec.ValidationError:
        without_nulls = _strip_nulls(source)
    try:
        return _convert(without_nulls, into)
    except msgspec.ValidationError as error:
        path, problem = _locate(str(error), without_nulls, into)
        raise InvalidObjectError(problem, path=path, **_identity(without_nulls)) from error


def encode(value: Any) -> bytes:
    """JSON with Kubernetes' field names; fields at their default are left out."""
    return _ENCODER.encode(value)


def to_builtins(value: Any) -> Any:
    """Dicts, lists and strings with Kubernetes' field names: what JSON would hold."""
    return msgspec.json.decode(encode(value))


def to_manifest(value: KubeStruct) -> dict[str, Any]:
    """`to_builtins` of a top-level object, with its apiVersion and kind in front."""
    kind = KIND_OF[type(value)]
    return {"apiVersion": kind.api_version, "kind": kind.name, **to_builtins(value)}


def decode_object(source: bytes | str | dict[str, Any]) -> KubeStruct:
    """The object in a manifest, as the struct that its kind and apiVersion name."""
    manifest = source if isinstance(source, dict) else _parse_json(source)
    if not isinstance(manifest, dict):
        raise InvalidObjectError(f"expected an object, got {_type_name(manifest)}")
    name, api_version = manifest.get("kind"), manifest.get("apiVersion")
    if not name:
        raise InvalidObjectError("'kind' is missing", path="kind")
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise InvalidObjectError(f"unknown kind {name!r}", path="kind")
    if api_version != kind.api_version and api_version not in kind.older_versions:
        raise InvalidObjectError(f"expected {kind.api_version!r}, got {api_version!r}", path="apiVersion", kind=name)
    return convert(manifest, kind.struct)


_decoders: Final[dict[type, msgspec.json.Decoder[Any]]] = {}


def _decoder(into: type[T]) -> msgspec.json.Decoder[T]:
    decoder = _decoders.get(into)
    if decoder is None:
        decoder = _decoders[into] = msgspec.json.Decoder(into, dec_hook=_decode_special)
    return decoder


def _decode_special(into: type, source: Any) -> Any:
    if into is Quantity:
        if type(source) is str:
            return parse_quantity(source)
        if type(source) in (int, float):  # true and false are no numbers here
            return Quantity.parse(source)
    if into is MicroTime and type(source) is str:
        return MicroTime.parse(source)
    raise ValueError(f"Expected `{into.__name__}`, got `{_type_name(source)}`")


def _encode_special(value: Any) -> str:
    if isinstance(value, Quantity | MicroTime):
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} is not a Kubernetes value")


_ENCODER: Final = msgspec.json.Encoder(enc_hook=_encode_special)


def _convert(source: Any, into: type[T]) -> T:
    return msgspec.convert(source, into, dec_hook=_decode_special)


def _parse_json(data: bytes | str) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidObjectError(f"not valid JSON: {error}") from error


def _strip_nulls(source: Any) -> Any:
    """In Go's JSON, null means "not set" everywhere."""
    if isinstance(source, dict):
        return {key: _strip_nulls(value) for key, value in source.items() if value is not None}
    if isinstance(source, list | tuple):
        return [_strip_nulls(value) for value in source if value is not None]
    return source


def _identity(source: Any) -> dict[str, str]:
    """Kind and name of a manifest, as far as it has them."""
    if not isinstance(source, dict):
        return {}
    metadata = source.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name = "/".join(str(metadata[part]) for part in ("namespace", "name") if metadata.get(part))
    return {"kind": str(source.get("kind", "")), "name": name}


def _type_name(value: Any) -> str:
    names = {dict: "object", list: "array", type(None): "null"}
    return names.get(type(value), type(value).__name__)


# msgspec: "Expected `int`, got `str` - at `$.spec.priority`", with "[...]" for any value of a map,
# and "at `key` in `$.metadata.labels`" for a key.
_MESSAGE: Final = re.compile(r"(?P<problem>.*) - at `(?P<key>key` in `)?\$(?P<path>.*)`", re.DOTALL)
_STEP: Final = re.compile(r"\.(?P<field>[^.\[]+)|\[(?P<index>\d+)\]|(?P<any>\[\.\.\.\])")
_ANY: Final = "[...]"


def _locate(message: str, source: Any, into: type) -> tuple[str, str]:
    """The path and the problem in one of msgspec's messages, with the keys of maps filled in."""
    match = _MESSAGE.fullmatch(message)
    if match is None:
        return "", message
    steps: list[str | int] = []
    for step in _STEP.finditer(match["path"]):
        if step["any"]:
            steps.append(_offending_key(message, source, steps, into))
        else:
            steps.append(step["field"] or int(step["index"]))
    problem = match["problem"]
    return _render(steps), f"key: {problem}" if match["key"] else problem


def _offending_key(message: str, source: Any, steps: list[str | int], into: type) -> str:
    """The key of the map at `steps` whose value alone brings the same message."""
    for key in _at(source, steps):
        try:
            _convert(_with_only(source, steps, key), into)
        except msgspec.ValidationError as error:
            if str(error) == message:
                return str(key)
    return _ANY


def _at(source: Any, steps: list[str | int]) -> Any:
    for step in steps:
        source = source[step]
    return source


def _with_only(source: Any, steps: list[str | int], key: Any) -> Any:
    """`source`, with the map at `steps` reduced to one key."""
    if not steps:
        return {key: source[key]}
    copy: Any = dict(source) if isinstance(source, dict) else list(source)
    copy[steps[0]] = _with_only(source[steps[0]], steps[1:], key)
    return copy


def _render(steps: list[str | int]) -> str:
    path = ""
    for step in steps:
        path += f"[{step}]" if isinstance(step, int) else f".{step}"
    return path.removeprefix(".")
