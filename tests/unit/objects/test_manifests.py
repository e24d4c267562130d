"""Objects from YAML and JSON texts."""

from __future__ import annotations

import pytest

from kubesched.errors import InvalidObjectError
from kubesched.objects import Node, Pod, load_manifests

TWO_DOCUMENTS = """
apiVersion: v1
kind: Node
metadata: {name: n1, creationTimestamp: 2024-01-01T00:00:00Z}
status: {allocatable: {cpu: 4, memory: 8Gi}}
---
# nothing here
---
apiVersion: v1
kind: Pod
metadata: {name: p1}
spec: {containers: [{name: c, resources: {requests: {cpu: 0.5}}}]}
"""

LIST = """
{"apiVersion": "v1", "kind": "List", "items": [
  {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}},
  {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b"}}]}
"""


def test_reads_several_documents() -> None:
    """Empty documents are skipped; times and numbers are read as Kubernetes does."""
    node, pod = load_manifests(TWO_DOCUMENTS, "cluster.yaml")
    assert isinstance(node, Node)
    assert node.metadata.creation_timestamp is not None
    assert node.status.allocatable["cpu"].milli_value() == 4000
    assert isinstance(pod, Pod)
    assert pod.spec.containers[0].resources.requests["cpu"].milli_value() == 500


def test_takes_lists_apart() -> None:
    """`kubectl get -o json` gives a List, and JSON is YAML."""
    assert [pod.metadata.name for pod in load_manifests(LIST, "pods.json") if isinstance(pod, Pod)] == ["a", "b"]


def test_what_begins_like_json_may_be_yaml() -> None:
    """A flow mapping without quotes."""
    (node,) = load_manifests("{apiVersion: v1, kind: Node, metadata: {name: n1}}", "node.yaml")
    assert isinstance(node, Node)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a: [", "f.yaml: not valid YAML", id="broken YAML"),
        pytest.param("just text", "f.yaml: expected an object, got str", id="no object"),
        pytest.param("kind: Gadget\napiVersion: v1", "f.yaml: kind: unknown kind 'Gadget'", id="an unknown kind"),
        pytest.param(
            TWO_DOCUMENTS.replace("0.5", "half"),
            r"f.yaml: document 3: Pod p1: spec.containers\[0\].resources.requests.cpu: quantities must match",
            id="a wrong field in the third document",
        ),
        pytest.param(
            LIST.replace('"name": "b"', '"name": 7'),
            r"f.yaml: items\[1\]: .*metadata.name: Expected",
            id="a wrong item",
        ),
    ],
)
def test_an_error_names_source_document_and_path(text: str, message: str) -> None:
    """Whoever wrote the file can find the place."""
    with pytest.raises(InvalidObjectError, match=f"^{message}"):
        load_manifests(text, "f.yaml")
