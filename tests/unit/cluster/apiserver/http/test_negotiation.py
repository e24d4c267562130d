"""What a client wants to read."""

from __future__ import annotations

import pytest

from kubesched.cluster.apiserver.http.negotiation import Form, negotiate
from kubesched.errors import RequestRefusedError

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        pytest.param("", Form.OBJECT, id="nothing said"),
        pytest.param("*/*", Form.OBJECT, id="anything"),
        pytest.param("application/vnd.kubernetes.protobuf,application/json", Form.OBJECT, id="protobuf or JSON"),
        pytest.param(f"{TABLE},application/json", Form.TABLE, id="kubectl get"),
        pytest.param(
            "application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", Form.OBJECT, id="an old table"
        ),
        pytest.param("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", Form.METADATA, id="metadata"),
    ],
)
def test_forms(accept: str, form: Form) -> None:
    """The first accepted form that is served."""
    assert negotiate(accept) is form


@pytest.mark.parametrize("accept", ["application/vnd.kubernetes.protobuf", "text/html", "application/json;as=Other"])
def test_refusals(accept: str) -> None:
    """A client that reads no JSON cannot be served."""
    with pytest.raises(RequestRefusedError, match="406 NotAcceptable"):
        negotiate(accept)


def test_tables_are_no_discovery() -> None:
    """The two kinds of documents have their own forms."""
    assert negotiate(f"{TABLE},application/json", discovery=True) is Form.OBJECT
