"""A real browser in front of a real server. Without chromium or Playwright, these tests are skipped, and say so."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP *.test 127.0.0.1",  # other sites, on this machine
)
SECONDS = 30

Serve = Callable[[list[Any]], str]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/browser/" in item.path.as_posix():
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: make browser-test")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium: make browser-test installs it where it can")
    with playwright.sync_playwright() as running:
        launched = running.chromium.launch(executable_path=chromium, args=list(ARGUMENTS))
        yield launched
        launched.close()


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """A tab with cookies of its own; an error in a script of the page fails the test."""
    context = browser.new_context(viewport={"width": 1440, "height": 860}, color_scheme="dark", reduced_motion="reduce")
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.set_default_timeout(SECONDS * 1000)
    yield page
    context.close()
    assert not errors


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """`kubesched page` on these objects; the link that it prints."""
    started: list[subprocess.Popen[str]] = []

    def start(objects: list[Any]) -> str:
        file = tmp_path / f"objects-{len(started)}.json"
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        command = [sys.executable, "-m", "kubesched", "page", "-f", str(file)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None
        return found[0]

    yield start
    for process in started:
        process.terminate()
        process.wait(SECONDS)
        assert process.stdout is not None
        process.stdout.close()


def node(name: str, *, cpu: str = "4", memory: str = "16Gi", labels: dict[str, str] | None = None) -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": memory, "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels or {}},
        "status": {"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def pod(name: str, *, cpu: str = "500m", on: str = "", namespace: str = "default", **metadata: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu, "memory": "256Mi"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": {"containers": [container], **({"nodeName": on} if on else {})},
        "status": {"phase": "Running" if on else "Pending"},
    }


def small_cluster() -> list[dict[str, Any]]:
    zone = "topology.kubernetes.io/zone"
    nodes = [node(f"node-{number}", labels={zone: f"zone-{'abc'[number % 3]}"}) for number in range(1, 7)]
    placed = [pod(f"web-{number}", on=f"node-{number % 6 + 1}", cpu="700m") for number in range(14)]
    return [*nodes, *placed, pod("small"), pod("large", cpu="12")]
