"""Kinds that kubesched does not know, and a plugin declares: custom resources, and others of Kubernetes itself.

    class CarbonSpec(KubeStruct):
        grams_per_kwh: int = 0

    class CarbonIntensity(CustomObject):
        resource = CustomResource("example.com/v1", "carbonintensities", namespaced=False)
        spec: CarbonSpec = CarbonSpec()

A struct names the fields that the plugin reads, in Python's spelling, each with a default; all others are left out.
"""

from __future__ import annotations

from functools import cache
from types import new_class
from typing import Any, ClassVar, NamedTuple, cast

from kubesched.objects.base import KubeStruct
from kubesched.objects.meta import ObjectMeta


class CustomResource(NamedTuple):
    """How an API server serves a kind."""

    api_version: str
    """`group/version`; just the version for the core group."""
    plural: str
    namespaced: bool = True
    kind: str = ""
    """Its name; that of the class, if empty."""


class CustomObject(KubeStruct):
    """Base of the structs that plugins declare."""

    resource: ClassVar[CustomResource]

    metadata: ObjectMeta = ObjectMeta()


class PlainObject(CustomObject):
    """An object as plain data, for a kind without a struct of its own: dictionaries with Kubernetes' field names."""

    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}


@cache
def plain_kind(api_version: str, kind: str, plural: str, *, namespaced: bool = True) -> type[PlainObject]:
    """The type of a kind's objects as plain data; the same type for the same arguments."""
    struct = new_class(kind, (PlainObject,))
    struct.resource = CustomResource(api_version, plural, namespaced, kind)  # type: ignore[attr-defined]
    return cast("type[PlainObject]", struct)


class ConfigMap(CustomObject):
    resource = CustomResource("v1", "configmaps")

    data: dict[str, str] = {}
    binary_data: dict[str, str] = {}
