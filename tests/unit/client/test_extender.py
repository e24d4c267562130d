"""HTTP extenders: what is sent, how answers are read, what is said about failures."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from kubesched.client.extender import HTTPExtender, extender_connection
from kubesched.client.transport import JSON, Response
from kubesched.clock import VirtualClock
from kubesched.config.model import Extender, ExtenderManagedResource, ExtenderTLSConfig
from kubesched.errors import ConfigurationError, ExtenderError, TransportError
from kubesched.objects import Node, Pod
from kubesched.objects.meta import ObjectMeta
from kubesched.objects.pod import Container, PodSpec, ResourceRequirements
from kubesched.objects.quantity import Quantity
from kubesched.scheduler.framework import Victims


def config(**settings: Any) -> Extender:
    """An extender with every verb, unless said otherwise."""
    verbs = {"filter_verb": "filter", "preempt_verb": "preempt", "prioritize_verb": "prioritize", "bind_verb": "bind"}
    return Extender(**{"url_prefix": "http://extender/scheduler/", "weight": 3, **verbs, **settings})


class Answers:
    """A transport that gives one answer to everything."""

    host = "extender"

    def __init__(self, answer: Any, status: int = 200) -> None:
        self._answer = answer
        self._status = status
        self.sent: list[tuple[str, Any, float]] = []

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: str = "",
        content_type: str = JSON,
        body: bytes | None = None,
        time_limit: float,
        discard: bool = False,
        check: Callable[[], None] | None = None,
    ) -> Response:
        self.sent.append((path, msgspec.json.decode(body or b"null"), time_limit))
        if isinstance(self._answer, TransportError):
            raise self._answer
        body = self._answer if isinstance(self._answer, bytes) else msgspec.json.encode(self._answer)
        return Response(self._status, body)

    def stream(self, path: str, *, query: str = "", time_limit: float) -> AsyncGenerator[bytes, None]:
        raise NotImplementedError

    async def close(self) -> None: ...


POD = Pod(metadata=ObjectMeta(name="p", namespace="d", uid="u1"))
NODES = [Node(metadata=ObjectMeta(name=name)) for name in ("n1", "n2")]
VICTIM = Pod(metadata=ObjectMeta(name="v", namespace="d", uid="u2"))


def extender(answer: Any, status: int = 200, **settings: Any) -> tuple[HTTPExtender, Answers]:
    answers = Answers(answer, status)
    return HTTPExtender(config(**settings), answers), answers


@pytest.mark.parametrize(
    ("by_name", "sent", "answer", "remaining"),
    [
        pytest.param(
            False,
            {"Nodes": {"metadata": {}, "items": [{"metadata": {"name": "n1"}}, {"metadata": {"name": "n2"}}]}},
            {"Nodes": {"items": [{"metadata": {"name": "n2"}}]}},
            ("n2",),
            id="whole nodes",
        ),
        pytest.param(True, {"NodeNames": ["n1", "n2"]}, {"NodeNames": ["n1"]}, ("n1",), id="names only"),
        pytest.param(True, {"NodeNames": ["n1", "n2"]}, {"nodenames": ["n1"]}, ("n1",), id="names in any case"),
        pytest.param(
            True,
            {"NodeNames": ["n1", "n2"]},
            {"Nodes": {"items": [{"metadata": {"name": "n2"}}]}},
            ("n2",),
            id="nodes although names were asked for",
        ),
        pytest.param(True, {"NodeNames": ["n1", "n2"]}, {"NodeNames": []}, (), id="none remains"),
        pytest.param(False, {}, {}, (), id="nothing said"),
    ],
)
async def test_filter(by_name: bool, sent: dict[str, Any], answer: dict[str, Any], remaining: tuple[str, ...]) -> None:
    """Both forms, with the capitalised names that Go sends."""
    webhook, answers = extender(answer, node_cache_capable=by_name)
    result = await webhook.filter(POD, NODES)
    assert result.fitting == remaining
    path, body, time_limit = answers.sent[0]
    assert (path, time_limit) == ("/filter", 5.0)
    assert body["Pod"]["metadata"] == {"name": "p", "namespace": "d", "uid": "u1"}
    assert {name: body[name] for name in sent} == sent


async def test_filter_tells_why() -> None:
    """Failed nodes, and those that no eviction would help."""
    answer = {
        "NodeNames": [],
        "FailedNodes": {"n1": "no gpu"},
        "FailedAndUnresolvableNodes": {"n2": "wrong rack"},
        "Error": "",
    }
    webhook, _ = extender(answer, node_cache_capable=True)
    result = await webhook.filter(POD, NODES)
    assert result.failed == {"n1": "no gpu"}
    assert result.failed_unresolvable == {"n2": "wrong rack"}


@pytest.mark.parametrize(
    ("answer", "status", "message"),
    [
        pytest.param({"Error": "out of order"}, 200, "^out of order$", id="the extender's own error"),
        pytest.param(
            b"oops",
            500,
            "^failed filter with extender at URL http://extender/scheduler/filter, code 500$",
            id="another status",
        ),
        pytest.param(b"oops", 200, "does not decode", id="no JSON"),
        pytest.param({"FailedNodes": 7}, 200, "does not decode", id="the wrong type"),
        pytest.param({"Nodes": {"items": 7}}, 200, "does not decode", id="nodes that are no list"),
        pytest.param(b"[" * 100_000, 200, "does not decode", id="nested without an end"),
        pytest.param(TransportError("timed out"), 200, "^timed out$", id="no answer"),
        pytest.param(
            {"NodeNames": ["n9"]},
            200,
            'extender "http://.*/" claims a filtered node "n9" which is not found in the input node list',
            id="a node that was not offered",
        ),
    ],
)
async def test_filter_failures(answer: Any, status: int, message: str) -> None:
    """In one line, as upstream says it."""
    webhook, _ = extender(answer, status, node_cache_capable=True)
    with pytest.raises(ExtenderError, match=message) as failed:
        await webhook.filter(POD, NODES)
    assert failed.value.extender == "http://extender/scheduler/"


async def test_prioritize() -> None:
    """Scores by node name; the weight is for the caller to apply."""
    webhook, answers = extender(
        [{"Host": "n1", "Score": 7}, {"host": "n2", "score": 0}], http_timeout=timedelta(seconds=1)
    )
    assert await webhook.prioritize(POD, NODES) == {"n1": 7, "n2": 0}
    assert answers.sent[0][0] == "/prioritize"
    assert answers.sent[0][2] == 1.0


async def test_without_verbs_nothing_is_sent() -> None:
    """All nodes pass, all scores are zero, binding and preemption are refused."""
    webhook, answers = extender(None, filter_verb="", prioritize_verb="", bind_verb="", preempt_verb="")
    assert (await webhook.filter(POD, NODES)).fitting == ("n1", "n2")
    assert await webhook.prioritize(POD, NODES) == {"n1": 0, "n2": 0}
    with pytest.raises(ExtenderError, match="unexpected empty bindVerb in extender"):
        await webhook.bind(POD, "n1")
    with pytest.raises(ExtenderError, match="preempt verb is not defined for extender http://extender/scheduler/"):
        await webhook.process_preemption(POD, {}, lambda _: [])
    assert answers.sent == []
    assert [webhook.is_filter, webhook.is_prioritizer, webhook.is_binder, webhook.supports_preemption] == [False] * 4


async def test_bind() -> None:
    """Names and the UID; the extender's error is ours."""
    webhook, answers = extender({})
    await webhook.bind(POD, "n1")
    assert answers.sent[0][:2] == ("/bind", {"PodName": "p", "PodNamespace": "d", "PodUID": "u1", "Node": "n1"})
    webhook, _ = extender({"Error": "too late"})
    with pytest.raises(ExtenderError, match="too late"):
        await webhook.bind(POD, "n1")


@pytest.mark.parametrize(
    ("by_name", "field", "pods"),
    [
        pytest.param(True, "NodeNameToMetaVictims", [{"UID": "u2"}], id="as UIDs"),
        pytest.param(
            False, "NodeNameToVictims", [{"metadata": {"name": "v", "namespace": "d", "uid": "u2"}}], id="as pods"
        ),
    ],
)
async def test_preemption(by_name: bool, field: str, pods: list[Any]) -> None:
    """Answers are always UIDs, found again among the pods of the node."""
    answer = {"NodeNameToMetaVictims": {"n1": {"Pods": [{"UID": "u2"}], "NumPDBViolations": 2}}}
    webhook, answers = extender(answer, node_cache_capable=by_name)
    chosen = await webhook.process_preemption(POD, {"n1": Victims((VICTIM,), 1)}, lambda _: [VICTIM])
    assert chosen == {"n1": Victims((VICTIM,), 2)}
    assert answers.sent[0][1][field] == {"n1": {"Pods": pods, "NumPDBViolations": 1}}


async def test_victims_that_are_no_list() -> None:
    """A failure of the extender, not of the attempt."""
    webhook, _ = extender({"NodeNameToMetaVictims": {"n1": {"Pods": 7}}})
    with pytest.raises(ExtenderError, match="does not decode"):
        await webhook.process_preemption(POD, {}, lambda _: [VICTIM])


@pytest.mark.parametrize(
    ("known", "message"),
    [
        pytest.param(
            {"n1": []},
            r"claims to preempt pod \(UID: u2\) on node: n1, but the pod is not found on that node",
            id="a pod that is not there",
        ),
        pytest.param({}, 'nodeinfo not found for node name "n1"', id="a node that we do not know"),
    ],
)
async def test_preemption_failures(known: dict[str, list[Pod]], message: str) -> None:
    """The extender's cache differs from ours."""
    webhook, _ = extender({"NodeNameToMetaVictims": {"n1": {"Pods": [{"UID": "u2"}]}}})
    with pytest.raises(ExtenderError, match=message):
        await webhook.process_preemption(POD, {}, lambda node: known[node])


@pytest.mark.parametrize(
    ("requests", "limits", "init", "interested"),
    [
        pytest.param({}, {}, False, False, id="a pod without the resource"),
        pytest.param({"example.com/gpu": "1"}, {}, False, True, id="a request"),
        pytest.param({}, {"example.com/gpu": "1"}, False, True, id="a limit"),
        pytest.param({"example.com/gpu": "1"}, {}, True, True, id="of an init container"),
    ],
)
def test_interest(requests: dict[str, str], limits: dict[str, str], init: bool, interested: bool) -> None:
    """Only pods that ask for a managed resource; all of them, where none is named."""
    resources = ResourceRequirements(
        requests={name: Quantity.parse(value) for name, value in requests.items()},
        limits={name: Quantity.parse(value) for name, value in limits.items()},
    )
    container = Container(name="c", resources=resources)
    spec = PodSpec(init_containers=(container,)) if init else PodSpec(containers=(container,))
    managed = (
        ExtenderManagedResource(name="example.com/gpu", ignored_by_scheduler=True),
        ExtenderManagedResource(name="example.com/other"),
    )
    webhook, _ = extender({}, managed_resources=managed)
    assert webhook.is_interested(Pod(spec=spec)) is interested
    assert webhook.ignored_resources == {"example.com/gpu"}
    assert extender({})[0].is_interested(Pod(spec=spec))


@pytest.mark.parametrize(
    ("settings", "insecure"),
    [
        pytest.param(config(), False, id="plain HTTP"),
        pytest.param(config(enable_https=True), True, id="HTTPS without a CA is not verified"),
        pytest.param(
            config(enable_https=True, tls_config=ExtenderTLSConfig(ca_data=b"ca")), False, id="HTTPS with a CA is"
        ),
        pytest.param(config(tls_config=ExtenderTLSConfig(insecure=True)), True, id="asked not to verify"),
    ],
)
def test_verification(settings: Extender, insecure: bool) -> None:
    """As upstream's makeTransport."""
    connection = extender_connection(settings, VirtualClock())
    assert connection.tls.insecure is insecure
    assert connection.server == "http://extender/scheduler"


def test_a_ca_that_is_not_to_be_checked_is_a_mistake() -> None:
    """Said at the start."""
    with pytest.raises(ConfigurationError, match="with the insecure flag is not allowed"):
        extender_connection(config(tls_config=ExtenderTLSConfig(insecure=True, ca_data=b"ca")), VirtualClock())
