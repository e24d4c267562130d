"""The page about simulations can be copied, and says what it prints."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

PAGE = (Path(__file__).parents[3] / "docs" / "simulation.md").read_text()
CONTAINER = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}}
CLUSTER = {
    "apiVersion": "v1",
    "kind": "List",
    "items": [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}},
        *(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name},
                "status": {"allocatable": {"cpu": "8", "memory": "64Gi", "pods": "110"}},
            }
            for name in ("a", "b")
        ),
        *(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": f"on-{name}", "namespace": "default"},
                "spec": {"nodeName": name, "containers": [CONTAINER]},
            }
            for name in ("a", "b")
        ),
    ],
}


def test_its_code_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Block by block, in a folder with a cluster that somebody saved."""
    monkeypatch.chdir(tmp_path)
    Path("cluster.json").write_text(json.dumps(CLUSTER))
    module: dict[str, Any] = {"__name__": "page"}
    said = []
    for code, printed in re.findall(r"```python\n(.*?)```\n(?:\n```\n(.*?)```)?", PAGE, re.DOTALL):
        exec(code, module)
        said.append(capsys.readouterr().out)
        assert said[-1] == printed or not printed
    assert [bool(text) for text in said] == [True, True, True, False, True, True]
    room, again = said[-2:]
    assert room.startswith("6 of 100 fit\ndefault/larger fits nowhere: 0/2 nodes are available: 2 Insufficient cpu.")
    assert again == "now 2 packed 1\n"
