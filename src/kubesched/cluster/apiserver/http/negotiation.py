"""What a client wants to read: the object itself, a Table or only its metadata; always JSON."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache

from kubesched.errors import RequestRefusedError


class Form(Enum):
    OBJECT = "object"
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"
    GROUP_DISCOVERY = "APIGroupDiscoveryList"


_FORMS = {
    ("Table", "meta.k8s.io"): Form.TABLE,
    ("PartialObjectMetadata", "meta.k8s.io"): Form.METADATA,
    ("PartialObjectMetadataList", "meta.k8s.io"): Form.METADATA,
    ("APIGroupDiscoveryList", "apidiscovery.k8s.io"): Form.GROUP_DISCOVERY,
}


@lru_cache(maxsize=256)
def negotiate(accept: str, *, discovery: bool = False) -> Form:
    """The first accepted form that is served; a client that takes no JSON at all is refused (406)."""
    if not accept:
        return Form.OBJECT
    for choice in accept.split(","):
        media, *pairs = (part.strip() for part in choice.split(";"))
        if media not in ("application/json", "application/*", "*/*"):
            continue
        parameters = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        if "as" not in parameters:
            return Form.OBJECT
        form = _FORMS.get((parameters["as"], parameters.get("g", "")))
        if form is None or parameters.get("v") not in ("v1", "v2"):
            continue
        if (form is Form.GROUP_DISCOVERY) == discovery and (not discovery or parameters["v"] == "v2"):
            return form
    message = "only the following media types are accepted: application/json"
    raise RequestRefusedError(406, "NotAcceptable", message)
