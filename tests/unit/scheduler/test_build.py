"""Mistakes in a configuration are told all at once, before anything runs."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from kubesched.apps.simulate.memory_api import MemoryApi
from kubesched.clock import VirtualClock
from kubesched.config import FeatureGates, load_config
from kubesched.errors import ConfigurationError
from kubesched.objects import Pod
from kubesched.scheduler.build import Assembled, Dependencies, build_scheduler
from kubesched.scheduler.framework import CycleState, NodeInfo, QueuedPod, QueueSortPlugin, ScorePlugin
from kubesched.testing.recording import RecordingRecorder


class Green(ScorePlugin):
    name = "Green"

    def __init__(self, args: Any, handle: Any) -> None:
        self.args = args

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        return 1


class Broken(Green):
    name = "Broken"

    def __init__(self, args: Any, handle: Any) -> None:
        raise ValueError("no colour")


class Nameless(Green):
    name = "SomethingElse"


class ByName(QueueSortPlugin):
    name = "ByName"

    def __init__(self, args: Any, handle: Any) -> None: ...

    def sort_key(self, pod: QueuedPod) -> str:
        return pod.info.key


def profile(name: str, *enabled: str, **points: Any) -> dict[str, Any]:
    return {"schedulerName": name, "plugins": {"multiPoint": {"enabled": [{"name": n} for n in enabled]}, **points}}


def build(*profiles: dict[str, Any], plugins: dict[str, Any] | None = None) -> Assembled:
    gates = FeatureGates()
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": profiles,
    }
    dependencies = Dependencies(
        api=MemoryApi(), recorder=RecordingRecorder(), clock=VirtualClock(), random=Random(0), plugins=plugins
    )
    return build_scheduler(load_config(json.dumps(document), gates), gates, dependencies)


BY_NAME_EVERYWHERE = profile("b", "ByName")
BY_NAME_EVERYWHERE["plugins"]["multiPoint"]["disabled"] = [{"name": "PrioritySort"}]
BY_NAME = {"queueSort": {"enabled": [{"name": "ByName"}], "disabled": [{"name": "*"}]}}


@pytest.mark.parametrize(
    ("profiles", "plugins", "problem"),
    [
        pytest.param([profile("a", "Nope")], {}, "Nope", id="a plugin that does not exist"),
        pytest.param([profile("a")], {"NodeName": Green}, "NodeName already exists", id="a name that is taken"),
        pytest.param(
            [profile("a"), profile("b", **BY_NAME)],
            {"ByName": ByName},
            "must be the same for all profiles",
            id="two ways to sort one queue",
        ),
        pytest.param(
            [profile("a"), BY_NAME_EVERYWHERE],
            {"ByName": ByName},
            "all profiles must use the same queue sort plugin, not ByName, PrioritySort",
            id="two ways to sort one queue, by multiPoint",
        ),
        pytest.param(
            [profile("a", "Broken")],
            {"Broken": Broken},
            "initializing plugin Broken: ValueError: no colour",
            id="a plugin that cannot be made",
        ),
        pytest.param(
            [profile("a", "Green")], {"Green": lambda args, handle: Green(args, handle)}, "is no class", id="a function"
        ),
        pytest.param([profile("a", "Odd")], {"Odd": Nameless}, "has another `name`", id="a class of another name"),
    ],
)
def test_what_is_wrong_is_said(profiles: list[Any], plugins: dict[str, Any], problem: str) -> None:
    """By a ConfigurationError."""
    with pytest.raises(ConfigurationError) as raised:
        build(*profiles, plugins=plugins)
    assert problem in str(raised.value)


def test_all_profiles_problems_are_said_together() -> None:
    """Not one after the other."""
    with pytest.raises(ConfigurationError) as raised:
        build(profile("a", "Nope"), profile("b", "Broken"), plugins={"Broken": Broken})
    assert len(raised.value.problems) == 2


def test_plugins_get_their_arguments_and_weights() -> None:
    """An out-of-tree plugin gets its arguments as they are written."""
    wanted = profile("a")
    wanted["plugins"]["multiPoint"]["enabled"] = [{"name": "Green", "weight": 7}]
    wanted["pluginConfig"] = [{"name": "Green", "args": {"shade": "dark"}}]
    built = build(wanted, plugins={"Green": Green}).profiles["a"]
    assert built.score_weights["Green"] == 7
    green = built.plugins["Green"]
    assert isinstance(green, Green)
    assert green.args == {"shade": "dark"}
    assert built.plugin_names()["score"][-1] == "Green"
