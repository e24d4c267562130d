"""The embedded cluster without its scheduler."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kubesched.assembly.up_cluster import ClusterOptions, EmbeddedCluster


async def test_a_part_that_crashes_is_noticed(tmp_path: Path) -> None:
    """Controllers that cannot go on must not leave an API server behind whose objects nobody looks after."""
    cluster = EmbeddedCluster(ClusterOptions(nodes=1, port=0, data_dir=str(tmp_path), insecure_http=True))
    await cluster.start()
    await cluster.server.store.close()
    async with asyncio.timeout(60):
        await cluster.crashed.wait()
    with pytest.raises(RuntimeError, match="after shutdown"):  # there is no disk to close any more
        await cluster.stop()
