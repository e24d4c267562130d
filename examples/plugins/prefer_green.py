"""A score plugin in the per-node form, and a filter in the form over rows."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from kubesched.framework import (
    CycleState,
    DependsOn,
    FilterPlugin,
    Handle,
    NodeInfo,
    NodeView,
    PodTemplate,
    Reason,
    ScorePlugin,
    Verdict,
)
from kubesched.objects import Pod

MAINTENANCE = Reason.unresolvable("node(s) are under maintenance")


class PreferGreen(ScorePlugin):
    """Nodes that run on green power are better."""

    name = "PreferGreen"

    def __init__(self, args: dict[str, Any] | None, handle: Handle) -> None:
        self._label = (args or {}).get("label", "example.com/power")

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return 100 if node.labels.get(self._label) == "green" else 0


class NoMaintenance(FilterPlugin):
    """Nodes with the label example.com/maintenance take no new pods. The answer depends on the node alone."""

    name = "NoMaintenance"
    depends_on = DependsOn.NODE

    def signature(self, pod: PodTemplate) -> Hashable:
        return "any pod"  # what it says of a node is the same for each

    def filter_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Verdict:
        return Verdict.rejects(
            nodes, where=nodes.label("example.com/maintenance").present(nodes.rows), reason=MAINTENANCE
        )
