"""What a person sees and does on the page."""

from __future__ import annotations

import re
from typing import Any

from tests.browser.conftest import Serve, node, small_cluster


def test_a_person_finds_out_why_a_pod_waits(tab: Any, serve: Serve) -> None:
    """From the map to the queue to the pod, to what would help; every step has an address."""
    tab.goto(serve(small_cluster()))
    tab.wait_for_selector("canvas[data-painted]")
    assert "token" not in tab.url
    tab.get_by_text("2 waiting").click()
    tab.wait_for_url("**/#/queue")
    tab.get_by_role("link", name="default/large").click()
    tab.wait_for_url("**/#/pod/default/large")
    tab.get_by_text("Fits nowhere").wait_for()
    tab.get_by_text(re.compile(r"requested at most 2600m CPU")).wait_for()
    assert tab.locator(".groups").get_by_text("Insufficient cpu").is_visible()
    tab.get_by_role("button", name="which?").click()
    assert tab.locator(".names a").count() == 6


def test_the_points_of_a_pod_on_the_map(tab: Any, serve: Serve) -> None:
    """A link that can be sent: who opens it sees the same."""
    link = serve(small_cluster())
    tab.goto(f"{link}#/pod/default/small")
    tab.get_by_text("Would go to").wait_for()
    assert tab.locator("table.scores tbody tr").count() == 6
    tab.get_by_role("link", name="Show the points on the map").click()
    tab.get_by_text("points for").wait_for()
    tab.get_by_text("most points").wait_for()


def test_keys(tab: Any, serve: Serve) -> None:
    """Views, search, nodes and the theme without a mouse."""
    tab.goto(serve(small_cluster()))
    tab.wait_for_selector("canvas[data-painted]")
    tab.keyboard.press("q")
    tab.wait_for_url("**/#/queue")
    tab.keyboard.press("m")
    tab.wait_for_url("**/#/map")
    tab.wait_for_selector("canvas[data-painted]")
    tab.keyboard.press("ArrowRight")
    tab.locator("aside h2").wait_for()
    first = tab.locator("aside h2").inner_text()
    tab.keyboard.press("ArrowRight")
    tab.wait_for_function("first => document.querySelector('aside h2').textContent !== first", arg=first)
    tab.keyboard.press("Escape")
    tab.locator("aside").wait_for(state="hidden")
    tab.keyboard.press("/")
    tab.keyboard.type("large")
    tab.get_by_role("option").first.wait_for()
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/#/pod/default/large")
    assert tab.evaluate("document.documentElement.dataset.theme") == "dark"
    tab.keyboard.press("t")
    assert tab.evaluate("document.documentElement.dataset.theme") == "light"


def test_a_pod_that_is_not_there(tab: Any, serve: Serve) -> None:
    tab.goto(f"{serve(small_cluster())}#/pod/default/ghost")
    tab.get_by_text("there is no such pod").wait_for()


def test_five_thousand_nodes(tab: Any, serve: Serve) -> None:
    """The first picture comes within a second of opening the page; the machine may be busy, hence the slack."""
    zone = "topology.kubernetes.io/zone"
    tab.goto(serve([node(f"node-{number}", labels={zone: f"zone-{number % 3}"}) for number in range(5000)]))
    tab.wait_for_selector("canvas[data-painted]")
    painted = tab.evaluate("performance.getEntriesByName('map painted')[0].startTime")
    print(f"first paint of 5,000 nodes after {painted:.0f} ms")
    assert painted < 3000


def test_a_fix_is_tried_from_the_page(tab: Any, serve: Serve) -> None:
    """The button beside what would help shows on the map what would happen; the steps are in the address."""
    objects = [one for one in small_cluster() if one["metadata"]["name"] != "small"]
    tab.goto(f"{serve(objects)}#/pod/default/large")
    tab.get_by_role("link", name="Try it").first.click()
    tab.wait_for_url("**/#/what-if?do=change*")
    tab.get_by_text("1 pod starts").wait_for()
    assert tab.get_by_role("link", name="default/large").is_visible()


def test_a_drain_is_tried(tab: Any, serve: Serve) -> None:
    """From a node's panel to what would move; a step that makes no sense is one line."""
    link = serve(small_cluster())
    tab.goto(f"{link}#/map?node=node-1")
    tab.get_by_role("link", name="drained").click()
    tab.get_by_text("gone for good").wait_for()
    tab.get_by_role("button", name="Clear").click()
    tab.get_by_text("Try before you do").wait_for()
    tab.get_by_label("Node or label selector").fill("ghost")
    tab.keyboard.press("Enter")
    tab.get_by_text("no node is named 'ghost'").wait_for()


def test_a_configuration_is_checked_while_it_is_typed(tab: Any, serve: Serve) -> None:
    """A problem is shown below the text; another weight leads to a comparison."""
    tab.goto(f"{serve(small_cluster())}#/config")
    tab.get_by_text("Valid; this is the present one.").wait_for()
    editor = tab.get_by_label("KubeSchedulerConfiguration")
    text = editor.input_value()
    editor.fill(text.replace("TaintToleration", "TaintTolerance"))
    tab.locator(".problems li.bad").first.wait_for()
    editor.fill(text.replace("LeastAllocated", "MostAllocated"))
    tab.get_by_text("Valid.", exact=True).wait_for()
    tab.get_by_role("button", name="Compare").click()
    tab.get_by_text("would go elsewhere").wait_for()


def test_time(tab: Any, serve: Serve) -> None:
    tab.goto(f"{serve(small_cluster())}#/time")
    tab.locator(".uplot canvas").first.wait_for()
    assert tab.locator(".uplot").count() == 4
