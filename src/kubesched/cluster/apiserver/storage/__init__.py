"""Where objects are kept: encoded, versioned, with a bounded history for watches, optionally in SQLite."""

from __future__ import annotations

from kubesched.cluster.apiserver.storage.entry import Change, ChangeType, Entry
from kubesched.cluster.apiserver.storage.history import CompactedError, History
from kubesched.cluster.apiserver.storage.journal import Journal, SqliteJournal
from kubesched.cluster.apiserver.storage.store import Bucket, Store

__all__ = [
    "Bucket",
    "Change",
    "ChangeType",
    "CompactedError",
    "Entry",
    "History",
    "Journal",
    "SqliteJournal",
    "Store",
]
