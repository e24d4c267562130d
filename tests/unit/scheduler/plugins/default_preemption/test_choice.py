from __future__ import annotations

from datetime import timedelta

import pytest

from kubesched.objects import Pod
from kubesched.scheduler.framework import Victims
from kubesched.scheduler.plugins.default_preemption.choice import cheapest
from kubesched.testing import EPOCH, make_pod


def victim(priority: int, started: int | None = 0) -> Pod:
    start_time = None if started is None else EPOCH + timedelta(seconds=started)
    return make_pod(node="n", priority=priority, start_time=start_time)


@pytest.mark.parametrize(
    ("candidates", "expected"),
    [
        pytest.param(
            {"a": Victims((victim(9),), 0), "b": Victims((victim(0),), 1)}, {"a"}, id="fewer broken budgets win"
        ),
        pytest.param(
            {"a": Victims((victim(9),)), "b": Victims((victim(5), victim(5)))},
            {"b"},
            id="then the lowest priority of the most important victim",
        ),
        pytest.param(
            {"a": Victims((victim(9), victim(8))), "b": Victims((victim(9), victim(7)))},
            {"b"},
            id="then the lowest sum of priorities",
        ),
        pytest.param(
            {"a": Victims((victim(-5),)), "b": Victims((victim(-5), victim(-5)))},
            {"a"},
            id="a second victim is never cheaper, even with a negative priority",
        ),
        pytest.param(
            {"a": Victims((victim(9, 50), victim(0, 10))), "b": Victims((victim(9, 40), victim(0, 20)))},
            {"a"},
            id="then the latest start of the most important victims",
        ),
        pytest.param(
            {"a": Victims((victim(9, 10), victim(9, 50))), "b": Victims((victim(9, 20), victim(9, 30)))},
            {"b"},
            id="of several most important victims the earliest start counts",
        ),
        pytest.param(
            {"a": Victims((victim(9, None),)), "b": Victims((victim(9, 99),))},
            {"a"},
            id="a pod that has not started is the latest",
        ),
        pytest.param(
            {"a": Victims((victim(9, 3),)), "b": Victims((victim(9, 3),)), "c": Victims((victim(9, 2),))},
            {"a", "b"},
            id="equally good ones stay together",
        ),
        pytest.param({}, set(), id="nothing to choose from"),
    ],
)
def test_cheapest(candidates: dict[str, Victims], expected: set[str]) -> None:
    """Each criterion decides only where those before it leave a tie."""
    assert set(cheapest(candidates)) == expected
