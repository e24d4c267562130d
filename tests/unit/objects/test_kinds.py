"""The registry of kinds, and small facts of objects."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from kubesched.objects import KIND_OF, KINDS, Pod
from kubesched.objects.base import MicroTime
from kubesched.objects.resource_names import is_extended_resource, is_scalar_resource
from kubesched.testing import make_node, make_pod


def test_paths_follow_the_api_group() -> None:
    """Core kinds live under /api, all others under /apis."""
    assert KINDS["Pod"].path == "/api/v1/pods"
    assert KINDS["CSINode"].path == "/apis/storage.k8s.io/v1/csinodes"
    assert KIND_OF[Pod] is KINDS["Pod"]


def test_keys_have_a_namespace_where_there_is_one() -> None:
    """`namespace/name` or just `name`."""
    assert make_pod("p", namespace="shop").key == "shop/p"
    assert make_node("n1").metadata.key == "n1"


def test_a_pod_tells_what_is_asked_of_it_often() -> None:
    """Priority without a value is 0; the controller is the owner that controls."""
    assert Pod().priority == 0
    assert make_pod(priority=7).priority == 7
    owned = make_pod(owner={"kind": "ReplicaSet", "name": "web"})
    assert owned.metadata.controller_of is not None
    assert owned.metadata.controller_of.name == "web"
    assert Pod().metadata.controller_of is None
    assert make_pod(phase="Failed").is_terminal
    assert make_pod(deleting=True).is_terminating
    assert not make_pod(node="n").is_terminal


def test_a_micro_time_is_in_utc() -> None:
    """Other zones are converted, naive times taken as UTC."""
    noon = datetime(2024, 1, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    assert str(MicroTime.of(noon)) == "2024-01-01T10:00:00.000000Z"
    assert str(MicroTime.of(datetime(2024, 1, 1, 12))) == "2024-01-01T12:00:00.000000Z"
    assert MicroTime.parse("2024-01-01T10:00:00.5Z") == datetime(2024, 1, 1, 10, 0, 0, 500000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "extended", "scalar"),
    [
        pytest.param("example.com/gpu", True, True, id="a vendor's resource"),
        pytest.param("cpu", False, False, id="a native resource"),
        pytest.param("kubernetes.io/batteries", False, True, id="a native resource with prefix"),
        pytest.param("hugepages-2Mi", False, True, id="huge pages"),
        pytest.param("attachable-volumes-x", False, True, id="volumes"),
        pytest.param("requests.example.com/gpu", False, False, id="a quota name"),
        pytest.param("example.com/", False, False, id="no name"),
        pytest.param("-bad-/gpu", False, False, id="a prefix that is no domain"),
    ],
)
def test_names_of_resources(name: str, extended: bool, scalar: bool) -> None:
    """Which resources are counted besides cpu, memory and ephemeral storage."""
    assert is_extended_resource(name) is extended
    assert is_scalar_resource(name) is scalar
