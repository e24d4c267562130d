"""What the scheduler of the embedded cluster says about itself in kube-system, as schedulers of real clusters do.

Its lease, so that another scheduler of that name stands by; and its configuration in a ConfigMap, for people and for
`kubesched explain`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import msgspec

from kubesched.apps.inputs.scheduler_policy import FLAGS, SYSTEM
from kubesched.client.rest import RestClient
from kubesched.clock import Clock, utc
from kubesched.errors import ClientError
from kubesched.telemetry.logging import log

NAME: Final = "kube-scheduler"
APPLY: Final = "application/apply-patch+yaml"
LEASE_SECONDS: Final = 15
RENEW_SECONDS: Final = 5.0


class Announcement:
    """Keeps both up to date until it is cancelled; what cannot be written is tried again with the next renewal."""

    def __init__(
        self, rest: RestClient, clock: Clock, *, identity: str, flags: str, configuration: Callable[[], str]
    ) -> None:
        """`configuration` is the text of the one that decides now."""
        self._rest = rest
        self._clock = clock
        self._identity = identity
        self._flags = flags
        self._configuration = configuration
        self._since = utc(clock)
        self._published = ""

    async def run(self) -> None:
        while True:
            try:
                await self.publish()
            except (ClientError, OSError) as error:
                log.info("The scheduler's lease or configuration was not written", v=2, err=error)
            await self._clock.sleep(RENEW_SECONDS)

    async def publish(self) -> None:
        """The lease, renewed; the configuration, if it has changed."""
        spec = {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": LEASE_SECONDS,
            "acquireTime": _micro_time(self._since),
            "renewTime": _micro_time(utc(self._clock)),
            "leaseTransitions": 0,
        }
        await self._apply("coordination.k8s.io/v1", "Lease", {"spec": spec})
        text = self._configuration()
        if text != self._published:
            data = {"config.yaml": text, **({FLAGS: self._flags} if self._flags else {})}
            await self._apply("v1", "ConfigMap", {"data": data})
            self._published = text

    async def _apply(self, api_version: str, kind: str, fields: dict[str, Any]) -> None:
        root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        path = f"{root}/namespaces/{SYSTEM}/{kind.lower()}s/{NAME}"
        manifest = {"apiVersion": api_version, "kind": kind, "metadata": {"name": NAME, "namespace": SYSTEM}, **fields}
        query = "fieldManager=kube-scheduler&force=true"
        await self._rest.call("PATCH", path, query=query, body=msgspec.json.encode(manifest), content_type=APPLY)


def _micro_time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
