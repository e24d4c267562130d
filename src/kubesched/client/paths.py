"""Where objects are: the paths of the API server."""

from __future__ import annotations

import string
from functools import lru_cache
from typing import Final
from urllib.parse import quote

from kubesched.objects import Kind

_PLAIN: Final = string.ascii_letters + string.digits + "._-"


@lru_cache(maxsize=4096)
def collection_path(kind: Kind, namespace: str = "") -> str:
    """Where a kind is listed, watched and created: in one namespace, or across all of them."""
    if not namespace:
        return kind.path
    root, _, plural = kind.path.rpartition("/")
    return f"{root}/namespaces/{_escaped(namespace)}/{plural}"


def object_path(kind: Kind, name: str, namespace: str = "", subresource: str = "") -> str:
    path = f"{collection_path(kind, namespace)}/{_escaped(name)}"
    return f"{path}/{subresource}" if subresource else path


def _escaped(name: str) -> str:
    return quote(name, safe="") if name.strip(_PLAIN) else name
