"""What-if, configurations and the last half hour, as a browser asks for them."""

from __future__ import annotations

import pytest
from tests.unit.apps.page.conftest import Asked, small_cluster, source_of

from kubesched.apps.page.app import Page
from kubesched.apps.page.history import History, Placements
from kubesched.clock import VirtualClock


async def test_drain(ask: Asked) -> None:
    """A pod that nobody recreates is gone, and the node is empty afterwards; the cluster stays as it is."""
    code, found = await ask("/api/what-if", {"steps": ["drain:node-1"]})
    assert code == 200
    assert [one["pod"] for one in found["report"]["gone"]] == ["default/web-1"]
    assert found["changed"]["node-1"]["requested"].get("cpu", 0) == 0
    assert found["before"]["node-1"]["requested"]["cpu"] == 3000
    _, node = await ask("/api/node/node-1")
    assert node["count"] == 1


async def test_a_remedy_is_tried() -> None:
    """What is proposed for a pod that fits nowhere makes it fit, with as much as there is."""
    page = Page(source_of([obj for obj in small_cluster() if obj.metadata.name != "web-2"]))
    ask = Asked(page)
    _, found = await ask("/api/help/default/db")
    change = " and ".join(found["pod"][0]["changes"])
    code, tried = await ask("/api/what-if", {"steps": [f"change:default/db:{change}"]})
    assert code == 200
    assert [(one["pod"], one["node"]) for one in tried["report"]["started"]] == [("default/db", "node-2")]
    assert tried["changed"]["node-2"]["requested"]["cpu"] == 4000
    page.close()


async def test_a_new_node_is_on_the_map(ask: Asked) -> None:
    _, found = await ask("/api/what-if", {"steps": ["add:2:node-3"]})
    assert found["added"] == ["node-3-new-1", "node-3-new-2"]
    assert found["changed"]["node-3-new-1"]["allocatable"]["cpu"] == 2000


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        pytest.param([], "expected 1 to 20 steps", id="none"),
        pytest.param(["drain:node-1"] * 21, "expected 1 to 20 steps", id="too many"),
        pytest.param(["explode:node-1"], "is no step", id="an unknown action"),
        pytest.param(["drain:"], "is no step", id="without a node"),
        pytest.param(["drain:ghost"], "no node is named 'ghost'", id="a node that is not there"),
        pytest.param(["add:1000000:node-1"], "is no step", id="too many nodes"),
        pytest.param(["change:default/web-1:had no volumes"], "does not wait", id="a pod that has a node"),
        pytest.param(["change:default/db:flew"], "would not fit any more", id="a change that nobody proposed"),
        pytest.param(["priority:default/ghost:5"], "does not wait", id="a pod that is not there"),
    ],
)
async def test_steps_that_make_no_sense(ask: Asked, steps: list[str], message: str) -> None:
    code, answer = await ask("/api/what-if", {"steps": steps})
    assert code == 400
    assert message in answer["message"]


async def test_a_question_that_is_no_question(ask: Asked) -> None:
    code, answer = await ask("/api/what-if", {"step": 1})
    assert code == 400
    assert "not understood" in answer["message"]


async def test_a_configuration_is_checked(ask: Asked) -> None:
    """The present one is valid, and its weights are shown; each problem of another is a line."""
    _, present = await ask("/api/config")
    _, checked = await ask("/api/config/check", {"text": present["text"]})
    assert checked["problems"] == []
    assert checked["weights"][0]["plugins"]["TaintToleration"] == 3
    _, checked = await ask("/api/config/check", {"text": present["text"].replace("TaintToleration", "Tainted")})
    assert any("Tainted" in problem for problem in checked["problems"])
    _, checked = await ask("/api/config/check", {"text": "nonsense: ["})
    assert checked["problems"]


async def test_another_weight(ask: Asked) -> None:
    """In a text that names the plugin, and in one that relies on defaults."""
    short = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    _, present = await ask("/api/config")
    for text in (present["text"], short):
        asked = {"text": text, "profile": "default-scheduler", "plugin": "ImageLocality", "weight": 77}
        _, changed = await ask("/api/config/weight", asked)
        _, checked = await ask("/api/config/check", {"text": changed["text"]})
        assert checked["weights"][0]["plugins"]["ImageLocality"] == 77
    code, _ = await ask("/api/config/weight", asked | {"profile": "ghost"})
    assert code == 400


async def test_two_configurations_are_compared(ask: Asked) -> None:
    """One that packs pods prefers another node for the pod that fits on several; the same one changes nothing."""
    _, present = await ask("/api/config")
    _, same = await ask("/api/config/compare", present)
    assert (same["compared"], same["differences"]) == (3, [])
    _, other = await ask("/api/config/compare", {"text": present["text"].replace("LeastAllocated", "MostAllocated")})
    assert [one["pod"] for one in other["differences"]] == ["default/web-2"]
    waiting = other["differences"][0]
    assert waiting["before"] == ["node-2"]
    assert waiting["decidedBy"][0] == "NodeResourcesFit"


def test_the_last_half_hour() -> None:
    """Throughput and latency of what was placed since the last sample, and what waits and is used now."""
    placements, clock = Placements(), VirtualClock()
    history = History(source_of(small_cluster()).assembled, clock, placements)
    for latency in range(100):
        placements.note(float(latency))
    history.sample()
    history.sample()
    columns = history.columns()
    assert columns["placed"] == (50.0, 0.0)
    assert columns["p50"] == (49.5, None)
    assert columns["p99"][0] == pytest.approx(98, abs=0.1)
    assert columns["waiting"] == (2, 2)
    assert columns["cpu"] == (0.3, 0.3)
