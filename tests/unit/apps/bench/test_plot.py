"""Plots of results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubesched.apps.bench.plot import growth_plots, read_results
from kubesched.apps.bench.results import Collected, Result, data_items
from kubesched.errors import ConfigurationError


def result(workload: str, cpu_seconds: float = 1.0) -> Result:
    stretch = Collected("test", bound_at=[0.1] * 1000, wall_seconds=1.0, cpu_seconds=cpu_seconds)
    return Result(workload=workload, mode="core", collected=[stretch])


def document(*workloads: str) -> dict[str, Any]:
    return data_items(map(result, workloads))


@pytest.mark.parametrize(
    ("workloads", "plots"),
    [
        pytest.param(["Basic/10Nodes_5Pods", "Basic/100Nodes_5Pods"], {"cost-by-nodes.svg"}, id="other nodes"),
        pytest.param(["Basic/10Nodes_5Pods", "Basic/10Nodes_50Pods"], {"cost-by-pods.svg"}, id="other pods"),
        pytest.param(["Kinds1/9Nodes_5Pods", "Kinds10/9Nodes_5Pods"], {"cost-by-kinds.svg"}, id="other kinds"),
    ],
)
def test_what_differs_is_plotted(workloads: list[str], plots: set[str]) -> None:
    """One file per thing that varies."""
    assert growth_plots([document(*workloads)]).keys() == plots


def test_results_of_several_files_are_one_curve() -> None:
    """A long measurement may come in parts."""
    plots = growth_plots([document("Basic/10Nodes_5Pods"), document("Basic/1000Nodes_5Pods")])
    assert plots["cost-by-nodes.svg"].count("<circle") == 2


def test_nothing_to_plot_is_told() -> None:
    """Two workloads that have nothing in common make no curve."""
    with pytest.raises(ConfigurationError, match="nothing to plot"):
        growth_plots([document("Basic/10Nodes_5Pods", "Basic/small")])


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"dataItems": [{}]}'])
def test_a_file_of_something_else(content: str, tmp_path: Path) -> None:
    """It is named."""
    file = tmp_path / "other.json"
    file.write_text(content)
    with pytest.raises(ConfigurationError, match=r"other\.json: not a file of results"):
        read_results(file)
