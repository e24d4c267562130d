"""The SQLite journal."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from pathlib import Path

import pytest

from kubesched.cluster.apiserver.storage import SqliteJournal
from kubesched.cluster.apiserver.storage.journal import Row


async def test_rows_survive(tmp_path: Path) -> None:
    """The last row of an object wins; removed objects are gone; the version goes on."""
    journal = SqliteJournal(tmp_path)
    await journal.commit([Row("b", "n", "x", 1, b"1"), Row("b", "n", "y", 2, b"2"), Row("b", "n", "x", 3, b"3")])
    await journal.commit([Row("b", "n", "y", 4, None)])
    journal.close()
    again = SqliteJournal(tmp_path)
    assert again.load() == (4, [Row("b", "n", "x", 3, b"3")])
    again.close()


def test_a_new_journal_is_empty(tmp_path: Path) -> None:
    """And its directory is made, for its owner only."""
    directory = tmp_path / "deep" / "data"
    journal = SqliteJournal(directory)
    assert journal.load() == (0, [])
    assert directory.stat().st_mode & 0o077 == 0
    journal.close()


def test_a_folder_that_others_may_enter(tmp_path: Path) -> None:
    """The files are their owner's all the same: Secrets are in them."""
    tmp_path.chmod(0o755)
    journal = SqliteJournal(tmp_path)
    asyncio.run(journal.commit([Row("b", "n", "x", 1, b"1")]))
    assert {file.stat().st_mode & 0o077 for file in tmp_path.iterdir()} == {0}
    journal.close()


async def test_a_full_disk_is_told_as_such(tmp_path: Path) -> None:
    """SQLite ends the transaction by itself then; the error that is told is the first one."""
    journal = SqliteJournal(tmp_path)
    with contextlib.closing(sqlite3.connect(tmp_path / "objects.sqlite3")) as other:
        refusal = "SELECT RAISE(ROLLBACK, 'the disk is full')"
        other.execute(f"CREATE TRIGGER full BEFORE INSERT ON objects BEGIN {refusal}; END")
    with pytest.raises(sqlite3.Error, match="the disk is full"):
        await journal.commit([Row("b", "n", "x", 1, b"1")])
    journal.close()
