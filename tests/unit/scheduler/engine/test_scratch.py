"""What PreFilter plugins say together (RunPreFilterPlugins)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from kubesched.errors import PluginError
from kubesched.scheduler.columns import ClusterTables, NodeView, PodInfo
from kubesched.scheduler.engine import ProfilePlugins
from kubesched.scheduler.engine.scratch import PreFiltered, run_pre_filters
from kubesched.scheduler.framework import SKIP, SUCCESS, CycleState, PreFilterPlugin, PreFilterResult, Status
from kubesched.testing import make_pod


class Says(PreFilterPlugin):
    """Answers with what it was given."""

    name = ""

    def __init__(self, name: str, answer: Any) -> None:
        self.name = name  # type: ignore[misc]  # one class plays many plugins
        self.answer = answer
        self.asked = 0

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Any:
        self.asked += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def only(*names: str) -> tuple[PreFilterResult, Status]:
    return PreFilterResult(frozenset(names)), SUCCESS


def run(plugins: Sequence[Says], known: dict[str, Any] | None = None) -> PreFiltered:
    cluster = ClusterTables()
    info = cluster.templates.info(make_pod())
    state = CycleState(info)
    profile = ProfilePlugins(pre_filters=plugins, filters=[], pre_scores=[], scores=[])
    return run_pre_filters(profile, lambda plugin: state, info, cluster.view(), known or {})[0]


def named(*answers: Any) -> list[Says]:
    return [Says(name, answer) for name, answer in zip("ABCD", answers, strict=False)]


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        pytest.param([], PreFiltered(), id="no plugins"),
        pytest.param([SUCCESS, SKIP], PreFiltered(skipped={"B"}), id="one has nothing to say"),
        pytest.param(
            [only("n1", "n2"), SUCCESS, only("n2", "n3")],
            PreFiltered(node_names=frozenset(["n2"]), limiting=("A", "C")),
            id="limits meet",
        ),
        pytest.param(
            [only("n1"), only("n2")],
            PreFiltered(
                Status.unresolvable("node(s) didn't satisfy plugin(s) [A B] simultaneously"), frozenset(), ("A", "B")
            ),
            id="limits that do not meet",
        ),
        pytest.param(
            [only()],
            PreFiltered(Status.unresolvable("node(s) didn't satisfy plugin A"), frozenset(), ("A",)),
            id="a limit to nothing",
        ),
        pytest.param(
            [Status.unschedulable("first"), SKIP, Status.unschedulable("second")],
            PreFiltered(Status.unschedulable("second").by("C"), skipped={"B"}),
            id="rejections that preemption may resolve: the rest runs, the last one counts",
        ),
        pytest.param(
            [Status.unschedulable("first"), Status.unresolvable("no")],
            PreFiltered(Status.unresolvable("no").by("B")),
            id="a hopeless rejection",
        ),
        pytest.param([(None, SKIP)], PreFiltered(skipped={"A"}), id="no limit, told as None"),
    ],
)
def test_what_they_say_together(answers: list[Any], expected: PreFiltered) -> None:
    """Skips, limits and rejections are added up as kube-scheduler does it."""
    assert run(named(*answers)) == expected


def test_nobody_is_asked_after_a_hopeless_rejection() -> None:
    """Preemption is not tried, hence nobody's state is needed."""
    plugins = named(Status.unschedulable("maybe"), Status.unresolvable("no"), SUCCESS)
    run(plugins)
    assert [plugin.asked for plugin in plugins] == [1, 1, 0]


def test_answers_that_are_known_are_not_asked_for() -> None:
    """They count as if they had been given now."""
    plugins = named(SUCCESS, SUCCESS)
    assert run(plugins, {"A": only("n1")}).node_names == frozenset(["n1"])
    assert [plugin.asked for plugin in plugins] == [0, 1]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(Status.failed("broken"), 'running PreFilter plugin "A": broken', id="an error"),
        pytest.param(Status.pending("later"), 'running PreFilter plugin "A": later', id="a pending status"),
        pytest.param(ValueError("boom"), "plugin A at PreFilter: ValueError: boom", id="an exception"),
        pytest.param(None, "plugin A at PreFilter: must answer with a Status", id="nothing"),
        pytest.param((SUCCESS, SUCCESS), "plugin A at PreFilter: must answer with a Status", id="the wrong pair"),
    ],
)
def test_anything_else_is_an_error_of_this_pod(answer: Any, message: str) -> None:
    """It names the plugin: in kube-scheduler's words, if the plugin said that it failed."""
    with pytest.raises(PluginError, match=f"^{re.escape(message)}") as raised:
        run(named(answer))
    assert (raised.value.plugin, raised.value.extension_point) == ("A", "PreFilter")
