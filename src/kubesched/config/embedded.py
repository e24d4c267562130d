"""The Kubernetes API types that plugin arguments embed."""

from __future__ import annotations

from typing import Any, TypeAlias

NodeAffinity: TypeAlias = dict[str, Any]
TopologySpreadConstraint: TypeAlias = dict[str, Any]
