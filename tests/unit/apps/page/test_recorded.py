"""Any moment of a trace, in any order."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from kubesched.apps.page.mirror import Mirror
from kubesched.apps.page.policies import Policy
from kubesched.apps.page.recorded import RecordedCluster
from kubesched.config import FeatureGates
from kubesched.errors import ConfigurationError
from kubesched.objects.completion import completed
from kubesched.testing import make_node, make_pod
from kubesched.traces import Change, ChangeType, Header, TraceWriter


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A pod comes at 10, gets its node at 20 and goes at 30; a second node comes at 25."""
    path = tmp_path / "day.jsonl"
    pod = completed(make_pod("web", cpu="1"))
    bound = replace(pod, spec=replace(pod.spec, node_name="node-1"))
    with TraceWriter.create(path, Header(started=0.0)) as writer:
        writer.write(Change(time=0.0, type=ChangeType.ADDED, object=completed(make_node("node-1"))))
        writer.write(Change(time=10.0, type=ChangeType.ADDED, object=pod))
        writer.write(Change(time=20.0, type=ChangeType.MODIFIED, object=bound))
        writer.write(Change(time=25.0, type=ChangeType.ADDED, object=completed(make_node("node-2"))))
        writer.write(Change(time=30.0, type=ChangeType.DELETED, object=bound))
    return path


async def test_seeking(trace: Path) -> None:
    """Forwards and backwards; the mirror, on which questions are tried, follows."""
    cluster = RecordedCluster(trace, "", Policy(gates=FeatureGates.parse("")))
    mirror = Mirror(cluster.source)
    assert (cluster.start, cluster.end, cluster.now) == (0.0, 30.0, 30.0)
    seen = []
    for moment in (30.0, 12.0, 22.0, 5.0, 27.0):
        await cluster.seek(moment)
        nodes = cluster.source.assembled.cache.cluster.nodes.node_count
        seen.append((nodes, await mirror.ask(lambda simulation: simulation.placements())))
    assert seen == [
        (2, {}),
        (1, {"default/web": None}),
        (1, {"default/web": "node-1"}),
        (1, {}),
        (2, {"default/web": "node-1"}),
    ]
    with pytest.raises(ConfigurationError, match="not part of the trace"):
        await cluster.seek(31.0)
    mirror.close()


async def test_a_decision_on_the_state_in_which_it_was_taken(trace: Path) -> None:
    """The node that came later had no part in it; before the binding, and after the end, there is none."""
    cluster = RecordedCluster(trace, "27s", Policy(gates=FeatureGates.parse("")))
    found = await cluster.decision("default/web")
    assert found is not None
    assert found["basis"] == {"kind": "recorded", "at": 20.0}
    assert (found["node"], found["best"], found["nodes"]) == ("node-1", ["node-1"], 1)
    for moment in (12.0, 30.0):
        await cluster.seek(moment)
        assert await cluster.decision("default/web") is None
