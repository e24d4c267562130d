"""The field table."""

from __future__ import annotations

import pytest

from kubesched.cluster.apiserver.catalog import CATALOG
from kubesched.cluster.apiserver.schema import Shape, struct, zero_values


@pytest.mark.parametrize("name", sorted({resource.struct_name for resource in CATALOG}))
def test_every_served_kind_is_in_the_table(name: str) -> None:
    """A kind without fields could be neither decoded nor explained."""
    assert "metadata" in struct(name).fields


@pytest.mark.parametrize(
    ("owner", "field", "shape"),
    [
        pytest.param("core.v1.PodSpec", "containers", Shape.LIST, id="a list"),
        pytest.param("core.v1.ResourceRequirements", "requests", Shape.MAP, id="a map"),
        pytest.param("core.v1.Pod", "spec", Shape.STRUCT, id="a struct"),
        pytest.param("core.v1.PodSpec", "priority", Shape.INT32, id="a number"),
        pytest.param("coordination.v1.LeaseSpec", "renewTime", Shape.MICRO_TIME, id="a precise time"),
        pytest.param(
            "policy.v1.PodDisruptionBudgetSpec", "minAvailable", Shape.INT_OR_STRING, id="a number or percent"
        ),
    ],
)
def test_shapes(owner: str, field: str, shape: Shape) -> None:
    """A field's shape is read from its type."""
    assert struct(owner).fields[field].shape is shape


def test_lists_know_their_keys() -> None:
    """Ports are identified by two keys for ownership and merged by one."""
    ports = struct("core.v1.Container").fields["ports"]
    assert (ports.map_keys, ports.merge_key, ports.merges) == (("containerPort", "protocol"), "containerPort", True)


def test_required_numbers_are_always_written() -> None:
    """Go writes a required number even when it is zero."""
    assert zero_values("apps.v1.ReplicaSetStatus") == {"replicas": 0}
