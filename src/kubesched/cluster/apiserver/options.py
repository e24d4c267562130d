"""What a caller asks for besides the object itself."""

from __future__ import annotations

from dataclasses import dataclass, field

from kubesched.objects.selectors import FieldSelector, Selector


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """`warnings` collects what the caller should know although the write succeeds."""

    dry_run: bool = False
    strict_fields: bool = False
    ignore_unknown_fields: bool = False
    field_manager: str = ""
    force: bool = False
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOptions:
    grace_period: int | None = None
    propagation: str = ""  # Background, Foreground, Orphan; empty leaves finalizers as they are
    uid: str = ""
    version: str = ""
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    labels: Selector = Selector.EVERYTHING
    fields: FieldSelector = FieldSelector.EVERYTHING
    limit: int = 0
    continue_token: str = ""
    version: str = ""
    version_match: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions:
    labels: Selector = Selector.EVERYTHING
    fields: FieldSelector = FieldSelector.EVERYTHING
    version: str = ""
    send_initial: bool | None = None  # None: initial events only when no version is given
    bookmarks: bool = False
    timeout: float | None = None


WRITE_DEFAULTS = WriteOptions(ignore_unknown_fields=True)  # nobody would read the warnings
DELETE_DEFAULTS = DeleteOptions()
