"""The search for devices: what it leaves out changes nothing, and it ends when it has taken as long as it may."""

from __future__ import annotations

from itertools import permutations
from random import Random
from typing import Any

import pytest
from tests.differential.devices import claims_and_devices
from tests.hostile.corpus import SEARCHES, base, distinct_attribute, innocent

from kubesched import Simulation
from kubesched.clock import VirtualClock
from kubesched.objects import ResourceClaim
from kubesched.objects.base import Json
from kubesched.objects.manifests import decode_all
from kubesched.scheduler.plugins.dynamic_resources import search as search_module
from kubesched.scheduler.plugins.dynamic_resources.matching import can_be_served
from kubesched.scheduler.plugins.support.devices import budget as budget_module
from kubesched.scheduler.plugins.support.devices.budget import Budget, BudgetSpent, LongSearches

NODES = ("n0", "n1", "n2")
PATIENT = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"pluginConfig": [{"name": "DynamicResources", "args": {"filterTimeout": "1h"}}]}],
}
SEARCH = {case.name: case for case in SEARCHES}


def _objects(documents: list[Json]) -> list[Any]:
    return list(decode_all([(f"document {k}", document) for k, document in enumerate(documents)]))


def _random_cluster(seed: int) -> list[Any]:
    rng = Random(seed)
    pods: list[Json] = []
    for name in ("subject", "other-1", "other-2"):
        containers = [{"name": "c", "image": "i"}]
        metadata = {"name": name, "namespace": "default", "uid": name}
        pods.append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers}})
    pods[1]["spec"]["nodeName"] = "n0"
    return _objects([*base(), *claims_and_devices(rng, NODES, pods), *pods])


def _decisions(objects: list[Any]) -> tuple[list[tuple[str, object]], list[tuple[str, str, str]]]:
    with Simulation() as simulation:
        simulation.add(*objects)
        simulation.schedule()
        claims = simulation._assembled.objects.of(ResourceClaim)
        return sorted((claim.metadata.name, repr(claim.status)) for claim in claims), list(simulation.events)


@pytest.mark.parametrize("seed", range(0, 400, 8))
def test_looking_ahead_changes_no_decision_and_no_message(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random clusters, searched with and without it."""
    for number in range(seed, seed + 8):
        objects = _random_cluster(number)
        monkeypatch.setattr(search_module, "_LONG", 10**9)
        plain = _decisions(objects)
        monkeypatch.setattr(search_module, "_LONG", 1)
        assert _decisions(objects) == plain, number


@pytest.mark.parametrize("name", ["matching attribute", "device requests", "prioritised lists"])
def test_a_search_that_has_no_solution_ends_in_a_few_steps(name: str) -> None:
    """Without a look ahead, they try all orders in which devices can be given to requests."""
    case = SEARCH[name]
    with Simulation() as simulation:
        simulation.add(*_objects([*base(), *case.build(case.limit), innocent()]))
        assert simulation.schedule()["default/waiting"] is None
        notes = [note for pod, _, note in simulation.events if pod == "default/waiting"]
    assert notes[0].startswith("0/3 nodes are available: 3 cannot allocate all claims.")


def test_where_time_stands_still_the_steps_are_counted_and_the_answer_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a simulation, and in an explanation, which ends at once then: what was in vain once is not tried again."""
    monkeypatch.setattr("kubesched.scheduler.plugins.dynamic_resources.filtering.STEPS_PER_SECOND", 100)
    with Simulation() as simulation:
        simulation.add(*_objects([*base(), *distinct_attribute(36), innocent()]))
        placements = simulation.schedule()
        assert placements["default/waiting"] is None
        assert placements["default/innocent"] is not None
        gave_up = "node n0: gave up trying to allocate devices after 1000 steps"
        assert gave_up in next(note for pod, _, note in simulation.events if pod == "default/waiting")
        assert gave_up in simulation.why("default/waiting")


class _RunningClock(VirtualClock):
    """Every look at it takes a millisecond."""

    def monotonic(self) -> float:
        self.tick(0.001)
        return super().monotonic()


def test_a_search_goes_on_where_it_was_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod may stop all others for a quarter of a second at once; its next attempt takes up the search."""
    monkeypatch.setattr("kubesched.apps.simulate.simulation.VirtualClock", _RunningClock)
    with Simulation(PATIENT) as simulation:
        simulation.add(*_objects([*base(), *distinct_attribute(10), innocent()]))
        simulation.schedule()
        for _ in range(1000):
            simulation.advance(30)
            notes = [note for pod, _, note in simulation.events if pod == "default/waiting"]
            if "cannot allocate all claims" in notes[-1]:
                break
    assert "timed out trying to allocate devices, the next attempt goes on from there" in notes[0]
    assert "cannot allocate all claims" in notes[-1]


def test_the_time_of_a_pod_ends_though_its_search_has_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """filterTimeout counts all nodes and all attempts, as long as devices stay as they are."""
    monkeypatch.setattr("kubesched.apps.simulate.simulation.VirtualClock", _RunningClock)
    with Simulation() as simulation:
        simulation.add(*_objects([*base(), *distinct_attribute(60), innocent()]))
        simulation.schedule()
        for _ in range(60):
            simulation.advance(30)
        notes = [note for pod, _, note in simulation.events if pod == "default/waiting"]
    assert notes[-1].endswith("node n0: timed out trying to allocate devices")


@pytest.mark.parametrize("seed", range(200))
def test_matching_tells_whether_all_can_be_served(seed: int) -> None:
    """As trying all ways does."""
    rng = Random(seed)
    wishes = [(rng.randint(0, 2), rng.getrandbits(5)) for _ in range(rng.randint(0, 4))]
    places = [candidates for count, candidates in wishes for _ in range(count)]
    ways = permutations(range(5), len(places)) if len(places) <= 5 else ()
    served = any(all(places[k] >> device & 1 for k, device in enumerate(way)) for way in ways)
    assert can_be_served(wishes) is served


def test_a_budget_is_spent_by_time_or_by_steps() -> None:
    clock = VirtualClock()
    by_time, by_steps = Budget(clock, 1.0), Budget(clock, 1.0, 10)
    by_steps.spend(10)
    with pytest.raises(BudgetSpent):
        by_steps.spend()
    by_time.spend(1_000_000)
    clock.tick(1.0)
    with pytest.raises(BudgetSpent):
        by_time.spend()
    assert budget_module.MOST_SECONDS_AT_ONCE < 1


def test_many_pods_with_long_searches_take_a_share_of_the_time_together() -> None:
    """A hundred of them do not take a hundred times a quarter of a second one after the other."""
    clock = VirtualClock()
    searches, took = LongSearches(clock), 0.0
    for _ in range(100):
        seconds = searches.seconds_at_once()
        clock.tick(seconds)
        searches.took(seconds)
        took += seconds
    assert took < 5, "besides the short time that everybody has"
    assert searches.seconds_at_once() < 0.1
    clock.tick(10)
    assert searches.seconds_at_once() == budget_module.MOST_SECONDS_AT_ONCE


def test_short_searches_are_never_held_back() -> None:
    """However many there are."""
    clock = VirtualClock()
    searches = LongSearches(clock)
    for _ in range(1000):
        clock.tick(0.01)
        searches.took(0.01)
    assert searches.seconds_at_once() == budget_module.MOST_SECONDS_AT_ONCE
