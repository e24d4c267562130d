"""Heartbeats: a node's Lease in kube-node-lease, renewed every few seconds."""

from __future__ import annotations

from typing import Final

from kubesched.clock import utc
from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.records import NodeRecord
from kubesched.errors import RequestRefusedError

NAMESPACE: Final = "kube-node-lease"
DURATION: Final = 40  # nodeLeaseDurationSeconds


class NodeLeases:
    def __init__(self, api: Api) -> None:
        self._api = api
        self._leases = api.catalog.named("leases.coordination.k8s.io")

    def renew(self, node: NodeRecord) -> None:
        """Renew the node's lease, or make it. Without the checks of a stranger's write: there are many of these."""
        name = node.metadata.name
        found = self._api.reader.bucket(self._leases).get(NAMESPACE, name)
        if found is None:
            self._create(node)
            return
        lease = found.decode()
        lease["spec"]["renewTime"] = self._now()
        self._api.writer.replace(self._leases, found, {}, lease)

    def remove(self, node: str) -> None:
        try:
            self._api.delete(self._leases, node, NAMESPACE)
        except RequestRefusedError as refusal:
            if refusal.code != 404:
                raise

    def _create(self, node: NodeRecord) -> None:
        metadata = node.metadata
        owner = {"apiVersion": "v1", "kind": "Node", "name": metadata.name, "uid": metadata.uid}
        spec = {"holderIdentity": metadata.name, "leaseDurationSeconds": DURATION, "renewTime": self._now()}
        lease = {"metadata": {"name": metadata.name, "ownerReferences": [owner]}, "spec": spec}
        self._api.create(self._leases, lease, NAMESPACE)

    def _now(self) -> str:
        return utc(self._api.clock).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
