"""The embedded cluster without its scheduler."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kubesched.apps.up.cluster import ClusterOptions, EmbeddedCluster
from kubesched.cluster.apiserver.storage.directory import DataDirectory
from kubesched.cluster.apiserver.storage.journal import Row, SqliteJournal


async def test_a_part_that_crashes_is_noticed(tmp_path: Path) -> None:
    """Controllers that cannot go on must not leave an API server behind whose objects nobody looks after."""
    cluster = EmbeddedCluster(ClusterOptions(nodes=1, port=0, data_dir=str(tmp_path), insecure_http=True))
    await cluster.start()
    await cluster.server.store.close()
    async with asyncio.timeout(60):
        await cluster.crashed.wait()
    with pytest.raises(RuntimeError, match="after shutdown"):  # there is no disk to close any more
        await cluster.stop()


async def test_a_full_disk_is_told_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who writes is told why it cannot be kept; the log has one line about it, and no tracebacks."""

    async def refuse(_journal: SqliteJournal, _rows: Sequence[Row]) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    cluster = EmbeddedCluster(ClusterOptions(nodes=1, port=0, data_dir=str(tmp_path), insecure_http=True))
    await cluster.start()
    monkeypatch.setattr(SqliteJournal, "commit", refuse)
    url = f"{cluster.server.address}/api/v1/namespaces"
    body = b'{"metadata": {"name": "new"}}'
    status, answer = await asyncio.to_thread(post, url, body)
    async with asyncio.timeout(60):
        await cluster.crashed.wait()
    with pytest.raises(OSError, match="disk is full"):
        await cluster.stop()
    DataDirectory(tmp_path).close()  # it belongs to nobody any more
    said = "cannot write to the data directory: database or disk is full"
    assert (status, answer["message"]) == (500, f"Internal error occurred: {said}")
    printed = capsys.readouterr().err
    assert said in printed
    assert "Traceback" not in printed


def post(url: str, body: bytes) -> tuple[int, Any]:
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"}, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)
