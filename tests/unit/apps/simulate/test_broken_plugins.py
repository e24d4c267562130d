"""What the author of a plugin reads when it breaks its word: one line with the plugin, the point and the place."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched import Simulation
from kubesched.errors import ConfigurationError
from kubesched.scheduler.framework import (
    SUCCESS,
    WAIT,
    DependsOn,
    FilterPlugin,
    PermitPlugin,
    Plugin,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    ReservePlugin,
    ScorePlugin,
    Status,
)
from kubesched.testing import make_node, make_pod

CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: Mine}]}}
"""


def plugin(base: type[Plugin], **methods: Any) -> type[Plugin]:
    return type("Mine", (base,), {"name": "Mine", **methods})


def says(answer: Any) -> Any:
    return lambda *_: answer


def fails(*_: Any) -> Any:
    raise ValueError("no such thing")


def simulation(mine: type[Plugin]) -> Simulation:
    simulation = Simulation(CONFIG, plugins={"Mine": mine})
    simulation.add(make_node("a"), make_node("b"), make_pod("p"))
    return simulation


@pytest.mark.parametrize(
    ("mine", "problem"),
    [
        pytest.param(
            plugin(FilterPlugin, filter=says(True)),
            "Filter: TypeError: filter must answer with a Status or None, not True",
            id="a filter that answers yes or no",
        ),
        pytest.param(
            plugin(ScorePlugin, score=says(None)),
            "Score: TypeError: score must answer with an integer, not None",
            id="a score that forgets to answer",
        ),
        pytest.param(
            plugin(ScorePlugin, score=says(float("nan"))),
            "Score: TypeError: score must answer with an integer, not nan",
            id="a score that is no number",
        ),
        pytest.param(
            plugin(ScorePlugin, score=says(0.9)),
            "Score: TypeError: score must answer with an integer, not 0.9",
            id="a score that is a fraction",
        ),
        pytest.param(
            plugin(ScorePlugin, score=says(2**70)),
            f"Score: TypeError: score must answer with an integer, not {2**70}",
            id="a score beyond all bounds",
        ),
        pytest.param(
            plugin(PermitPlugin, permit=says(SUCCESS)),
            f"Permit: TypeError: must answer with a Status and seconds, not {SUCCESS!r}",
            id="a permit without seconds",
        ),
        pytest.param(
            plugin(ReservePlugin, reserve=says(None), unreserve=says(None)),
            "Reserve: TypeError: must answer with a Status, not None",
            id="a reservation that forgets to answer",
        ),
        pytest.param(
            plugin(PermitPlugin, permit=says((WAIT, 0))),
            "Permit: ValueError: must wait for more than 0 seconds, not 0",
            id="a permit that waits for no time",
        ),
        pytest.param(
            plugin(PermitPlugin, permit=says((WAIT, "10s"))),
            "Permit: TypeError: '>' not supported between instances of 'str' and 'int'",
            id="a permit that waits for words",
        ),
        pytest.param(
            plugin(
                ReservePlugin, reserve=says(SUCCESS), unreserve=says(None), changes_assumed_pod=True, assumed_pod=fails
            ),
            f"Reserve: ValueError: no such thing (test_broken_plugins.py:{fails.__code__.co_firstlineno + 1})",
            id="an assumed pod that cannot be made",
        ),
        pytest.param(
            plugin(FilterPlugin, filter=fails),
            f"Filter: ValueError: no such thing (test_broken_plugins.py:{fails.__code__.co_firstlineno + 1})",
            id="a filter that raises",
        ),
    ],
)
def test_the_event_says_what_is_wrong(mine: type[Plugin], problem: str) -> None:
    """The attempt fails; who wrote the plugin sees at once where to look."""
    with simulation(mine) as broken:
        assert broken.schedule() == {"default/p": None}
        assert broken.events == [("default/p", "FailedScheduling", f"plugin Mine at {problem}")]


def test_what_a_plugin_promises_of_its_answers_may_fail_too() -> None:
    """The plugin is not known there; its line is."""
    line = f"ValueError: no such thing (test_broken_plugins.py:{fails.__code__.co_firstlineno + 1})"
    with simulation(
        plugin(FilterPlugin, filter=says(None), depends_on=DependsOn.NODE, external_version=fails)
    ) as broken:
        broken.schedule()
        assert broken.events == [("default/p", "FailedScheduling", line)]
        assert broken.why("default/p") == f"default/p cannot be decided: {line}"


def test_a_broken_postfilter_is_part_of_the_explanation() -> None:
    """The reasons of the nodes stay to be read."""

    async def post_filter(*_: Any) -> None: ...

    mine = type(
        "Mine",
        (FilterPlugin, PostFilterPlugin),
        {"name": "Mine", "filter": says(Status.unschedulable("full")), "post_filter": post_filter},
    )
    with simulation(mine) as broken:
        broken.schedule()
        told = "2 full. plugin Mine at PostFilter: TypeError: must answer with a result and a Status, not None"
        assert told in broken.events[0][2]
        assert told in broken.why("default/p")


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        pytest.param(says(None), "events_to_register: TypeError: 'NoneType' object is not iterable", id="nothing"),
        pytest.param(says(["Node"]), r"events_to_register must answer with EventHints, not \('Node',\)", id="names"),
    ],
)
def test_events_that_are_none(events: Any, problem: str) -> None:
    """Found when the scheduler is put together."""
    with pytest.raises(ConfigurationError, match=f"plugin Mine: {problem}"):
        simulation(plugin(FilterPlugin, filter=says(None), events_to_register=events))


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        pytest.param(says(None), "TypeError: must answer with a Status, not None", id="no answer"),
        pytest.param(
            fails,
            f"ValueError: no such thing (test_broken_plugins.py:{fails.__code__.co_firstlineno + 1})",
            id="an exception",
        ),
    ],
)
def test_a_pod_that_a_broken_gate_keeps_out(answer: Any, problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It is never tried, so there is no event: the log and an explanation tell."""
    with simulation(plugin(PreEnqueuePlugin, pre_enqueue=answer)) as broken:
        assert broken.schedule() == {"default/p": None}
        assert broken.why("default/p") == f"default/p cannot be decided: plugin Mine at PreEnqueue: {problem}"
    assert f'err="plugin Mine at PreEnqueue: {problem}"' in capsys.readouterr().err


def test_a_failure_after_the_binding_is_logged_with_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    """The pod is bound all the same."""
    with simulation(plugin(PostBindPlugin, post_bind=fails)) as broken:
        assert broken.schedule()["default/p"] is not None
    assert 'err="plugin Mine at PostBind: ValueError: no such thing (test_broken_plugins.py:' in capsys.readouterr().err


def test_plugins_that_are_handed_in_are_looked_at_first() -> None:
    """As those of a configuration file are."""
    with pytest.raises(ConfigurationError, match="plugin Mine: the class is a PreBindPlugin but defines no pre_bind"):
        simulation(plugin(PreBindPlugin))


def test_a_plugin_that_cannot_be_made_says_where() -> None:
    """Mostly an argument that is missing in the configuration file."""
    mine = plugin(ScorePlugin, score=says(1), __init__=fails)
    with pytest.raises(ConfigurationError, match=r"initializing plugin Mine: ValueError: .* \(test_broken_plugins.py:"):
        simulation(mine)
