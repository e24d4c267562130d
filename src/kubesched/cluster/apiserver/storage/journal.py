"""Writes that survive the process: a SQLite database in WAL mode with group commit.

All changes that arrive while a commit is under way go into the next one, so that the disk's latency bounds the delay of
a write and not the number of writes per second. The commit runs on a thread of its own because SQLite blocks; it only
ever sees encoded rows.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, Protocol

SCHEMA = """
CREATE TABLE IF NOT EXISTS objects (
    bucket TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL, raw BLOB NOT NULL,
    PRIMARY KEY (bucket, namespace, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS latest (only INTEGER PRIMARY KEY CHECK (only = 1), version INTEGER NOT NULL);
"""


class Row(NamedTuple):
    """One object to write, or to remove when `raw` is None."""

    bucket: str
    namespace: str
    name: str
    version: int
    raw: bytes | None


class Journal(Protocol):
    def load(self) -> tuple[int, Iterable[Row]]:
        """The last version that was used, and all objects."""
        ...

    async def commit(self, rows: Sequence[Row]) -> None:
        """Return once the rows are on disk."""
        ...

    def close(self) -> None: ...


class SqliteJournal:
    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = directory / "objects.sqlite3"
        # Secrets are in it, and the folder may have been there before; -wal and -shm get the same mode.
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        self._database = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=FULL")
        self._database.executescript(SCHEMA)
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="journal")

    def load(self) -> tuple[int, Iterable[Row]]:
        found = self._database.execute("SELECT version FROM latest").fetchone()
        rows = self._database.execute("SELECT bucket, namespace, name, version, raw FROM objects ORDER BY version")
        return (int(found[0]) if found else 0, [Row(*row) for row in rows])

    async def commit(self, rows: Sequence[Row]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._writer, self._write, rows)

    def close(self) -> None:
        self._writer.shutdown(wait=True)
        self._database.close()

    def _write(self, rows: Sequence[Row]) -> None:
        # The last row of an object wins: replaying the batch in order gives the same state with more work.
        last = {(row.bucket, row.namespace, row.name): row for row in rows}.values()
        database = self._database
        database.execute("BEGIN IMMEDIATE")
        try:
            database.executemany(
                "INSERT OR REPLACE INTO objects (bucket, namespace, name, version, raw) VALUES (?, ?, ?, ?, ?)",
                [row for row in last if row.raw is not None],
            )
            database.executemany(
                "DELETE FROM objects WHERE bucket = ? AND namespace = ? AND name = ?",
                [row[:3] for row in last if row.raw is None],
            )
            database.execute("INSERT OR REPLACE INTO latest (only, version) VALUES (1, ?)", (rows[-1].version,))
            database.execute("COMMIT")
        except BaseException:
            if database.in_transaction:  # SQLite itself rolls back where the disk is full
                database.execute("ROLLBACK")
            raise
