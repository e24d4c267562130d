"""Requests that are nearly right: no crash, no slow answer, no controller or kubelet that fails over what was stored.

Seeds are the requests of the contract's scenarios, which a real kube-apiserver has answered. They are mutated, and sent
as POST, PUT and patches of all four kinds, strict and not; controllers and kubelets run between them.

    FUZZ_SECONDS=600 FUZZ_SEED=7 python -m pytest tests/fuzz

runs longer, and with other chances. What fails prints its seed and the request.
"""

from __future__ import annotations

import json
import logging
import os
import time
import traceback
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from tests.contract.harness import MEDIA, Step, absolute, load_scenarios
from tests.fuzz.cluster import FuzzedCluster, Request
from tests.fuzz.mutations import encoded, json_patch, merge_patch, mutated

from kubesched.cluster.controllers import manager
from kubesched.cluster.kubelet import kubelets

SECONDS = float(os.environ.get("FUZZ_SECONDS", "10"))
SEED = int(os.environ.get("FUZZ_SEED", "1"))
ROUND = 150
"""Requests to one cluster: then a new one begins, so that what fails can be found again quickly."""
NAMESPACE = "default"


class Recorder:
    """Stands in for the log of controllers."""

    def __init__(self, errors: list[str]) -> None:
        self._errors = errors

    def info(self, *_: Any, **__: Any) -> None: ...

    def error(self, message: str, error: BaseException, **values: Any) -> None:
        self._errors.append(f"{message}: {error!r} {values}")


class Chance:
    """One round of requests, all from one seed."""

    def __init__(self, seed: int) -> None:
        self._rng = Random(seed)
        steps = [step for scenario in load_scenarios() for step in scenario.steps]
        self._creations = [s for s in steps if s.method == "POST" and isinstance(s.body, dict) and s.body]
        self._donors: list[Any] = [step.body for step in self._creations]
        self._made: list[tuple[str, dict[str, Any]]] = []

    def request(self) -> Request:
        if len(self._made) < 5 or self._rng.random() < 0.45:
            return self._creation()
        return self._change()

    def made(self, request: Request, answer: bytes) -> None:
        """Remember what was stored: it is what changes are about."""
        value = json.loads(answer)
        if request.method == "POST" and isinstance(value.get("metadata"), dict) and value["metadata"].get("name"):
            self._made.append((request.target.partition("?")[0], value))
            del self._made[:-40]

    def _creation(self) -> Request:
        step = self._rng.choice(self._creations)
        body = _here(step.body)
        if isinstance(body.get("metadata"), dict) and self._rng.random() < 0.9:
            body["metadata"]["name"] = f"{body['metadata'].get('name', 'x')}-{self._rng.randrange(1000)}"
        if self._rng.random() < 0.8:
            body = mutated(body, self._donors, self._rng)
        return Request("POST", f"{_target(step)}?{self._options()}", encoded(body, self._rng))

    def _change(self) -> Request:
        collection, value = self._rng.choice(self._made)
        name = value["metadata"]["name"]
        part = self._rng.choice(("", "", "", "", "", "", "/status", "/status", "/scale", "/binding", "/eviction"))
        target = f"{collection}/{name}{part}?{self._options()}"
        match self._rng.randrange(7):
            case 0:
                return Request("PUT", target, encoded(mutated(value, self._donors, self._rng), self._rng))
            case 1:
                patch = json_patch(value, self._donors, self._rng)
                return Request("PATCH", target, encoded(patch, self._rng), MEDIA["jsonpatch"])
            case 2 | 3 as kind:
                patch = merge_patch(value, self._donors, self._rng, strategic=kind == 3)
                media = MEDIA["strategic" if kind == 3 else "merge"]
                return Request("PATCH", target, encoded(patch, self._rng), media)
            case 4:
                applied = mutated(value, self._donors, self._rng)
                if isinstance(applied, dict) and isinstance(applied.get("metadata"), dict):
                    applied["metadata"].pop("managedFields", None)
                    applied["metadata"].pop("resourceVersion", None)
                target += f"&fieldManager={self._rng.choice('ab')}&force={self._rng.choice(('true', 'false'))}"
                return Request("PATCH", target, encoded(applied, self._rng), MEDIA["apply"])
            case 5:
                return Request("DELETE", target, encoded(self._rng.choice(self._donors), self._rng))
            case _:
                return Request("POST", target, encoded(mutated(value, self._donors, self._rng), self._rng))

    def _options(self) -> str:
        strict = self._rng.choice(("Strict", "Warn", "Ignore"))
        return f"fieldValidation={strict}" + ("&dryRun=All" if self._rng.random() < 0.1 else "")


def _here(value: Any) -> Any:
    """A fresh copy, in the namespace of the test."""
    if isinstance(value, dict):
        return {key: _here(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_here(item) for item in value]
    return value.replace("$ns", NAMESPACE) if isinstance(value, str) else value


def _target(step: Step) -> str:
    return absolute(step.path.replace("$ns", NAMESPACE), NAMESPACE).partition("?")[0]


async def round_of_requests(seed: int, errors: list[str]) -> Counter[int]:
    """The codes of the answers."""
    chance, cluster = Chance(seed), FuzzedCluster(seed, errors)
    codes: Counter[int] = Counter()
    try:
        for number in range(ROUND):
            request = chance.request()
            answer = await cluster.send(request)
            codes[answer.code] += 1
            objection = cluster.objection(answer)
            assert not objection, f"FUZZ_SEED={seed} FUZZ_SECONDS=0, request {number}: {objection}\n{request}"
            if answer.code in (200, 201):
                chance.made(request, answer.body)
            if number % 10 == 9:
                await cluster.pass_(0.5)
                assert not cluster.broken(), f"FUZZ_SEED={seed}, after request {number}: {cluster.broken()}\n{request}"
    finally:
        await cluster.stop()
    return codes


def _note_traceback(errors: list[str]) -> Callable[..., None]:
    return lambda *_: errors.append(traceback.format_exc())


async def test_nearly_right_requests_do_no_harm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For `FUZZ_SECONDS` of CPU time, from `FUZZ_SEED` on; one round at least."""
    errors: list[str] = []
    for module in (manager, kubelets):
        monkeypatch.setattr(module, "log", Recorder(errors))
    monkeypatch.setattr(logging.Logger, "exception", _note_traceback(errors))
    begun, seed = time.process_time(), SEED
    codes: Counter[int] = Counter()
    while not codes or time.process_time() - begun < SECONDS:
        codes += await round_of_requests(seed, errors)
        seed += 1
    print(f"{codes.total()} requests with seeds {SEED} to {seed - 1}, answered with {dict(codes.most_common())}")
    assert codes[200] + codes[201] > codes.total() / 10, "most of what is sent is nonsense: it finds nothing"
