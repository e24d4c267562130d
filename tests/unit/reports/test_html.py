"""The page of a report: everything is in it, nothing is fetched, and names cannot become markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from msgspec.structs import replace

from kubesched import compare
from kubesched.reports.html import report_page
from kubesched.reports.report import Report
from kubesched.testing import ZONE_LABEL, make_node, make_pod
from kubesched.traces import Change, ChangeType, Entry, Header, Trace

BIN_PACKING = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
"""
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def report() -> Report:
    """Two policies on an hour of three nodes, with pods that spread and pods that fit nowhere."""
    spread = {
        "maxSkew": 1,
        "topologyKey": ZONE_LABEL,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": "a"}},
    }
    entries: list[Entry] = [
        Change(time=0.0, type=ChangeType.ADDED, object=make_node(f"n{i}", cpu=f"{4 + 4 * i}", zone=f"z{i}"))
        for i in range(3)
    ]
    for number in range(24):
        several = [spread] if number % 3 == 0 else []
        pod = make_pod(
            f"p{number}",
            namespace=f"team-{number % 2}",
            cpu="500m",
            labels={"app": "a"},
            spread=several,
            priority=number % 2,
        )
        pod = replace(pod, metadata=replace(pod.metadata, uid=f"u{number}"))
        entries.append(Change(time=60.0 * number + 1, type=ChangeType.ADDED, object=pod))
    large = make_pod("large", cpu="100")
    entries.append(Change(time=3600.0, type=ChangeType.ADDED, object=large))
    trace = Trace(Header(started=0.0), lambda: iter(entries))
    return compare(trace, {"today": None, HOSTILE: BIN_PACKING}, seeds=range(4))


def test_the_page_needs_no_network(report: Report) -> None:
    """No script, no address but the name space of SVG, and a policy that forbids the rest."""
    page = report_page(report)
    assert "default-src 'none'" in page
    assert set(re.findall(r"https?://[^\"' ]+", page)) == {"http://www.w3.org/2000/svg"}
    assert not any(text in page for text in ("<script", "@import", "url("))


def test_tags_are_balanced(report: Report) -> None:
    """A browser would forgive it; a reader of the file would not."""
    open_tags: list[str] = []

    class Balance(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag not in ("meta", "br"):
                open_tags.append(tag)

        def handle_startendtag(self, tag: str, attrs: object) -> None:
            pass

        def handle_endtag(self, tag: str) -> None:
            assert open_tags.pop() == tag

    Balance().feed(report_page(report))
    assert open_tags == []


@pytest.mark.parametrize(
    "expected",
    [
        pytest.param("more than chance (p = ", id="differences, and whether they are chance"),
        pytest.param("pods are placed on another node", id="how many move"),
        pytest.param("today: n2", id="both score tables of a pod that moves"),
        pytest.param("NodeResourcesFit: ", id="the plugin that makes the difference"),
        pytest.param("Insufficient cpu", id="why pods have no node"),
        pytest.param("spread achieved against asked", id="spread"),
        pytest.param("free cpu that no typical pod can use, %", id="fragmentation over time"),
        pytest.param("pending time by priority", id="pending time by priority"),
        pytest.param("pending time by namespace", id="pending time by namespace"),
        pytest.param("churn", id="churn"),
        pytest.param("images already on the node", id="image hits"),
        pytest.param("prefers-color-scheme: dark", id="a dark page, too"),
    ],
)
def test_what_a_report_has(report: Report, expected: str) -> None:
    """Everything that docs/replay.md lists."""
    assert expected in report_page(report)


def test_results_show_themselves_in_notebooks(report: Report) -> None:
    """A comparison, and a single run: tables and plots, with their style."""
    for shown in (report._repr_html_(), report.runs["today"][0]._repr_html_()):
        assert shown.startswith('<div class="kubesched"><style>')
        assert ["<svg" in shown, "<table" in shown, "<html" in shown] == [True, True, False]
