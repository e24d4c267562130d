from __future__ import annotations

import random

import pytest

from kubesched.clock import VirtualClock
from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.apiserver.bootstrap import bootstrap
from kubesched.cluster.apiserver.storage import Store


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def store() -> Store:
    return Store(history=64)


@pytest.fixture
def api(store: Store, clock: VirtualClock) -> Api:
    """All verbs over an empty cluster: namespaces and system priority classes exist."""
    made = Api(store=store, clock=clock, rng=random.Random(7))
    bootstrap(made)
    return made
