"""An object as it comes in: decoded, or what is still known of one that does not decode."""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec

from kubesched.errors import InvalidObjectError
from kubesched.objects import decode


class PartialMeta(msgspec.Struct, frozen=True, rename="camel", gc=False):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    annotations: dict[str, str] | None = None

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Unreadable(msgspec.Struct, frozen=True):
    """An object that does not decode, as far as its identity can be read, and what is wrong with it."""

    metadata: PartialMeta
    error: InvalidObjectError


class _Identity(msgspec.Struct, frozen=True):
    metadata: PartialMeta = PartialMeta()


T = TypeVar("T")

_IDENTITY: Final = msgspec.json.Decoder(_Identity)


def read_object(data: msgspec.Raw, struct: type[T]) -> T | Unreadable:
    try:
        return decode(bytes(data), struct)
    except InvalidObjectError as error:
        return Unreadable(_metadata_of(data), error)


def _metadata_of(data: msgspec.Raw) -> PartialMeta:
    try:
        return _IDENTITY.decode(data).metadata
    except msgspec.MsgspecError:
        return PartialMeta()
