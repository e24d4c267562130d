from __future__ import annotations

from kubesched.errors import ApiStatusError
from kubesched.scheduler.framework import Code, CycleState
from kubesched.scheduler.plugins.default_binder import DefaultBinder
from kubesched.testing import make_pod
from kubesched.testing.handle import FakeHandle


async def test_the_binding_goes_to_the_api_server() -> None:
    """The pod is bound to the chosen node."""
    handle = FakeHandle()
    pod = make_pod("p")
    state = CycleState(handle.cluster.templates.info(pod))
    assert (await DefaultBinder(None, handle).bind(state, pod, "n1")).is_success
    assert handle.api.bindings == {"default/p": "n1"}


async def test_a_refused_binding_is_an_error() -> None:
    """What the API server says becomes the status, with the exception behind it."""
    handle = FakeHandle()
    handle.api.error = ApiStatusError(409, "Conflict", "pod is already assigned")
    pod = make_pod("p")
    status = await DefaultBinder(None, handle).bind(CycleState(handle.cluster.templates.info(pod)), pod, "n1")
    assert status.code is Code.ERROR
    assert "already assigned" in status.message
    assert status.error is handle.api.error
