"""Custom resources and fetched facts in plugins: read, kept answers renewed, waiting pods woken."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import pytest

from kubesched import Simulation
from kubesched.errors import ConfigurationError, InvalidObjectError
from kubesched.framework import (
    Action,
    ClusterEvent,
    ConfigMap,
    CustomObject,
    CustomResource,
    DependsOn,
    EventHint,
    FilterPlugin,
    Handle,
    Hint,
    KubeStruct,
    NodeInfo,
    ObjectMeta,
    PodTemplate,
    ScorePlugin,
    Status,
    plain_kind,
)
from kubesched.objects import Pod
from kubesched.testing import make_node, make_pod

CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: NAME, weight: 100}]}}
"""
METRICS = "/apis/metrics.k8s.io/v1beta1/nodes"


class WindowSpec(KubeStruct):
    is_open: bool = False


class Window(CustomObject):
    """When a node may take pods."""

    resource = CustomResource("example.com/v1", "windows", namespaced=False)

    spec: WindowSpec = WindowSpec()


class Windows(FilterPlugin):
    """A node takes pods while the window of its name is open."""

    name = "Windows"
    depends_on = DependsOn.NODE

    def __init__(self, args: Any, handle: Handle) -> None:
        self._windows = handle.informer(Window)
        self.asked = 0

    def signature(self, pod: PodTemplate) -> Hashable:
        return "any pod"

    def external_version(self, pod: PodTemplate) -> Hashable:
        return self._windows.version

    def filter(self, state: Any, pod: Pod, node: NodeInfo) -> Status | None:
        window = self._windows.get(node.name)
        return None if window is not None and window.spec.is_open else Status.unschedulable("window is closed")

    def events_to_register(self) -> Sequence[EventHint]:
        return [EventHint(ClusterEvent.of(Window, Action.ADD | Action.UPDATE), self._opens)]

    def _opens(self, pod: Any, old: Window | None, new: Window) -> Hint:
        return Hint.QUEUE if new.spec.is_open else Hint.SKIP


class LeastLoaded(ScorePlugin):
    """The emptier a node is according to the metrics API, the better."""

    name = "LeastLoaded"
    depends_on = DependsOn.NODE

    def __init__(self, args: Any, handle: Handle) -> None:
        self.load = handle.fetch(METRICS, every=15)

    def signature(self, pod: PodTemplate) -> Hashable:
        return "any pod"

    def external_version(self, pod: PodTemplate) -> Hashable:
        return self.load.version

    def score(self, state: Any, pod: Pod, node: NodeInfo) -> int:
        return 100 - int((self.load.value or {}).get(node.name, 0))


def simulate(plugin: type) -> Simulation:
    return Simulation(CONFIG.replace("NAME", plugin.name), plugins={plugin.name: plugin})  # type: ignore[attr-defined]


def window(name: str, *, is_open: bool) -> Window:
    return Window(metadata=ObjectMeta(name=name), spec=WindowSpec(is_open=is_open))


def test_an_object_of_a_plugins_own_kind_decides() -> None:
    """From a manifest, as typed as the plugin declares it."""
    with simulate(Windows) as simulation:
        simulation.load("{apiVersion: example.com/v1, kind: Window, metadata: {name: b}, spec: {isOpen: true}}")
        simulation.add(make_node("a"), make_node("b"), make_pod("p"))
        assert simulation.schedule() == {"default/p": "b"}
        assert simulation.get(Window, "b") == simulation.objects(Window)[0]


@pytest.mark.parametrize(
    ("change", "node"),
    [
        pytest.param(window("a", is_open=True), "a", id="what it waits for"),
        pytest.param(window("a", is_open=False), None, id="something that does not help"),
    ],
)
def test_a_change_of_the_object_wakes_rejected_pods(change: Window, node: str | None) -> None:
    """By the plugin's hint; and answers that were kept are asked for again."""
    with simulate(Windows) as simulation:
        simulation.add(make_node("a"), window("a", is_open=False), make_pod("p"))
        assert simulation.schedule() == {"default/p": None}
        simulation.add(change)
        assert simulation.advance(5) == {"default/p": node}


def test_a_deleted_object_is_gone() -> None:
    with simulate(Windows) as simulation:
        simulation.add(make_node("a"), window("a", is_open=True), make_pod("p"))
        assert simulation.schedule() == {"default/p": "a"}
        simulation.remove(window("a", is_open=True))
        simulation.add(make_pod("q"))
        assert simulation.schedule()["default/q"] is None


def test_a_hypothesis_about_a_custom_object_is_undone() -> None:
    with simulate(Windows) as simulation:
        simulation.add(make_node("a"), window("a", is_open=False), make_pod("p"))
        simulation.schedule()
        with simulation.branch():
            simulation.add(window("a", is_open=True))
            assert simulation.advance(5) == {"default/p": "a"}
        assert simulation.advance(400) == {"default/p": None}


@pytest.mark.parametrize(
    ("manifest", "problem"),
    [
        pytest.param(
            "{apiVersion: example.com/v2, kind: Window, metadata: {name: b}}",
            "expected 'example.com/v1', got 'example.com/v2'",
            id="another version",
        ),
        pytest.param(
            "{apiVersion: example.com/v1, kind: Window, metadata: {name: b}, spec: {isOpen: maybe}}",
            "spec.isOpen",
            id="a field that does not fit",
        ),
    ],
)
def test_a_bad_manifest_is_one_clear_line(manifest: str, problem: str) -> None:
    with simulate(Windows) as simulation, pytest.raises(InvalidObjectError, match=problem) as caught:
        simulation.load(manifest)
    assert "\n" not in str(caught.value)


def test_a_kind_of_the_same_name_in_another_group_is_not_ours() -> None:
    """PodGroup is the name of several: without a plugin that declares it, it is left out with a warning."""
    with Simulation() as simulation, pytest.warns(UserWarning, match="PodGroup"):
        simulation.load("{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: g}}")


def test_plain_data_and_config_maps() -> None:
    """A kind without a struct of its own; and config maps, of one namespace."""
    carbon = plain_kind("example.com/v1", "Carbon", "carbons", namespaced=False)

    class Reads(ScorePlugin):
        name = "Reads"

        def __init__(self, args: Any, handle: Handle) -> None:
            self._carbon = handle.informer(carbon)
            self._settings = handle.informer(ConfigMap, namespace="kube-system")

        def score(self, state: Any, pod: Pod, node: NodeInfo) -> int:
            found, settings = self._carbon.get(node.name), self._settings.get("green", "kube-system")
            most = int(settings.data["most"]) if settings is not None else 0
            return 100 if found is not None and found.spec["grams"] <= most else 0

    with simulate(Reads) as simulation:
        simulation.load("""
apiVersion: example.com/v1
kind: Carbon
metadata: {name: b}
spec: {grams: 20}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: green, namespace: kube-system}
data: {most: "50"}
""")
        simulation.add(make_node("a"), make_node("b"), make_pod("p"))
        assert simulation.schedule() == {"default/p": "b"}


def test_fetched_facts_are_at_hand() -> None:
    """New values count from the next decision on."""
    with simulate(LeastLoaded) as simulation:
        simulation.add(make_node("a"), make_node("b"), make_pod("p"))
        simulation.publish(METRICS, {"a": 90, "b": 10})
        assert simulation.schedule() == {"default/p": "b"}
        simulation.publish(METRICS, {"a": 10, "b": 90})
        simulation.add(make_pod("q"))
        assert simulation.schedule()["default/q"] == "a"
        with pytest.raises(InvalidObjectError, match="no plugin fetches /elsewhere"):
            simulation.publish("/elsewhere", {})


def test_an_answer_that_cannot_be_read_changes_nothing() -> None:
    made: list[LeastLoaded] = []

    class Kept(LeastLoaded):
        def __init__(self, args: Any, handle: Handle) -> None:
            super().__init__(args, handle)
            made.append(self)

    with Simulation(CONFIG.replace("NAME", "LeastLoaded"), plugins={"LeastLoaded": Kept}) as simulation:
        load = made[0].load
        assert (load.value, load.age, load.version) == (None, None, 0)
        simulation.publish(METRICS, {"a": 1})
        simulation.publish(METRICS, b"<html>")
        assert load.value == {"a": 1}
        assert load.version == 1
        assert load.problem.startswith("the answer cannot be read")
        simulation.clock.tick(7)
        assert load.age == 7
        simulation.publish(METRICS, {"a": 1})
        assert (load.version, load.problem, load.age) == (1, "", 0)


def test_a_new_value_wakes_pods_that_wait_for_it() -> None:
    class Calm(FilterPlugin):
        name = "Calm"

        def __init__(self, args: Any, handle: Handle) -> None:
            self._load = handle.fetch(METRICS, every=15)

        def filter(self, state: Any, pod: Pod, node: NodeInfo) -> Status | None:
            return Status.unschedulable("too busy") if (self._load.value or {}).get(node.name, 100) > 50 else None

        def events_to_register(self) -> Sequence[EventHint]:
            return [EventHint(self._load.event)]

    with simulate(Calm) as simulation:
        simulation.add(make_node("a"), make_pod("p"))
        assert simulation.schedule() == {"default/p": None}
        simulation.publish(METRICS, {"a": 10})
        assert simulation.advance(5) == {"default/p": "a"}


class NoKind(KubeStruct):
    metadata: ObjectMeta = ObjectMeta()


@pytest.mark.parametrize(
    ("ask", "problem"),
    [
        pytest.param(lambda handle: handle.informer(NoKind), "NoKind is no kind", id="a struct without a resource"),
        pytest.param(lambda handle: handle.fetch("prometheus:9090", every=1), "neither an http", id="no address"),
        pytest.param(lambda handle: handle.fetch("http://x/", every=0), "more than 0 seconds", id="all the time"),
    ],
)
def test_a_wrong_question_is_a_line_about_the_plugin(ask: Any, problem: str) -> None:
    class Wrong(ScorePlugin):
        name = "Wrong"

        def __init__(self, args: Any, handle: Handle) -> None:
            ask(handle)

        def score(self, state: Any, pod: Pod, node: NodeInfo) -> int:
            return 0

    with pytest.raises(ConfigurationError, match=problem) as caught:
        simulate(Wrong)
    assert str(caught.value).startswith("initializing plugin Wrong: ")
