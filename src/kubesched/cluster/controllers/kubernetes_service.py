"""The service default/kubernetes: it and its endpoints come back after a deletion, as kube-apiserver sees to it."""

from __future__ import annotations

import copy
from typing import Any, Final

from kubesched.cluster.apiserver.bootstrap import KUBERNETES_SERVICE, ensure
from kubesched.cluster.controllers.endpoint_slices import SERVICE_NAME
from kubesched.cluster.controllers.world import World
from kubesched.cluster.observed import HasMetadata, Observed
from kubesched.objects.base import Json

NAME: Final = "kubernetes-service"
NAMESPACE: Final = "default"
SERVICE: Final = "kubernetes"
ADDRESS: Final = "172.16.0.1"  # beside those of the nodes; like these, for show only
PORT: Final = {"name": "https", "port": 6443, "protocol": "TCP"}
ENDPOINTS: Final[Json] = {
    "metadata": {"name": SERVICE, "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
    "subsets": [{"addresses": [{"ip": ADDRESS}], "ports": [PORT]}],
}
SLICE: Final[Json] = {
    "metadata": {"name": SERVICE, "labels": {SERVICE_NAME: SERVICE}},
    "addressType": "IPv4",
    "ports": [PORT],
    "endpoints": [{"addresses": [ADDRESS], "conditions": {"ready": True}}],
}


class KubernetesServiceController:
    def __init__(self, world: World) -> None:
        self._world = world
        world.services.listen(self._changed)
        world.endpoints.listen(self._changed)
        world.endpoint_slices.listen(self._changed)

    def reconcile(self, namespace: str, name: str) -> None:
        """The service is not corrected, only made again; its endpoints are both."""
        ensure(self._world.api, "services", KUBERNETES_SERVICE, namespace)
        self._settle(self._world.endpoints, ENDPOINTS)
        self._settle(self._world.endpoint_slices, SLICE)

    def _settle(self, observed: Observed[Any], wanted: Json) -> None:
        found = observed.get(SERVICE, NAMESPACE)
        if found is None:
            ensure(self._world.api, observed.resource.qualified, wanted, NAMESPACE)
            return

        def change(value: Json) -> None:
            metadata = {**value["metadata"], "labels": wanted["metadata"]["labels"]}
            value.update(copy.deepcopy(wanted), metadata=metadata)

        self._world.change(observed.resource, found.metadata, change)

    def _changed(self, old: HasMetadata | None, new: HasMetadata | None) -> None:
        item = new or old
        assert item is not None
        if (item.metadata.namespace, item.metadata.name) == (NAMESPACE, SERVICE):
            self._world.enqueue(NAME, item.metadata)
