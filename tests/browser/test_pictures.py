"""The pictures of the documentation: written with `make pictures`, and made in every run, so that they stay true."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.browser.conftest import Serve, node, pod

FOLDER = os.environ.get("KUBESCHED_PICTURES", "")
ZONE, POOL = "topology.kubernetes.io/zone", "example.com/pool"
POOLS = {"general": ("16", "64Gi"), "compute": ("64", "128Gi"), "memory": ("16", "256Gi")}


def cluster() -> list[dict[str, Any]]:
    """Forty-eight nodes of three pools in three zones, more or less full, and pods that wait."""
    random = Random(4)
    objects: list[dict[str, Any]] = []
    for number in range(48):
        pool = ("general", "general", "compute", "memory")[number % 4]
        cpu, memory = POOLS[pool]
        name = f"{pool}-{number + 1}"
        one = node(name, cpu=cpu, memory=memory, labels={ZONE: f"zone-{'abc'[number % 3]}", POOL: pool})
        if number == 13:
            one["spec"] = {"unschedulable": True}
        objects.append(one)
        filled, wanted = 0.0, random.betavariate(4, 1.7) * int(cpu)
        replica = 0
        while filled < wanted:
            size = random.choice((0.5, 1, 2, 2, 4)) * int(cpu) / 16
            if filled + size > int(cpu):
                break
            filled, replica = filled + size, replica + 1
            app = random.choice(("checkout", "search", "ingest", "mail", "reports"))
            owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": app, "controller": True}
            made = pod(f"{app}-{number}-{replica}", on=name, cpu=f"{int(size * 1000)}m", ownerReferences=[owner])
            objects.append(made)
    created = "2026-11-18T09:00:00Z"
    waiting = [pod(f"train-{number}", cpu="60", creationTimestamp=created) for number in range(4)]
    return [*objects, *waiting, pod("web-7", cpu="2", creationTimestamp=created)]


@pytest.mark.parametrize(
    ("name", "address", "until", "theme"),
    [
        pytest.param("page-map", "#/map", "canvas[data-painted]", "dark", id="map"),
        pytest.param("page-map-light", f"#/map?group={POOL}", "canvas[data-painted]", "light", id="map in light"),
        pytest.param("page-pod", "#/pod/default/train-1", ".remedies", "dark", id="a pod that fits nowhere"),
        pytest.param("page-scores", "#/pod/default/web-7", "table.scores", "dark", id="a pod that fits"),
        pytest.param("page-queue", "#/queue", "tbody tr", "light", id="queue"),
        pytest.param("page-what-if", "#/what-if?do=drain:compute-3", ".outcome li", "dark", id="what if"),
    ],
)
def test_picture(tab: Any, serve: Serve, name: str, address: str, until: str, theme: str) -> None:
    tab.emulate_media(color_scheme=theme)
    tab.goto(serve(cluster()) + address)
    tab.wait_for_selector(until)
    tab.wait_for_timeout(800)  # the pods of the tiles are asked for apart
    assert tab.evaluate("document.documentElement.dataset.theme") == theme
    picture = tab.screenshot()
    assert len(picture) > 20_000
    if FOLDER:
        Path(FOLDER, f"{name}.png").write_bytes(picture)
