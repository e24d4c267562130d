"""What fields the served kinds have: one table that decoding, patching, ownership and OpenAPI all read."""

from __future__ import annotations

from kubesched.cluster.apiserver.schema.conform import Conformance, conform
from kubesched.cluster.apiserver.schema.descriptions import describe
from kubesched.cluster.apiserver.schema.fields import FieldType, Shape, Struct, struct, zero_values

__all__ = ["Conformance", "FieldType", "Shape", "Struct", "conform", "describe", "struct", "zero_values"]
