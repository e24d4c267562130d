"""What a browser gets to read about a cluster."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from tests.unit.apps.page.conftest import Asked, small_cluster, source_of

from kubesched.apps.page.app import Page
from kubesched.testing import make_node, make_pdb, make_pod


async def test_a_pod_that_fits_nowhere(ask: Asked) -> None:
    """Nodes are grouped by reason, and what would help is asked for apart, since that takes longer."""
    code, decision = await ask("/api/decision/default/db")
    assert (code, decision["outcome"], decision["best"]) == (200, "nowhere", [])
    groups = [([answer["plugin"] for answer in group["answers"]], len(group["nodes"])) for group in decision["groups"]]
    assert groups == [(["NodeResourcesFit"], 3)]
    assert decision["pod"]["requests"] == {"cpu": "8"}
    assert [(step["point"], step["result"]) for step in decision["steps"]] == [
        ("PreEnqueue", "yes"),
        ("PreFilter", "yes"),
        ("Filter", "no"),
        ("PostFilter", "no"),
    ]
    _, found = await ask("/api/help/default/db")
    assert found["pod"][0]["changes"] == ["requested at most 4 CPU (now 8)"]


async def test_a_pod_that_fits(ask: Asked) -> None:
    """Scores come in columns, the best node first; weighted, they add up to the totals."""
    _, decision = await ask("/api/decision/default/web-2")
    scores = decision["scores"]
    assert decision["outcome"] == "fits"
    assert decision["best"] == ["node-2"] == scores["nodes"][:1]
    for place, total in enumerate(scores["totals"]):
        assert sum(plugin["scores"][place] * plugin["weight"] for plugin in scores["plugins"]) == total
    assert scores["totals"] == sorted(scores["totals"], reverse=True)


async def test_a_pod_that_has_a_node(ask: Asked) -> None:
    """It is decided as if it were not there, and stays where it is."""
    _, decision = await ask("/api/decision/default/web-1")
    assert decision["node"] == "node-1"
    assert decision["best"]
    _, node = await ask("/api/node/node-1")
    assert [pod["key"] for pod in node["pods"]] == ["default/web-1"]


@pytest.mark.parametrize(
    ("path", "code", "message"),
    [
        pytest.param("/api/decision/default/ghost", 404, "no such pod", id="a pod that is not there"),
        pytest.param("/api/node/ghost", 404, "no such node", id="a node that is not there"),
        pytest.param("/api/queue?priority=high", 400, "priority", id="a priority that is no number"),
    ],
)
async def test_errors_are_one_line(ask: Asked, path: str, code: int, message: str) -> None:
    answered, body = await ask(path)
    assert answered == code
    assert message in body["message"]
    assert "\n" not in body["message"]


async def test_the_queue_by_conditions(ask: Asked) -> None:
    """Of a scheduler that is another process only the pods' own conditions are known."""
    _, queue = await ask("/api/queue")
    assert queue["live"] is False
    assert queue["places"] == {"pending": 2}
    _, filtered = await ask("/api/queue?text=web")
    assert [row["pod"] for row in filtered["rows"]] == ["default/web-2"]
    assert filtered["places"] == {"pending": 2}


async def test_search(ask: Asked) -> None:
    """Pods that wait come first: they are looked for most."""
    _, found = await ask("/api/search?text=web")
    assert [pod["key"] for pod in found["pods"]] == ["default/web-2", "default/web-1"]
    _, found = await ask("/api/search?text=node-")
    assert found["nodes"] == ["node-1", "node-2", "node-3"]


async def test_placed_pods_by_row(ask: Asked) -> None:
    _, placed = await ask("/api/placed?rows=0,1,x,99")
    assert placed["0"] == [{"key": "default/web-1", "requests": {"cpu": 3000}, "ending": False}]
    assert placed["1"] == placed["99"] == []


@pytest.mark.parametrize("name", ["index.html", "main.js", "page.css"])
async def test_files_of_the_page(ask: Asked, name: str) -> None:
    code, content = await ask(f"/static/{name}")
    assert code == 200
    assert b"http://" not in content.replace(b"http://www.w3.org", b"")
    assert b"https://" not in content


@pytest.mark.parametrize("name", ["ghost.js", "..%2fapp.py", "__init__.py"])
async def test_other_files_are_not_served(ask: Asked, name: str) -> None:
    code, _ = await ask(f"/static/{name}")
    assert code == 404


async def test_among_other_pages() -> None:
    """As `kubesched run --page` serves it: under a path of its own, with addresses that are relative to it."""
    page = Page(source_of(small_cluster()))
    ask = Asked(page, Starlette(routes=page.routes()))
    code, content = await ask("/page/")
    assert code == 200
    assert b'"static/main.js"' in content
    assert (await ask("/page/static/main.js"))[0] == 200
    assert (await ask("/page/api/about"))[1]["title"] == "a test"
    assert (await ask("/page/api/decision/default/db"))[1]["outcome"] == "nowhere"
    assert (await ask("/page"))[0] == 302
    page.close()


async def test_every_filter_on_every_node() -> None:
    """A node that two filters reject is shown with both, the one that counts first; and any node has all answers."""
    cordoned = make_node("node-4", cpu="1", unschedulable=True)
    page = Page(source_of([*small_cluster(), cordoned]))
    _, decision = await Asked(page)("/api/decision/default/db")
    groups = {tuple(one["plugin"] for one in group["answers"]): group["nodes"] for group in decision["groups"]}
    assert groups == {
        ("NodeResourcesFit",): ["node-1", "node-2", "node-3"],
        ("NodeUnschedulable", "NodeResourcesFit"): ["node-4"],
    }
    table = decision["filters"]
    column = {one["name"]: dict(zip(table["nodes"], one["index"], strict=True)) for one in table["plugins"]}
    assert column["NodeUnschedulable"] == {"node-1": 0, "node-2": 0, "node-3": 0, "node-4": 1}
    assert all(column["NodeResourcesFit"].values())
    assert "TaintToleration" in table["passed"]
    assert {step["point"] for step in decision["steps"] if "seconds" in step} >= {"PreFilter", "Filter", "PostFilter"}
    page.close()


async def test_the_budgets_of_victims() -> None:
    """Each victim has its priority, and the budgets of its own namespace that select it."""
    page = Page(
        source_of(
            [
                make_node("node-1", cpu="4"),
                make_pod("cheap", cpu="4", node="node-1", labels={"app": "web"}, priority=5),
                make_pod("urgent", cpu="4", priority=1000),
                make_pdb("web", selector={"matchLabels": {"app": "web"}}, disruptions_allowed=1),
                make_pdb("db", selector={"matchLabels": {"app": "db"}}),
                make_pdb("elsewhere", namespace="other", selector={"matchLabels": {"app": "web"}}),
            ]
        )
    )
    _, decision = await Asked(page)("/api/decision/default/urgent")
    (candidate,) = decision["preemption"]["candidates"]
    assert candidate["victims"] == [{"key": "default/cheap", "priority": 5, "budgets": [{"name": "web", "allowed": 1}]}]
    assert candidate["pdbViolations"] == 0
    page.close()
