"""One leads, the others wait."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from kubesched.client.fence import Fence
from kubesched.client.leader_election import ElectionTiming, LeaderElector, default_identity
from kubesched.client.lease_lock import LeaseLock
from kubesched.client.rest import RestClient
from kubesched.client.transport import JSON, Response
from kubesched.clock import VirtualClock
from kubesched.errors import ConfigurationError, NotLeadingError, TransportError
from kubesched.testing.fake_api_server import FakeApiServer, failure

LEASES = "/apis/coordination.k8s.io/v1/leases"
KEY = "kube-system/kube-scheduler"


class Link(FakeApiServer):
    """One candidate's way to the server that all share. Break it with the switches."""

    def __init__(self, server: FakeApiServer) -> None:
        super().__init__()
        self._server = server
        self.is_cut = False
        self.hangs = False
        """Requests are taken and not answered."""
        self.has_late_renewal = False
        """A renewal is carried out after the next reading: its sender no longer waits for the answer."""

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
        if self.is_cut:
            raise TransportError("no route to host")
        if self.hangs:
            await asyncio.Event().wait()
        response = await self._server.request(method, path, query=query, body=body, time_limit=time_limit)
        if self.has_late_renewal and method == "GET":
            self.has_late_renewal = False
            self._server.put(LEASES, dict(self._server.objects[LEASES][KEY]))
        return response


class Candidate:
    """A replica: its elector, what it heard, and whether it believes to lead."""

    def __init__(self, server: FakeApiServer, clock: VirtualClock, identity: str, *, coordinated: bool = False) -> None:
        rng = random.Random(identity)
        self.link = Link(server)
        rest = RestClient(self.link, clock, rng)
        lock = LeaseLock(rest, namespace="kube-system", name="kube-scheduler", identity=identity)
        self.heard: list[str] = []
        self.leading = False
        self.fence = Fence(clock)
        self.elector = LeaderElector(
            lock,
            ElectionTiming(),
            clock,
            rng,
            coordinated=coordinated,
            fence=self.fence,
            on_started_leading=self._started,
            on_stopped_leading=self._stopped,
            on_new_leader=lambda leader: self.heard.append(f"leader {leader}"),
            on_slow_renewal=lambda: self.heard.append("slow renewal"),
            on_event=lambda message: self.heard.append(f"event {message}"),
        )
        self.task: asyncio.Task[None] | None = None

    def _started(self) -> None:
        self.leading = True
        self.heard.append("started")

    def _stopped(self) -> None:
        self.leading = False
        self.heard.append("stopped")

    def start(self) -> None:
        self.task = asyncio.create_task(self.elector.run())

    @property
    def may_write(self) -> bool:
        try:
            self.fence.check()
        except NotLeadingError:
            return False
        return True

    async def cancel(self) -> None:
        assert self.task is not None
        self.task.cancel()
        await asyncio.wait({self.task})


class Scene:
    def __init__(self) -> None:
        self.server = FakeApiServer()
        self.clock = VirtualClock()

    def candidate(self, identity: str, *, coordinated: bool = False) -> Candidate:
        return Candidate(self.server, self.clock, identity, coordinated=coordinated)

    def give_lease_to(self, identity: str, **spec: object) -> None:
        """What the API server does in a coordinated election."""
        given = {"holderIdentity": identity, "leaseDurationSeconds": 15, "leaseTransitions": 3, **spec}
        name, _, namespace = reversed(KEY.partition("/"))
        self.server.put(LEASES, {"metadata": {"name": name, "namespace": namespace}, "spec": given})

    async def wait(self, seconds: float = 0.0) -> None:
        await self.clock.advance(0)
        await self.clock.advance(seconds)

    @property
    def spec(self) -> dict[str, object]:
        spec: dict[str, object] = self.server.objects[LEASES][KEY]["spec"]
        return spec

    @asynccontextmanager
    async def leading(self, identity: str) -> AsyncIterator[Candidate]:
        candidate = self.candidate(identity)
        candidate.start()
        await self.wait()
        assert candidate.leading
        yield candidate
        await candidate.cancel()


async def test_the_first_creates_the_lease_and_renews_it() -> None:
    """Every retry period, with one write and no read."""
    scene = Scene()
    async with scene.leading("a") as a:
        assert scene.spec == {
            "holderIdentity": "a",
            "leaseDurationSeconds": 15,
            "acquireTime": "2023-11-14T22:13:20.000000Z",
            "renewTime": "2023-11-14T22:13:20.000000Z",
            "leaseTransitions": 0,
        }
        await scene.wait(10)
        assert scene.spec["renewTime"] == "2023-11-14T22:13:30.000000Z"
        assert scene.spec["acquireTime"] == "2023-11-14T22:13:20.000000Z"
        assert [call.method for call in scene.server.calls] == ["GET", "POST"] + ["PUT"] * 5 + ["PUT"]
        assert a.heard == ["leader a", "event a became leader", "started"]


async def test_a_standby_waits_while_the_lease_is_renewed() -> None:
    """However long."""
    scene = Scene()
    async with scene.leading("a"):
        b = scene.candidate("b")
        b.start()
        await scene.wait(600)
        assert b.heard == ["leader a"]
        await b.cancel()
        assert scene.spec["holderIdentity"] == "a"
        assert b.heard == ["leader a", "stopped"]


async def test_takes_over_from_a_leader_that_died() -> None:
    """Within the lease duration and a jittered retry period after the last renewal."""
    scene = Scene()
    async with scene.leading("a") as a:
        b = scene.candidate("b")
        b.start()
        await scene.wait(5)
        a.link.is_cut = True
        await scene.wait(15 + 4.4)
        assert b.leading
        assert not a.leading
        await b.cancel()


async def test_judges_expiry_by_its_own_clock() -> None:
    """A lease whose times lie in the future or the past is honoured for its duration since we saw it change."""
    scene = Scene()
    spec = {
        "holderIdentity": "other",
        "leaseDurationSeconds": 15,
        "acquireTime": "2001-01-01T00:00:00.000000Z",
        "renewTime": "2001-01-01T00:00:00.000000Z",
        "leaseTransitions": 4,
    }
    lease = {
        "metadata": {"name": "kube-scheduler", "namespace": "kube-system", "labels": {"kept": "yes"}},
        "spec": spec,
    }
    scene.server.put(LEASES, lease)
    b = scene.candidate("b")
    b.start()
    await scene.wait(14.9)
    assert not b.leading
    await scene.wait(4.6)
    assert b.leading
    assert scene.spec["leaseTransitions"] == 5
    assert scene.server.objects[LEASES][KEY]["metadata"]["labels"] == {"kept": "yes"}
    assert b.heard == ["leader other", "leader b", "event b became leader", "started"]
    await b.cancel()


async def test_releases_when_cancelled() -> None:
    """The next one need not wait for the lease to expire."""
    scene = Scene()
    async with scene.leading("a") as a:
        b = scene.candidate("b")
        b.start()
        await scene.wait(1)
        await a.cancel()
        assert scene.spec["holderIdentity"] == ""
        assert scene.spec["leaseDurationSeconds"] == 1
        assert a.heard[-2:] == ["event a stopped leading", "stopped"]
        await scene.wait(4.4)
        assert b.leading
        assert scene.spec["leaseTransitions"] == 1
        await b.cancel()


async def test_releases_although_a_renewal_was_under_way() -> None:
    """It is carried out between the reading and the writing of the release."""
    scene = Scene()
    async with scene.leading("a") as a:
        await scene.wait(1)
        a.link.has_late_renewal = True
        await a.cancel()
        assert scene.spec["holderIdentity"] == ""
        assert [call.method for call in scene.server.calls[-4:]] == ["GET", "PUT", "GET", "PUT"]


@pytest.mark.parametrize("turns", range(30))
async def test_releases_whenever_it_is_cancelled(turns: int) -> None:
    """Before, while and after it renews, so many turns of the loop later."""
    scene = Scene()
    async with scene.leading("a") as a:
        assert a.task is not None
        advance = asyncio.create_task(scene.clock.advance(2))
        for _ in range(turns):
            await asyncio.sleep(0)
        a.task.cancel()
        await advance
        await asyncio.wait({a.task}, timeout=5)
        assert a.task.done()
        assert scene.spec["holderIdentity"] == ""


async def test_gives_up_after_the_renew_deadline() -> None:
    """Before anybody else may take over: no two leaders at once."""
    scene = Scene()
    async with scene.leading("a") as a:
        await scene.wait(3)
        scene.server.failures = [TransportError("reset")] * 100
        await scene.wait(8)
        assert a.leading
        await scene.wait(4)
        assert not a.leading
        assert a.task is not None
        assert a.task.done()


async def test_a_hanging_server_does_not_keep_a_leader() -> None:
    """The deadline holds for the request as well, and for the attempt to release."""
    scene = Scene()
    async with scene.leading("a") as a:
        a.link.hangs = True
        await scene.wait(2 + 10 + 10.1)
        assert not a.leading
        assert a.task is not None
        assert a.task.done()


async def test_writes_are_fenced_before_others_may_lead() -> None:
    """A leader may write for a renew deadline from when it sent its last renewal, and knows it without being told."""
    scene = Scene()
    a = scene.candidate("a")
    assert not a.may_write
    a.start()
    await scene.wait()
    await scene.wait(60)
    assert a.may_write
    a.link.hangs = True
    await scene.wait(8)
    assert a.may_write, "its last renewal was two seconds old at most"
    await scene.wait(2.1)
    assert a.leading, "it still tries to renew"
    assert not a.may_write
    a.link.hangs = False
    await a.cancel()


async def test_a_suspended_leader_may_not_write() -> None:
    """It goes on where it was, before any timer of its own runs: the clock says that it is too late."""
    scene = Scene()
    async with scene.leading("a") as a:
        await scene.wait(2.1)
        assert a.may_write
        scene.clock.tick(22)
        assert not a.may_write
        await scene.wait()
        await scene.wait(0.1)
        assert a.may_write, "nobody else took the lease: it was renewed"


async def test_the_lease_is_given_back_behind_a_closed_fence() -> None:
    """Nothing may be written once others can lead; a renewal that is answered late does not open it again."""
    scene = Scene()
    async with scene.leading("a") as a:
        await a.cancel()
        assert scene.spec["holderIdentity"] == ""
        assert not a.may_write
        a.fence.keep_open(1e9)
        assert not a.may_write


async def test_a_conflict_is_read_again() -> None:
    """Somebody touched the lease (a label): the optimistic write fails, the next one is right."""
    scene = Scene()
    async with scene.leading("a") as a:
        touched = dict(scene.server.objects[LEASES][KEY])
        scene.server.put(LEASES, touched)
        await scene.wait(2.1)
        assert [call.method for call in scene.server.calls[-3:]] == ["PUT", "GET", "PUT"]
        assert a.heard[-1] == "slow renewal"
        await scene.wait(20)
        assert a.leading


async def test_a_lease_deleted_by_hand_is_made_anew() -> None:
    """The leader goes on, and the new lease is as complete as the first one."""
    scene = Scene()
    async with scene.leading("a") as a:
        scene.server.remove(LEASES, KEY)
        await scene.wait(2.1)
        assert a.leading
        assert scene.spec["holderIdentity"] == "a"
        assert scene.spec["acquireTime"] == scene.spec["renewTime"]
        assert scene.spec["leaseTransitions"] == 0


async def test_a_lease_taken_by_another_is_not_taken_back() -> None:
    """Whatever the reason, two leaders never write over each other."""
    scene = Scene()
    async with scene.leading("a") as a:
        stolen = dict(scene.server.objects[LEASES][KEY])
        stolen["spec"] = {**stolen["spec"], "holderIdentity": "thief"}
        scene.server.put(LEASES, stolen)
        await scene.wait(2.1)
        assert not a.leading, "it read another holder's name"
        assert not a.may_write
        await scene.wait(13)
        assert scene.spec["holderIdentity"] == "thief"


async def test_a_forbidden_lease_is_told_and_tried_again() -> None:
    """A role that comes late."""
    scene = Scene()
    scene.server.failures = [failure(403, "Forbidden", "cannot get leases")] * 3
    a = scene.candidate("a")
    a.start()
    await scene.wait(30)
    assert a.leading
    await a.cancel()


async def test_the_watchdog_reports_a_leader_that_should_be_gone() -> None:
    """Only a leader, and only twenty seconds after its lease ran out."""
    scene = Scene()
    candidate = scene.candidate("a")
    assert candidate.elector.health_problem() is None
    async with scene.leading("a") as a:
        scene.clock.tick(34.9)
        assert a.elector.health_problem() is None
        scene.clock.tick(0.2)
        assert a.elector.health_problem() == "failed election to renew leadership on lease kube-system/kube-scheduler"


@pytest.mark.parametrize(
    ("timing", "problem"),
    [
        pytest.param(
            ElectionTiming(lease_duration=10, renew_deadline=10),
            "leaseDuration must be greater than renewDeadline",
            id="a leader would outlive its lease",
        ),
        pytest.param(
            ElectionTiming(renew_deadline=2.4),
            r"renewDeadline must be greater than retryPeriod\*JitterFactor",
            id="no second try within the deadline",
        ),
        pytest.param(ElectionTiming(retry_period=0), "must be greater than zero", id="no period at all"),
    ],
)
def test_timings_that_cannot_work(timing: ElectionTiming, problem: str) -> None:
    """As NewLeaderElector refuses them."""
    with pytest.raises(ConfigurationError, match=problem):
        timing.check()


def test_identities_differ() -> None:
    """Host name and a UUID."""
    rng = random.Random(1)
    first, second = default_identity("host", rng), default_identity("host", rng)
    assert first.startswith("host_")
    assert first != second


async def test_waits_for_the_lease_of_a_coordinated_election() -> None:
    """It never takes the lease itself, be there none, or an expired one; what it was given, it renews as it is."""
    scene = Scene()
    a = scene.candidate("a", coordinated=True)
    a.start()
    await scene.wait(30)
    assert not scene.server.objects.get(LEASES)
    scene.give_lease_to("b")
    await scene.wait(60)
    assert not a.leading
    assert scene.spec["holderIdentity"] == "b"
    scene.give_lease_to("a", strategy="OldestEmulationVersion")
    await scene.wait(10)
    assert a.leading
    assert scene.spec["holderIdentity"] == "a"
    assert scene.spec["strategy"] == "OldestEmulationVersion"
    assert scene.spec["leaseTransitions"] == 3
    await a.cancel()
    assert scene.spec["holderIdentity"] == ""


async def test_a_term_ends_when_the_server_prefers_another() -> None:
    """The lease is no longer renewed, and so it is lost before another one may lead."""
    scene = Scene()
    scene.give_lease_to("a")
    a = scene.candidate("a", coordinated=True)
    a.start()
    await scene.wait(5)
    assert a.leading
    scene.give_lease_to("a", preferredHolder="b")
    await scene.wait(13)
    assert not a.leading
    assert a.heard[-1] == "stopped"
