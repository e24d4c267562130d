"""What an API server would fill in."""

from __future__ import annotations

import pytest

from kubesched.objects import ResourceClaim, convert
from kubesched.objects.completion import completed


@pytest.mark.parametrize(
    ("request_", "mode", "count"),
    [
        pytest.param({}, "ExactCount", 1, id="nothing said: one device"),
        pytest.param({"count": 3}, "ExactCount", 3, id="a count"),
        pytest.param({"allocationMode": "All"}, "All", 0, id="all devices have no count"),
    ],
)
def test_device_requests_get_their_mode(request_: dict[str, object], mode: str, count: int) -> None:
    """Exact requests and alternatives alike."""
    requests = [{"name": "a", "exactly": request_}, {"name": "b", "firstAvailable": [{"name": "x", **request_}]}]
    claim = completed(convert({"spec": {"devices": {"requests": requests}}}, ResourceClaim))
    exact, first = claim.spec.devices.requests
    assert (exact.exactly.allocation_mode, exact.exactly.count) == (mode, count)
    assert (first.first_available[0].allocation_mode, first.first_available[0].count) == (mode, count)
