"""The service default/kubernetes: it and its endpoints come back after a deletion, as kube-apiserver sees to it."""

from __future__ import annotations

import copy
from typing import Any, Final

from kubesched.cluster.apiserver.bootstrap import KUBERNETES_SERVICE, ensure
from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.controllers.endpoint_slices import SERVICE_NAME
from kubesched.cluster.informer import HasMetadata, Informer
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
    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        context.services.listen(self._changed)
        context.endpoints.listen(self._changed)
        context.endpoint_slices.listen(self._changed)

    def reconcile(self, namespace: str, name: str) -> None:
        """The service is not corrected, only made again; its endpoints are both."""
        ensure(self._context.api, "services", KUBERNETES_SERVICE, namespace)
        self._settle(self._context.endpoints, ENDPOINTS)
        self._settle(self._context.endpoint_slices, SLICE)

    def _settle(self, informer: Informer[Any], wanted: Json) -> None:
        found = informer.get(SERVICE, NAMESPACE)
        if found is None:
            ensure(self._context.api, informer.resource.qualified, wanted, NAMESPACE)
            return

        def change(value: Json) -> None:
            metadata = {**value["metadata"], "labels": wanted["metadata"]["labels"]}
            value.update(copy.deepcopy(wanted), metadata=metadata)

        self._context.change(informer.resource, found.metadata, change)

    def _changed(self, old: HasMetadata | None, new: HasMetadata | None) -> None:
        item = new or old
        assert item is not None
        if (item.metadata.namespace, item.metadata.name) == (NAMESPACE, SERVICE):
            self._context.enqueue(NAME, item.metadata)
