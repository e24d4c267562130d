"""What would happen, as data: steps that a browser's address can hold, and the map after them.

A step is a text, `action:argument`:

    drain:NODE  cordon:NODE  uncordon:NODE  remove:NODE      a name or a label selector
    add:COUNT:NODE                                           more nodes like one that is there
    change:NAMESPACE/POD:CHANGES                             a pod that waits, as one of its remedies says
    priority:NAMESPACE/POD:NUMBER                            a pod that waits, with a priority that may preempt
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec.structs import replace

from kubesched.apps.explain.cluster_remedies import PREEMPTS
from kubesched.apps.page.node_map import amounts_by_name
from kubesched.apps.plan.hypotheses import AddNodes, ChangePod, Cordon, Drain, Hypothesis, Remove, Uncordon
from kubesched.apps.plan.reporting import as_data
from kubesched.apps.plan.what_if import what_if
from kubesched.apps.simulate.simulation import Simulation
from kubesched.errors import ConfigurationError
from kubesched.objects import Pod

MOST_STEPS: Final = 20
MOST_NODES: Final = 100
"""Nodes that one step adds."""
MOST_LINES: Final = 1000
"""Pods in each list of a report."""
OF_NODES: Final[dict[str, Callable[[str], Hypothesis]]] = {
    "drain": Drain,
    "cordon": Cordon,
    "uncordon": Uncordon,
    "remove": Remove,
}


def what_if_view(simulation: Simulation, steps: Sequence[str]) -> dict[str, Any]:
    """The report, and by node what is requested there afterwards. ConfigurationError for a step that makes no sense."""
    if not 0 < len(steps) <= MOST_STEPS:
        raise ConfigurationError([f"expected 1 to {MOST_STEPS} steps, got {len(steps)}"])
    hypotheses = [_hypothesis(step, simulation) for step in steps]
    looks: list[dict[str, dict[str, Any]]] = []
    report = as_data(what_if(simulation, hypotheses, lambda seen: looks.append(amounts_by_name(seen))))
    before, after = looks
    counts = {name: len(lines) for name, lines in report.items() if isinstance(lines, list)}
    return {
        "report": {name: lines[:MOST_LINES] if isinstance(lines, list) else lines for name, lines in report.items()},
        "counts": counts,
        "changed": {name: node for name, node in after.items() if before.get(name) != node},
        "before": {name: before[name] for name, node in after.items() if name in before and before[name] != node},
        "added": [name for name in after if name not in before],
        "gone": [name for name in before if name not in after],
    }


def _hypothesis(step: str, simulation: Simulation) -> Hypothesis:
    action, _, argument = step.partition(":")
    if action in OF_NODES and argument:
        return OF_NODES[action](argument)
    if action == "add":
        count, _, like = argument.partition(":")
        if count.isdigit() and 0 < int(count) <= MOST_NODES and like:
            return AddNodes(int(count), like)
    key, _, change = argument.partition(":")
    if action == "change" and change:
        return _remedy(key, change, simulation)
    if action == "priority" and change.lstrip("-").isdigit():
        pod = _waiting(key, simulation)
        spec = replace(pod.spec, priority=int(change), preemption_policy=PREEMPTS)
        return ChangePod(replace(pod, spec=spec), f"had priority {change}")
    raise ConfigurationError([f"{step!r} is no step"])


def _remedy(key: str, change: str, simulation: Simulation) -> Hypothesis:
    """That of the pod's remedies which says this. The cluster may have changed since it was shown."""
    _waiting(key, simulation)
    for remedy in simulation.explain(key).remedies:
        if remedy.pod is not None and " and ".join(remedy.changes) == change:
            return ChangePod(remedy.pod, change)
    raise ConfigurationError([f"{key} would not fit any more if it {change}: look at it again"])


def _waiting(key: str, simulation: Simulation) -> Pod:
    pod = simulation.get(Pod, key)
    if pod is None or pod.spec.node_name:
        raise ConfigurationError([f"{key} does not wait"])
    return pod
