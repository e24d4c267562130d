"""Selectors as requests and stored objects carry them; what `objects` refuses is a bad request here."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from kubesched.cluster.apiserver import status
from kubesched.errors import InvalidObjectError
from kubesched.objects import label_query as label_queries
from kubesched.objects import selectors as compiled
from kubesched.objects.meta import LabelSelector
from kubesched.objects.selectors import FieldSelector, Selector


def parse_label_selector(text: str) -> Selector:
    try:
        return label_queries.parse_label_selector(text)
    except InvalidObjectError as error:
        raise status.bad_request(str(error)) from error


def parse_field_selector(text: str, supported: Collection[str]) -> FieldSelector:
    """Refuses a malformed selector, and a field that the resource cannot be selected by."""
    try:
        selector = compiled.parse_field_selector(text)
    except InvalidObjectError as error:
        raise status.bad_request(str(error)) from error
    for requirement in selector.requirements:
        if requirement.field not in supported:
            raise status.bad_request(f"field label not supported: {requirement.field}")
    return selector


def object_selector(source: Mapping[str, Any] | None) -> Selector:
    """A `LabelSelector` of a stored object: validated when it was written."""
    if source is None:
        return Selector.NOTHING
    return compiled.compile_label_selector(msgspec.convert(source, LabelSelector))
