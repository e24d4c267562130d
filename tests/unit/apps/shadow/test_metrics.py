"""A running shadow can be scraped."""

from __future__ import annotations

import socket
from urllib.request import urlopen

import pytest

from kubesched.apps.shadow.judge import Judgement, Verdict
from kubesched.apps.shadow.metrics import served
from kubesched.apps.shadow.summary import Tally
from kubesched.errors import ConfigurationError


def test_metrics_follow_the_tally() -> None:
    """Counts by verdict, points, plugins and the share that agrees; at any moment."""
    tally = Tally()
    with served(tally, "127.0.0.1:0") as port:
        tally.add(Judgement(time=0, pod="a/b", node="n", verdict=Verdict.TIED))
        tally.add(Judgement(time=0, pod="a/c", node="n", verdict=Verdict.LOWER, loss=7, plugin="ImageLocality"))
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
    assert 'kubesched_shadow_judgements_total{verdict="tied"} 1.0' in lines
    assert 'kubesched_shadow_lost_points_total{verdict="lower"} 7.0' in lines
    assert 'kubesched_shadow_disagreeing_plugin_total{plugin="ImageLocality",verdict="lower"} 1.0' in lines
    assert "kubesched_shadow_agreement_ratio 0.5" in lines


@pytest.mark.parametrize("address", ["9090", "localhost:", "127.0.0.1:99999", ":x"])
def test_an_address_that_is_none(address: str) -> None:
    """One line that says what is expected."""
    with pytest.raises(ConfigurationError, match="expected HOST:PORT"), served(Tally(), address):
        pass


def test_an_address_that_is_taken() -> None:
    """Said before anything is listed."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ConfigurationError, match="in use"), served(Tally(), address):
            pass
