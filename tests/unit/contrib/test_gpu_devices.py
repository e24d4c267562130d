"""Shared GPUs: what pods leave of them, which nodes have room, and which GPUs a pod gets."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kubesched import Simulation
from kubesched.contrib.gpu_sharing import DEVICES, RESOURCE, GPUSharing
from kubesched.contrib.gpu_sharing.devices import best_fit, left_by, parse_annotation
from kubesched.framework import ClientError, CycleState
from kubesched.objects import Node, Pod
from kubesched.testing import make_node, make_pod
from kubesched.testing.handle import FakeHandle, ask

CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: "kubesched.contrib.gpu_sharing:GPUSharing"}]}}
"""


def gpu_node(name: str = "n", gpus: int = 2, **facts: Any) -> Node:
    return make_node(name, cpu="64", resources={RESOURCE: gpus * 1000}, **facts)


def gpu_pod(name: str, thousandths: int, devices: str = "", **facts: Any) -> Pod:
    annotations = {DEVICES: devices} if devices else {}
    return make_pod(name, requests={RESOURCE: thousandths}, annotations=annotations, **facts)


@pytest.mark.parametrize(
    ("pods", "free"),
    [
        pytest.param([], [1000, 1000, 1000], id="nothing"),
        pytest.param([(300, "1")], [1000, 700, 1000], id="a share"),
        pytest.param([(300, "1"), (700, "1")], [1000, 0, 1000], id="two shares of one GPU"),
        pytest.param([(2000, "0-2")], [0, 1000, 0], id="two whole ones"),
        pytest.param([(300, "")], [700, 1000, 1000], id="no annotation: where it would fit best"),
        pytest.param([(300, ""), (600, "2")], [1000, 1000, 100], id="those with an annotation come first"),
        pytest.param([(300, "7")], [700, 1000, 1000], id="a GPU that is not there"),
        pytest.param([(800, "1"), (800, "1")], [200, 200, 1000], id="no room where the second one says"),
        pytest.param([(300, "1-2")], [700, 1000, 1000], id="a share is on one GPU"),
        pytest.param([(2000, "1-1")], [0, 0, 1000], id="the same GPU twice"),
        pytest.param([(300, "x")], [700, 1000, 1000], id="no number"),
        pytest.param([(4000, "")], [1000, 1000, 1000], id="more than there is"),
    ],
)
def test_what_pods_leave(pods: list[tuple[int, str]], free: list[int]) -> None:
    """The annotation decides, unless it cannot be."""
    templates = FakeHandle().cluster.templates
    infos = [templates.info(gpu_pod(f"p{k}", *pod)) for k, pod in enumerate(pods)]
    assert left_by(infos, 3)[0] == free
    assert left_by(reversed(infos), 3)[0] == free


@pytest.mark.parametrize(
    ("free", "thousandths", "devices"),
    [
        pytest.param([1000, 400, 400], 300, (1,), id="the first of the fullest"),
        pytest.param([1000, 400, 300], 300, (2,), id="fits exactly"),
        pytest.param([200, 1000], 300, (1,), id="no other has room"),
        pytest.param([200, 100], 300, (), id="none has room"),
        pytest.param([900, 1000, 1000, 1000], 2000, (1, 2), id="the first free ones"),
        pytest.param([900, 1000], 2000, (), id="too few are free"),
    ],
)
def test_best_fit(free: list[int], thousandths: int, devices: tuple[int, ...]) -> None:
    """Shares go where the least is left; whole GPUs are taken in order."""
    assert best_fit(free, thousandths) == devices


@pytest.mark.parametrize("text", ["", "-", "1-", "a", "1,2", "²"])
def test_an_annotation_that_makes_no_sense_is_none(text: str) -> None:
    """Anybody can write one."""
    assert parse_annotation(text) == ()


@pytest.mark.parametrize(
    ("thousandths", "reasons"),
    [
        pytest.param(0, {}, id="a pod without GPUs goes anywhere"),
        pytest.param(
            300, {"plain": "node(s) had no GPUs", "full": "node(s) had no GPU with enough left"}, id="a share"
        ),
        pytest.param(1000, {"plain": "node(s) had no GPUs", "full": "node(s) had too few free GPUs"}, id="whole"),
        pytest.param(
            1500,
            dict.fromkeys(["plain", "full", "free"], "more than one GPU can be requested in whole numbers only"),
            id="one and a half",
        ),
    ],
)
def test_which_nodes_have_room(thousandths: int, reasons: dict[str, str]) -> None:
    """Two GPUs with 200 left each have 400, and no room for 300."""
    handle = FakeHandle().load(make_node("plain"), gpu_node("full"), gpu_node("free"))
    handle.load(gpu_pod("a", 800, "0", node="full"), gpu_pod("b", 800, "1", node="full"))
    answer = ask(GPUSharing(None, handle), gpu_pod("p", thousandths), handle.cluster)
    assert {name: status.reasons[0] for name, status in answer.statuses.items() if status.reasons} == reasons


def test_pods_get_their_gpus_as_an_annotation() -> None:
    """The next pod finds them taken, also after they are bound."""
    with Simulation(CONFIG, ties="first") as simulation:
        simulation.add(gpu_node(gpus=3))
        wanted = {"a": 600, "b": 500, "c": 400, "d": 1000, "e": 600}
        simulation.add(*(gpu_pod(name, thousandths) for name, thousandths in wanted.items()))
        assert simulation.schedule()["default/e"] is None
        got = {pod.metadata.name: pod.metadata.annotations.get(DEVICES) for pod in simulation.objects(Pod)}
        assert got == {"a": "0", "b": "1", "c": "0", "d": "2", "e": None}
        simulation.remove(make_pod("b"))
        assert simulation.advance(300)["default/e"] == "n"
        assert simulation.objects(Pod)[-1].metadata.annotations[DEVICES] == "1"


def test_the_annotation_of_a_pod_that_waits_does_not_count() -> None:
    """It is from an attempt that failed after it was written."""
    with Simulation(CONFIG) as simulation:
        simulation.add(gpu_node(gpus=2), gpu_pod("a", 1000, "0", node="n"), gpu_pod("b", 1000, "0"))
        simulation.schedule()
        pod = simulation.get(Pod, "b", "default")
        assert pod is not None
        assert pod.metadata.annotations[DEVICES] == "1"


def test_preemption_knows_the_gpus() -> None:
    """Of the pods on the node, the one whose GPU helps is evicted, not the first."""
    with Simulation(CONFIG) as simulation:
        simulation.add(gpu_node(gpus=2), gpu_pod("small", 300, "0", node="n"), gpu_pod("large", 1000, "1", node="n"))
        simulation.add(gpu_pod("urgent", 800, priority=10))
        simulation.schedule()
        assert [one.victim.metadata.name for one in simulation.preemptions] == ["large"]
        assert simulation.advance(60)["default/urgent"] == "n"


def test_an_annotation_that_changes_is_seen() -> None:
    """Somebody else may repair it: kept answers follow."""
    with Simulation(CONFIG) as simulation:
        placed = gpu_pod("a", 500, "0", node="n")
        simulation.add(gpu_node(gpus=2), placed, gpu_pod("b", 500, "1", node="n"), gpu_pod("p", 1000))
        assert simulation.schedule()["default/p"] is None
        simulation.add(gpu_pod("a", 500, "1", node="n"))
        simulation.settle(retry=True)
        assert simulation.placements()["default/p"] == "n"


def test_a_write_that_fails_is_the_attempts_failure() -> None:
    """And not a bug of the plugin."""
    handle = FakeHandle().load(gpu_node())
    plugin = GPUSharing(None, handle)
    info = handle.cluster.templates.info(gpu_pod("p", 300))
    state = CycleState(info)
    assumed = plugin.assumed_pod(state, info.pod, "n")
    assert assumed.metadata.annotations == {DEVICES: "0"}

    async def fails(*args: Any, **more: Any) -> None:
        raise ClientError("the API server is gone")

    handle.api.patch = fails  # type: ignore[method-assign,assignment]
    status = asyncio.run(plugin.pre_bind(state, info.pod, "n"))
    assert "the API server is gone" in str(status)
    assert not status.is_success
