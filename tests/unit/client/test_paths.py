"""Where objects are."""

from __future__ import annotations

import pytest

from kubesched.client.paths import collection_path, object_path
from kubesched.objects import KIND_OF, Lease, Node, Pod


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(collection_path(KIND_OF[Pod]), "/api/v1/pods", id="pods of all namespaces"),
        pytest.param(collection_path(KIND_OF[Pod], "a"), "/api/v1/namespaces/a/pods", id="pods of one namespace"),
        pytest.param(
            object_path(KIND_OF[Lease], "l", "kube-system"),
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/l",
            id="an object of a named group",
        ),
        pytest.param(object_path(KIND_OF[Node], "a b/c"), "/api/v1/nodes/a%20b%2Fc", id="odd characters are escaped"),
        pytest.param(
            object_path(KIND_OF[Pod], "p", "d", "binding"), "/api/v1/namespaces/d/pods/p/binding", id="a subresource"
        ),
    ],
)
def test_paths(path: str, expected: str) -> None:
    """Where requests go."""
    assert path == expected
