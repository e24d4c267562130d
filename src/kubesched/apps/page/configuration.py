"""Configurations on the page: checked while they are typed, and compared on the present state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from kubesched.apps.explain.explanation import Explanation
from kubesched.apps.simulate.simulation import Simulation
from kubesched.apps.simulate.virtual_scheduler import load_configuration
from kubesched.config import FeatureGates
from kubesched.config.dump import dump_yaml
from kubesched.errors import ConfigurationError, KubeschedError
from kubesched.objects import Pod
from kubesched.objects.completion import DEFAULT_SCHEDULER
from kubesched.scheduler.framework import PluginFactory

MOST_SECONDS: Final = 10.0
"""For which pods are compared; what was not compared then is said."""
Plugins = Mapping[str, PluginFactory]
LONGEST: Final = 1 << 20
MOST_WEIGHT: Final = 1_000_000


def configuration_text(config: Path | None, gates: FeatureGates) -> str:
    """The file as it is, or the defaults."""
    return config.read_text() if config is not None else dump_yaml(load_configuration(None, gates))


def problems_of(text: str, gates: FeatureGates, plugins: Plugins) -> list[str]:
    """Everything that is wrong with a configuration, one line each."""
    if len(text) > LONGEST:
        return ["a configuration of more than a megabyte is none"]
    try:
        with Simulation(text, feature_gates=gates, plugins=plugins):
            return []
    except ConfigurationError as error:
        return list(error.problems)
    except KubeschedError as error:
        return [str(error)]


def weights_of(text: str, gates: FeatureGates, plugins: Plugins) -> list[dict[str, Any]]:
    """The weights of all score plugins, by profile, of a valid configuration."""
    with Simulation(text, feature_gates=gates, plugins=plugins) as simulation:
        return [
            {"profile": name, "plugins": dict(sorted(weights.items()))}
            for name, weights in simulation.weights().items()
        ]


def with_weight(text: str, profile: str, plugin: str, weight: int) -> str:
    """The text of a configuration with another weight for a plugin."""
    if not 1 <= weight <= MOST_WEIGHT:
        raise ConfigurationError([f"a weight is a number from 1 to {MOST_WEIGHT}"])
    try:
        config = yaml.safe_load(text)
        profiles = config["profiles"] if config.get("profiles") else config.setdefault("profiles", [{}])
        chosen = next(one for one in profiles if one.get("schedulerName", DEFAULT_SCHEDULER) == profile)
        plugins = chosen.setdefault("plugins", {})
        enabled = [one for point in ("score", "multiPoint") for one in plugins.get(point, {}).get("enabled", ())]
        named = next((one for one in enabled if one.get("name") == plugin), None)
        if named is None:
            named = {"name": plugin}
            plugins.setdefault("multiPoint", {}).setdefault("enabled", []).append(named)
        named["weight"] = weight
    except (yaml.YAMLError, AttributeError, KeyError, TypeError, StopIteration) as error:
        raise ConfigurationError([f"there is no profile {profile!r} in this text"]) from error
    return yaml.safe_dump(config, allow_unicode=True)


def compare(present: Simulation, text: str, now: Callable[[], float]) -> dict[str, Any]:
    """Which pods would be decided otherwise with another configuration, each as if it were not placed yet.

    Pods of one template and place in turn come last, so that the time goes to different ones first.
    """
    pods = _different_first([pod for pod in present.objects(Pod) if not (pod.is_terminal or pod.is_terminating)])
    differing, compared, until = [], 0, now() + MOST_SECONDS
    with present.with_config(text) as other:
        for pod in pods:
            if now() > until:
                break
            ours, theirs = _decided(present, pod.key), _decided(other, pod.key)
            compared += 1
            if ours is None or theirs is None:
                continue
            if set(ours.best_nodes) != set(theirs.best_nodes):
                differing.append(_difference(pod, ours, theirs))
    return {"compared": compared, "pods": len(pods), "differences": differing}


def _decided(simulation: Simulation, key: str) -> Explanation | None:
    """None for a pod of a scheduler that the configuration does not have."""
    try:
        return simulation.explain(key, seek_remedies=False)
    except ConfigurationError:
        return None


def _difference(pod: Pod, ours: Explanation, theirs: Explanation) -> dict[str, Any]:
    return {
        "pod": pod.key,
        "node": pod.spec.node_name,
        "before": list(ours.best_nodes[:4]),
        "beforeCount": len(ours.best_nodes),
        "after": list(theirs.best_nodes[:4]),
        "afterCount": len(theirs.best_nodes),
        "reason": theirs.fit_error or theirs.error,
        "decidedBy": _decided_by(ours, theirs),
    }


def _decided_by(ours: Explanation, theirs: Explanation) -> list[str]:
    """The plugins whose weighted points for the two nodes differ otherwise than before, the strongest first."""
    if not (ours.best_nodes and theirs.best_nodes):
        return []
    here, there = ours.best_nodes[0], theirs.best_nodes[0]
    if here not in theirs.scores or there not in ours.scores:
        return []
    then, now = ours.scores, theirs.scores
    plugins = {*then[here].weighted, *now[here].weighted}
    shifts = {
        plugin: (now[there].weighted.get(plugin, 0) - now[here].weighted.get(plugin, 0))
        - (then[there].weighted.get(plugin, 0) - then[here].weighted.get(plugin, 0))
        for plugin in plugins
    }
    return [plugin for plugin in sorted(shifts, key=lambda name: (-abs(shifts[name]), name)) if shifts[plugin]]


def _different_first(pods: Sequence[Pod]) -> list[Pod]:
    """Pods that wait first, then one of each workload, then the next of each."""
    turns: dict[str, int] = {}
    order: list[tuple[bool, int, str, Pod]] = []
    for pod in pods:
        owner = pod.metadata.controller_of
        name = f"{pod.metadata.namespace}/{owner.kind}/{owner.name}" if owner is not None else pod.key
        turns[name] = turns.get(name, 0) + 1
        order.append((bool(pod.spec.node_name), turns[name], pod.key, pod))
    return [pod for *_, pod in sorted(order, key=lambda item: item[:3])]
