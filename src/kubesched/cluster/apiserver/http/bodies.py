"""Request bodies: read with a limit, decoded from JSON, YAML or protobuf."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

import msgspec
import yaml

from kubesched.cluster.apiserver import status
from kubesched.cluster.apiserver.schema.protobuf import decode_protobuf
from kubesched.errors import InvalidObjectError
from kubesched.objects.yaml_text import NestedTooDeeplyError, load_yaml

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
LIMIT: Final = 3 * 1024 * 1024  # upstream's, of a resource request
YAML_LIMIT: Final = 1024 * 1024
"""Of a body that is YAML and not JSON: reading it takes most of a second. Upstream has one limit for both."""
DEEPEST: Final = 500
"""Levels of a body. Upstream takes 10,000; whatever looks at an object here does so by recursion."""
_TOO_DEEP: Final = "couldn't get version/kind; json parse error: exceeded max depth"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
_MEDIA: Final = frozenset(
    {
        "",
        "application/json",
        "application/yaml",
        "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
    }
)
_decode = msgspec.json.Decoder().decode


class ClientGoneError(Exception):
    """The client went away while its request was read."""


async def read_body(receive: Receive, declared: int) -> bytes:
    """The whole body; refuses (413) one above the limit without reading it to the end."""
    if declared > LIMIT:
        raise status.too_large(LIMIT)
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        body += message.get("body", b"")
        if len(body) > LIMIT:
            raise status.too_large(LIMIT)
        if not message.get("more_body"):
            return bytes(body)


def decode_body(body: bytes, content_type: str, *, strict: bool = False) -> Any:
    """The value that the body holds. `strict` also refuses a key that is given twice."""
    media = content_type.partition(";")[0].strip().lower()
    if media == PROTOBUF:
        return _decode_protobuf(body)
    if media not in _MEDIA:
        known = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
        raise status.unsupported_media(
            f"the body of the request was in an unknown format - accepted media types include: {known}"
        )
    is_yaml = media in ("application/yaml", "application/apply-patch+yaml") and not _is_json(body)
    try:
        if is_yaml and len(body) > YAML_LIMIT:
            raise status.too_large(YAML_LIMIT)
        if is_yaml:
            value = load_yaml(body, yaml.CSafeLoader)
        else:
            value = _decode(body)
            if strict:
                json.loads(body, object_pairs_hook=_refuse_duplicates)
    except _DuplicateError as error:
        raise status.bad_request(f'strict decoding error: duplicate field "{error}"') from None
    except (RecursionError, NestedTooDeeplyError):
        raise status.bad_request(_TOO_DEEP) from None
    except (msgspec.DecodeError, ValueError, yaml.YAMLError) as error:
        raise status.bad_request(f"couldn't get version/kind; json parse error: {error}") from None
    may_be_deep = is_yaml or body.count(b"{") + body.count(b"[") > DEEPEST
    if may_be_deep and _is_too_deep(value):
        raise status.bad_request(_TOO_DEEP)
    return value


def _is_json(body: bytes) -> bool:
    """Whether a YAML body is JSON, which is YAML, too: kubectl applies JSON, and its decoder is far faster."""
    if not body.lstrip().startswith(b"{"):
        return False
    try:
        _decode(body)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return False
    return True


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        if not level:
            return False
        children = (
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
        )
        level = list({id(child): child for child in children}.values())  # YAML can name a part many times
    return True


def _decode_protobuf(body: bytes) -> Any:
    try:
        return decode_protobuf(body)
    except InvalidObjectError as error:
        raise status.bad_request(str(error)) from error


class _DuplicateError(Exception):
    pass


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise _DuplicateError(key)
        seen.add(key)
