"""At verbosity 10 the log says how a decision came about."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched.telemetry.logging import log
from kubesched.testing import make_node, make_pod


@pytest.fixture
def loud() -> Any:
    """The process's logger, as with `-v=10`."""
    before, log.verbosity = log.verbosity, 10
    yield
    log.verbosity = before


@pytest.mark.usefixtures("loud")
async def test_every_score_is_told(new_bench: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Plugin by plugin with its weight, and the total; the node with the highest one is taken."""
    bench = new_bench()
    bench.add(make_node("big", cpu="16"), make_node("small", cpu="2"), make_pod("web", cpu="1"))
    await bench.schedule()
    told = [line.split("] ", 1)[1] for line in capsys.readouterr().err.splitlines() if "scor" in line]
    plugins = [line for line in told if 'plugin="NodeResourcesFit"' in line]
    assert [line.split(' node="')[1] for line in plugins] == ['big" score=95', 'small" score=74']
    totals = [line for line in told if line.startswith('"Calculated node\'s final score for pod" pod="default/web"')]
    assert len(totals) == 2
    assert bench.places() == {"web": "big"}
