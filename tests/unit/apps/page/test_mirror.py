"""Questions are answered on the state at the time of asking, and change nothing."""

from __future__ import annotations

import asyncio
import dataclasses
import json

import pytest
from msgspec.structs import replace
from tests.unit.apps.page.conftest import small_cluster, source_of

from kubesched.apps.page.mirror import MOST_QUESTIONS, BusyError, Mirror
from kubesched.apps.page.policies import RunningPolicy
from kubesched.apps.simulate.simulation import Simulation
from kubesched.config import FeatureGates, load_config
from kubesched.objects import Node, Pod
from kubesched.scheduler.reload import adopt, prepare
from kubesched.testing import make_node, make_pod

HEADER = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def best(simulation: Simulation) -> list[str]:
    return list(simulation.explain("default/web-2").best_nodes)


async def test_the_mirror_follows_the_cluster() -> None:
    """Objects that came, changed, went, or were made again under the same name."""
    source = source_of(small_cluster())
    handlers, objects = source.assembled.handlers, source.assembled.objects
    mirror = Mirror(source)
    assert await mirror.ask(best) == ["node-2"]

    handlers.add(make_node("node-4", cpu="64", memory="64Gi"))
    assert await mirror.ask(best) == ["node-4"]

    old = objects.of(Node).get("node-4")
    assert old is not None
    cordoned = replace(old, spec=replace(old.spec, unschedulable=True))
    handlers.update(old, cordoned)
    assert await mirror.ask(best) == ["node-2"]

    handlers.delete(cordoned)
    again = make_node("node-4", cpu="128", memory="64Gi")
    handlers.add(replace(again, metadata=replace(again.metadata, uid="another")))
    assert await mirror.ask(best) == ["node-4"]

    pod = objects.of(Pod).get("web-2", "default")
    assert pod is not None
    handlers.update(pod, replace(pod, spec=replace(pod.spec, node_name="node-3")))
    assert await mirror.ask(lambda simulation: simulation.placements()["default/web-2"]) == "node-3"
    mirror.close()


async def test_scheduling_in_a_branch_leaves_the_mirror_as_it_was() -> None:
    def settle(simulation: Simulation) -> str | None:
        with simulation.branch():
            simulation.settle()
            return simulation.placements()["default/web-2"]

    source = source_of(small_cluster())
    mirror = Mirror(source)
    assert [await mirror.ask(settle) for _ in range(2)] == ["node-2", "node-2"]
    assert source.assembled.objects.of(Pod).get("web-2", "default").spec.node_name == ""  # type: ignore[union-attr]
    mirror.close()


async def test_too_many_questions() -> None:
    """Whoever asks when many wait already is refused at once; the others get their answers."""
    mirror = Mirror(source_of([make_node("node-1"), make_pod("web")]))
    asked = [asyncio.ensure_future(mirror.ask(lambda _: 1)) for _ in range(MOST_QUESTIONS)]
    await asyncio.sleep(0)
    with pytest.raises(BusyError, match="try again"):
        await mirror.ask(lambda _: 1)
    assert await asyncio.gather(*asked) == [1] * MOST_QUESTIONS
    mirror.close()


async def test_questions_are_answered_by_the_configuration_after_a_reload() -> None:
    """The mirror decides by what the scheduler decides by, and knows all objects still."""
    source = source_of(small_cluster())
    assembled = source.assembled
    source = dataclasses.replace(source, policy=RunningPolicy(assembled, FeatureGates.parse("")))
    mirror = Mirror(source)
    assert await mirror.ask(best) == ["node-2"]
    before = source.policy.version()

    most = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}
    fit = {"name": "NodeResourcesFit", "args": {"scoringStrategy": most}}
    only_fit = {"score": {"disabled": [{"name": "NodeResourcesBalancedAllocation"}]}}
    config = load_config(json.dumps({**HEADER, "profiles": [{"pluginConfig": [fit], "plugins": only_fit}]}))
    adopt(assembled, prepare(assembled, config, {}, []))
    assert source.policy.version() is not before
    assert "MostAllocated" in source.policy.text()
    assert await mirror.ask(best) == ["node-1"]

    assembled.handlers.add(make_pod("other", cpu="1", node="node-1"))
    assert await mirror.ask(best) == ["node-3"]
    mirror.close()
