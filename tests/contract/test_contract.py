"""The embedded API server answers as kube-apiserver does.

The recorded answers are a real kube-apiserver's (`python -m tests.contract.record`). Where one is available, the e2e
test asks it again, so that the recording cannot drift from the scenarios.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from tests.contract.harness import HERE, Answer, Client, Scenario, load_scenarios
from tests.contract.real_server import TOKEN, find_assets, running
from tests.contract.record import OLDER
from tools.controlplane.install import chosen

from kubesched.cluster.apiserver.server import ApiServer

SCENARIOS: Final = load_scenarios()
RECORDED: Final[dict[str, list[list[Any]]]] = json.loads((HERE / "recorded" / "answers.json").read_text())


@pytest.fixture(scope="module")
def embedded() -> Iterator[Client]:
    """A client of an embedded server, which runs on a thread of its own."""
    started, stop = threading.Event(), asyncio.Event()
    server = ApiServer(insecure_http=True)

    async def serve() -> None:
        await server.start()
        started.set()
        await stop.wait()
        await server.stop()

    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        thread = threading.Thread(target=runner.run, args=(serve(),))
        thread.start()
        assert started.wait(60)
        client = Client(server.address)
        yield client
        client.close()
        loop.call_soon_threadsafe(stop.set)
        thread.join()


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    assets = find_assets()
    if assets is None:
        pytest.skip("no kube-apiserver on this machine")
    directory: Path = tmp_path_factory.mktemp("controlplane")
    with running(assets, directory) as address:
        client = Client(address, TOKEN)
        yield client
        client.close()


def recorded(scenario: Scenario) -> list[Answer]:
    return [Answer(code, body) for code, body in RECORDED[scenario.name]]


def test_there_are_enough_scenarios() -> None:
    """The contract covers what it claims to, and every scenario has a recording."""
    assert len(SCENARIOS) >= 150
    assert {scenario.name for scenario in SCENARIOS} == set(RECORDED)


@pytest.mark.parametrize(("index", "scenario"), [pytest.param(i, s, id=s.name) for i, s in enumerate(SCENARIOS)])
def test_embedded_answers_as_recorded(embedded: Client, index: int, scenario: Scenario) -> None:
    """Every answer equals the one that a real kube-apiserver gave."""
    assert embedded.run(scenario, f"contract-{index}") == recorded(scenario)


@pytest.mark.e2e
@pytest.mark.parametrize(("index", "scenario"), [pytest.param(i, s, id=s.name) for i, s in enumerate(SCENARIOS)])
def test_real_server_still_answers_so(real: Client, index: int, scenario: Scenario) -> None:
    """The recording is what kube-apiserver answers."""
    if scenario.name in OLDER and chosen() != "1.36":
        pytest.skip("it speaks of scheduling.k8s.io/v1alpha2, which kube-apiserver served up to 1.36")
    assert real.run(scenario, f"contract-{index}") == recorded(scenario)
