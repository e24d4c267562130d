"""The notebooks of examples/ run from the first cell to the last, and show tables and pictures."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from tests.unit.docs.test_public_names import not_public

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples" / "notebooks").glob("*.ipynb"))


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In ten cells; results are shown as HTML with pictures."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("PYTHONWARNINGS", "ignore")
    notebook = read(path)
    assert len(notebook.cells) == 10
    assert os.environ["IPYTHONDIR"] == str(tmp_path)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(path.parent)}}).execute()
    shown = [
        output["data"]["text/html"]
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if "text/html" in output.get("data", {})
    ]
    assert len(shown) >= 2
    assert all("<table>" in html and "<svg" in html for html in shown)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_output_and_imports_public_names(path: Path) -> None:
    """Outputs are made by whoever runs it."""
    code = [cell for cell in read(path).cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code)
    assert [name for cell in code for name in not_public(cell.source)] == []
    assert re.search(r"from kubesched", code[0].source)
