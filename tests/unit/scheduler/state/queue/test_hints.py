"""Who is asked about an event, and what the answers amount to."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched.clock import VirtualClock
from kubesched.scheduler.columns import ClusterTables, PodInfo
from kubesched.scheduler.framework import Action, ClusterEvent, EventHint, Hint, QueuedPod, Resource
from kubesched.scheduler.framework.events import ANY_EVENT, FORCE_ACTIVATE
from kubesched.scheduler.state.queue.hints import HintEvaluation, HintsPerProfile, HintTable
from kubesched.scheduler.state.queue.hints import QueueingStrategy as Strategy
from kubesched.scheduler.state.queue.observer import SILENT
from kubesched.testing.builders import make_pod

PROFILE = "default-scheduler"
NODE_ADD = ClusterEvent(Resource.NODE, Action.ADD)
NODE_TAINT = ClusterEvent(Resource.NODE, Action.UPDATE_NODE_TAINT)
NODE_LABEL = ClusterEvent(Resource.NODE, Action.UPDATE_NODE_LABEL)
POD_ALL = ClusterEvent(Resource.POD, Action.ALL)
TEMPLATES = ClusterTables().templates


def rejected(*by: str, pending: tuple[str, ...] = (), **fields: Any) -> QueuedPod:
    return QueuedPod(
        TEMPLATES.info(make_pod("p", **fields)), unschedulable_plugins=set(by), pending_plugins=set(pending)
    )


def evaluation(hints: HintsPerProfile, event: ClusterEvent, new: Any = None) -> HintEvaluation:
    return HintEvaluation(HintTable(hints).registrations_for(event), None, new, VirtualClock(), SILENT)


@pytest.mark.parametrize(
    ("registered", "event", "expected"),
    [
        pytest.param([EventHint(NODE_ADD)], NODE_ADD, True, id="the event itself"),
        pytest.param([EventHint(NODE_ADD)], NODE_LABEL, False, id="another action"),
        pytest.param([EventHint(NODE_ADD)], NODE_TAINT, True, id="added nodes include changed taints"),
        pytest.param([EventHint(POD_ALL)], ClusterEvent(Resource.ASSIGNED_POD, Action.ADD), True, id="a case of Pod"),
        pytest.param([EventHint(POD_ALL)], NODE_ADD, False, id="another resource"),
        pytest.param([ANY_EVENT], NODE_LABEL, True, id="everything"),
        pytest.param([], NODE_LABEL, False, id="nothing registered"),
    ],
)
def test_registrations_for_an_event(registered: list[EventHint], event: ClusterEvent, expected: bool) -> None:
    """An event that no plugin registered matters to no pod."""
    registrations = HintTable({PROFILE: {"Plugin": registered}}).registrations_for(event)
    assert registrations.exist is expected
    assert registrations.plugins == (frozenset({"Plugin"}) if expected else frozenset())


def test_a_hint_of_its_own_for_taints_is_not_overruled() -> None:
    """Changed taints are added only for plugins that did not register them."""
    said_no = EventHint(ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT), lambda *_: Hint.SKIP)
    assert evaluation({PROFILE: {"Plugin": [said_no]}}, NODE_TAINT).strategy_for(rejected("Plugin")) is Strategy.SKIP


def test_a_plugin_is_asked_for_the_pods_of_its_own_profile() -> None:
    """The same plugin may be set up differently elsewhere."""
    hints = {PROFILE: {"Plugin": [EventHint(POD_ALL)]}, "other": {"Plugin": [EventHint(NODE_ADD)]}}
    event = evaluation(hints, NODE_ADD)
    assert event.strategy_for(rejected("Plugin")) is Strategy.SKIP
    assert event.strategy_for(rejected("Plugin", scheduler="other")) is Strategy.AFTER_BACKOFF


@pytest.mark.parametrize(
    ("pod", "event", "new", "expected"),
    [
        pytest.param(rejected(), NODE_ADD, None, Strategy.AFTER_BACKOFF, id="rejected by nobody"),
        pytest.param(rejected("A"), NODE_ADD, None, Strategy.AFTER_BACKOFF, id="yes"),
        pytest.param(rejected("No"), NODE_ADD, None, Strategy.SKIP, id="no"),
        pytest.param(rejected("A", "No"), NODE_ADD, None, Strategy.AFTER_BACKOFF, id="yes and no"),
        pytest.param(rejected(pending=("A",)), NODE_ADD, None, Strategy.IMMEDIATELY, id="a pending plugin's yes"),
        pytest.param(rejected("A", pending=("No",)), NODE_ADD, None, Strategy.AFTER_BACKOFF, id="a pending one's no"),
        pytest.param(rejected("A", pending=("B",)), NODE_ADD, None, Strategy.IMMEDIATELY, id="both say yes"),
        pytest.param(rejected("A", scheduler="?"), NODE_ADD, None, Strategy.AFTER_BACKOFF, id="an unknown profile"),
        pytest.param(rejected("No"), FORCE_ACTIVATE, None, Strategy.AFTER_BACKOFF, id="meant for all"),
        pytest.param(rejected("No"), FORCE_ACTIVATE, make_pod("p"), Strategy.AFTER_BACKOFF, id="meant for this pod"),
        pytest.param(rejected("No"), FORCE_ACTIVATE, make_pod("q"), Strategy.SKIP, id="meant for another pod"),
    ],
)
def test_what_an_event_means_to_a_pod(pod: QueuedPod, event: ClusterEvent, new: Any, expected: Strategy) -> None:
    """The strongest answer of the plugins that rejected it."""
    hints = {
        PROFILE: {
            "A": [EventHint(NODE_ADD)],
            "B": [EventHint(NODE_ADD, lambda *_: Hint.QUEUE)],
            "No": [EventHint(NODE_ADD, lambda *_: Hint.SKIP, per_template=True)],
        }
    }
    assert evaluation(hints, event, new).strategy_for(pod) is expected


def test_nothing_is_asked_that_cannot_change_the_answer() -> None:
    """Without pending plugins the first yes settles it."""
    asked = []

    def ask(pod: PodInfo, old: Any, new: Any) -> Hint:
        asked.append(pod)
        return Hint.QUEUE

    hints = {PROFILE: {"A": [EventHint(NODE_ADD, ask)], "B": [EventHint(NODE_ADD, ask)]}}
    evaluation(hints, NODE_ADD).strategy_for(rejected("A", "B"))
    assert len(asked) == 1
