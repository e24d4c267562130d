"""What every object struct has in common, and the two kinds of time that Kubernetes writes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, TypeAlias, dataclass_transform

import msgspec

Json: TypeAlias = dict[str, Any]
"""An object as JSON or YAML gives it, where a struct would lose what it does not know."""


class _KeywordOnly(msgspec.StructMeta):
    """msgspec does not inherit `kw_only`; this does."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> _KeywordOnly:
        options.setdefault("kw_only", True)
        return super().__new__(mcs, name, bases, namespace, **options)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class KubeStruct(
    msgspec.Struct,
    metaclass=_KeywordOnly,
    frozen=True,
    rename="camel",
    omit_defaults=True,
    repr_omit_defaults=True,
    gc=False,
):
    """A frozen, keyword-only value with the field names of Kubernetes' JSON in snake_case.

    Every field has a default, as in Go: a manifest that leaves a field out decodes to its zero value.
    `gc=False` is safe because values only point downwards: there are no cycles to collect.
    """


class MicroTime(datetime):
    """A time that is written with exactly six digits of fraction, as metav1.MicroTime demands when it is read back."""

    @classmethod
    def of(cls, moment: datetime) -> MicroTime:
        """The same moment as a MicroTime in UTC. A naive datetime is taken as UTC."""
        utc = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        return cls(utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second, utc.microsecond, UTC)

    @classmethod
    def parse(cls, text: str) -> MicroTime:
        """Read an RFC 3339 time; ValueError if it is none."""
        return cls.of(datetime.fromisoformat(text))

    def __str__(self) -> str:
        return self.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
