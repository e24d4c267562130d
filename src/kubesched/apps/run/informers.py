"""What the scheduler watches, and whether it may."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Final

from kubesched.apps.run.informer_feed import feed_of
from kubesched.client.backoff import Backoff
from kubesched.client.informer import NON_TERMINAL_PODS, InformerFactory
from kubesched.client.paths import collection_path
from kubesched.client.rest import RestClient
from kubesched.clock import Clock
from kubesched.config import FeatureGates
from kubesched.errors import ApiStatusError, ClientError, ConfigurationError, TransportError
from kubesched.objects import (
    KIND_OF,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    DeviceClass,
    DeviceTaintRule,
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    PodGroup,
    ReplicaSet,
    ReplicationController,
    ResourceClaim,
    ResourceSlice,
    Service,
    StatefulSet,
    StorageClass,
    VolumeAttachment,
)
from kubesched.objects.pod_resources import ResourceFeatures
from kubesched.scheduler.framework.listers import EVERYTHING, Selection
from kubesched.scheduler.scheduling.event_handlers import EventHandlers
from kubesched.telemetry.instruments import Histogram
from kubesched.telemetry.logging import log

ALWAYS_WATCHED: Final[tuple[type, ...]] = (
    *(Node, Pod, Namespace, Service, ReplicationController, ReplicaSet, StatefulSet, PodDisruptionBudget),
    *(PersistentVolume, PersistentVolumeClaim, StorageClass),
    *(CSINode, CSIDriver, CSIStorageCapacity, VolumeAttachment),
    *(ResourceSlice, DeviceClass, ResourceClaim),
)

FIRST_DELAY: Final = 0.5
LONGEST_DELAY: Final = 5.0
LOOK_AGAIN_SECONDS: Final = 60.0
"""How often a server is asked for kinds that it did not have: an upgrade may bring them."""


def watched_kinds(gates: FeatureGates, for_plugins: Iterable[type] = ()) -> tuple[type, ...]:
    """The kinds that scheduling reads, with those that plugins asked for."""
    of_gates = {"GenericWorkload": PodGroup, "DRADeviceTaintRules": DeviceTaintRule}
    known = (*ALWAYS_WATCHED, *(kind for gate, kind in of_gates.items() if gates.enabled(gate)))
    return (*known, *(kind for kind in for_plugins if kind not in known))


def selections_for_plugins(gates: FeatureGates, watched: Mapping[type, Selection]) -> dict[type, Selection]:
    """Of kinds that only plugins read: those that every scheduler watches are watched whole."""
    known = watched_kinds(gates)
    return {kind: selection for kind, selection in watched.items() if kind not in known}


class AccessCheck:
    """Finds out before the start what would otherwise fail for ever: kube-scheduler just repeats the error."""

    def __init__(
        self, rest: RestClient, kinds: Sequence[type], selections: Mapping[type, Selection] | None = None
    ) -> None:
        """`selections` of kinds that are not watched in all namespaces."""
        self._rest = rest
        self._kinds = kinds
        self._selections = selections or {}

    async def served_kinds(self) -> list[type]:
        """The kinds that the server has and lets us list.

        ConfigurationError for what only a person can mend (permissions, a foreign certificate); ClientError where
        another try may help. So it may with credentials that are not accepted: a token or its user may come later.
        """
        await self.is_served(Pod)
        answers = await asyncio.gather(*map(self.is_served, self._kinds), return_exceptions=True)
        problems: list[str] = []
        for answer in answers:
            if isinstance(answer, ConfigurationError):
                problems += answer.problems
            elif isinstance(answer, BaseException):
                raise answer
        if problems:
            raise ConfigurationError(problems)
        for kind, served in zip(self._kinds, answers, strict=True):
            if not served:
                log.warning("The API server does not have this kind: taken as empty", type=KIND_OF[kind].plural)
        return [kind for kind, served in zip(self._kinds, answers, strict=True) if served]

    async def served_kinds_at_once(self) -> list[type]:
        """As `served_kinds`, for a command that does not wait: refused credentials are a ConfigurationError."""
        try:
            return await self.served_kinds()
        except ApiStatusError as error:
            if error.code != 401:
                raise
            raise ConfigurationError([f"the API server does not accept our credentials: {error}"]) from error

    async def served_kinds_when_up(self, clock: Clock, random: Random) -> list[type]:
        """As `served_kinds`, trying again for as long as the server is away."""
        backoff = Backoff(clock, random, initial=FIRST_DELAY, cap=LONGEST_DELAY)
        while True:
            try:
                return await self.served_kinds()
            except ClientError as error:
                log.error("Waiting for the API server", error)
            await clock.sleep(backoff.next_delay())

    async def is_served(self, kind: type) -> bool:
        """Whether the server has the kind and lets us list it; errors as those of `served_kinds`."""
        try:
            await self._list(kind)
        except ApiStatusError as error:
            if error.code == 404 or (error.code == 403 and not await self._is_known(kind)):
                return await self._is_served_as_before(kind)
            if error.code != 403 or not await self._is_ready():
                raise
            await self._insist_on(kind)
        except TransportError as error:
            if error.untrusted:
                raise ConfigurationError([f"the API server's certificate is not trusted: {error}"]) from error
            raise
        return True

    async def _is_served_as_before(self, kind: type) -> bool:
        """Whether the server, of an older release, has the kind in an older API version; it is read in that then."""
        for version in KIND_OF[kind].older_versions:
            path = collection_path(KIND_OF[kind]._replace(api_version=version))
            try:
                await self._rest.call("GET", path, query="limit=1", retries=0)
            except ApiStatusError as error:
                if error.code not in (403, 404):
                    raise
            else:
                self._rest.use_version(kind, version)
                return True
        return False

    async def _list(self, kind: type) -> None:
        namespace = self._selections.get(kind, EVERYTHING).namespace
        await self._rest.call("GET", collection_path(self._rest.kind(kind), namespace), query="limit=1", retries=0)

    async def _is_ready(self) -> bool:
        """A server answers, and forbids everything, before it has read its roles: after a reboot of a control plane
        that is what a scheduler meets.
        """
        try:
            await self._rest.call("GET", "/readyz", retries=0)
        except ApiStatusError as error:
            return error.code == 404  # something between us does not let us ask
        return True

    async def _insist_on(self, kind: type) -> None:
        """The server may have become ready since it was asked: only what it forbids now is for a person to mend."""
        try:
            await self._list(kind)
        except ApiStatusError as error:
            if error.code == 403:
                raise ConfigurationError([f"a permission is missing: {error.server_message}"]) from error
            raise

    async def _is_known(self, kind: type) -> bool:
        """Whether the server has a kind that we may not list: without its gate, its roles do not speak of it either."""
        if kind in ALWAYS_WATCHED:
            return True
        path, _, plural = KIND_OF[kind].path.rpartition("/")
        try:
            answer = json.loads(await self._rest.call("GET", path, retries=0))
        except ApiStatusError as error:
            return error.code != 404
        return any(resource["name"] == plural for resource in answer.get("resources", ()))


class Watches:
    """The informers of all kinds. `has_synced` once the event handlers know all that was there at the start."""

    def __init__(
        self,
        rest: RestClient,
        clock: Clock,
        random: Random,
        handlers: EventHandlers,
        durations: Histogram,
        features: ResourceFeatures = ResourceFeatures(),  # noqa: B008 - frozen
    ) -> None:
        """`features` say how a pod's requests are computed."""
        self._features = features
        self._factory = InformerFactory(rest, clock, random, first_list_in_pages=True)
        self._clock = clock
        self._handlers = handlers
        self._durations = durations
        self._selections: Mapping[type, Selection] = {}
        self._watched: set[type] = set()
        self.has_synced = False

    async def start(self, kinds: Iterable[type], selections: Mapping[type, Selection] | None = None) -> None:
        """Watch these kinds, and return when their first lists are delivered."""
        self._selections = {**self._selections, **(selections or {})}
        for kind in kinds:
            self._add(kind)
        self._factory.start()
        await self._factory.wait_for_sync()
        self.has_synced = True

    async def start_once_served(self, kinds: Iterable[type], check: AccessCheck) -> None:
        """Watch kinds that the server does not have from when it has them. Returns when it has them all."""
        missing = list(kinds)
        while missing:
            await self._clock.sleep(LOOK_AGAIN_SECONDS)
            for kind in tuple(missing):
                try:
                    is_served = await check.is_served(kind)
                except (ClientError, ConfigurationError) as error:
                    log.error("Cannot find out whether the API server has a kind", error, type=KIND_OF[kind].plural)
                    continue
                if is_served:
                    log.info("The API server has this kind now", type=KIND_OF[kind].plural)
                    missing.remove(kind)
                    self._add(kind)
                    self._factory.start()

    def selection_of(self, kind: type) -> Selection | None:
        """What of a kind is watched; None: nothing."""
        return self._selections.get(kind, EVERYTHING) if kind in self._watched else None

    @property
    def kinds(self) -> frozenset[type]:
        return frozenset(self._watched)

    async def drop(self, kind: type) -> None:
        """Watch it no longer. What was delivered stays."""
        self._watched.discard(kind)
        await self._factory.drop(kind)

    def _add(self, kind: type) -> None:
        self._watched.add(kind)
        selection = self._selections.get(kind, EVERYTHING)._asdict()
        if kind is Pod:
            selection = {"field_selector": NON_TERMINAL_PODS}
        feed = feed_of(kind, self._handlers, self._clock, self._durations, self._features)
        self._factory.informer(kind, **selection).add_handler(feed)

    @property
    def sync_problem(self) -> str | None:
        """Why `/readyz/sched-handler-sync` fails."""
        return None if self.has_synced else "handlers are not fully synchronized"

    async def stop(self) -> None:
        await self._factory.stop()
