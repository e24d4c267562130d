"""The lock of leader election: a Lease that names its holder (client-go's LeaseLock)."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kubesched.client.paths import collection_path, object_path
from kubesched.client.rest import RestClient
from kubesched.errors import IllegalTransitionError, TransportError
from kubesched.objects import KIND_OF, Lease, convert, encode, to_builtins
from kubesched.objects.base import MicroTime
from kubesched.objects.meta import ObjectReference

_LEASE: Final = KIND_OF[Lease]


class LeaderRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds the lock, and since when. An empty holder has released it."""

    holder: str = ""
    lease_seconds: int = 0
    acquire_time: MicroTime | None = None
    renew_time: MicroTime | None = None
    transitions: int = 0
    strategy: str = ""
    """How the API server chooses among candidates, if it does."""
    preferred_holder: str = ""
    """Who shall lead next: the term of today's holder ends."""


class LeaseLock:
    """Reads and writes the record. The whole Lease is kept as it came, so that a write loses no field of it.

    Calls are not retried here: the elector has its own pace. Give it a client with a time limit well below
    the renew deadline (client-go takes half of it).
    """

    def __init__(self, rest: RestClient, *, namespace: str, name: str, identity: str) -> None:
        self._rest = rest
        self._namespace = namespace
        self._name = name
        self._lease: dict[str, Any] | None = None
        self.identity = identity

    def __str__(self) -> str:
        return f"{self._namespace}/{self._name}"

    async def get(self) -> LeaderRecord:
        """ApiStatusError 404 where there is no Lease yet."""
        path = object_path(_LEASE, self._name, self._namespace)
        return self._keep(await self._rest.call("GET", path, retries=0))

    async def create(self, record: LeaderRecord) -> None:
        manifest = {
            "apiVersion": _LEASE.api_version,
            "kind": _LEASE.name,
            "metadata": {"name": self._name, "namespace": self._namespace},
            "spec": _spec(record),
        }
        path = collection_path(_LEASE, self._namespace)
        self._keep(await self._rest.call("POST", path, body=encode(manifest), retries=0))

    async def update(self, record: LeaderRecord) -> None:
        """Write over the Lease that was read last; 409 Conflict if somebody else wrote in between."""
        if self._lease is None:
            raise IllegalTransitionError("update", f"lease {self}", "get or create it first")
        path = object_path(_LEASE, self._name, self._namespace)
        body = encode({**self._lease, "spec": _spec(record)})
        self._keep(await self._rest.call("PUT", path, body=body, retries=0))

    def reference(self) -> ObjectReference:
        """The Lease as the subject of an event."""
        metadata = (self._lease or {}).get("metadata", {})
        return ObjectReference(
            api_version=_LEASE.api_version,
            kind=_LEASE.name,
            namespace=self._namespace,
            name=self._name,
            uid=metadata.get("uid", ""),
            resource_version=metadata.get("resourceVersion", ""),
        )

    def _keep(self, body: bytes) -> LeaderRecord:
        try:
            lease = msgspec.json.decode(body, type=dict[str, Any])
        except msgspec.MsgspecError as error:
            raise TransportError(f"lease {self} does not decode: {error}") from error
        spec = convert(lease, Lease).spec
        self._lease = lease
        return LeaderRecord(
            holder=spec.holder_identity,
            lease_seconds=spec.lease_duration_seconds or 0,
            acquire_time=spec.acquire_time,
            renew_time=spec.renew_time,
            transitions=spec.lease_transitions or 0,
            strategy=spec.strategy,
            preferred_holder=spec.preferred_holder,
        )


def _spec(record: LeaderRecord) -> dict[str, Any]:
    coordinated = {"strategy": record.strategy, "preferredHolder": record.preferred_holder}
    return {
        "holderIdentity": record.holder,
        "leaseDurationSeconds": record.lease_seconds,
        "acquireTime": to_builtins(record.acquire_time),
        "renewTime": to_builtins(record.renew_time),
        "leaseTransitions": record.transitions,
        **{name: value for name, value in coordinated.items() if value},
    }
