"""A plain client for tests: JSON in, JSON out, as the cluster's administrator."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, LifoQueue
from typing import Any
from urllib.parse import urlsplit

from tests.e2e.processes import PATIENCE
from tools.controlplane.install import chosen

from kubesched.objects.base import Json

# kind → (API version, plural, whether it lives in a namespace)
KINDS: dict[str, tuple[str, str, bool]] = {
    "Namespace": ("v1", "namespaces", False),
    "Node": ("v1", "nodes", False),
    "Pod": ("v1", "pods", True),
    "Event": ("events.k8s.io/v1", "events", True),
    "Lease": ("coordination.k8s.io/v1", "leases", True),
    "LeaseCandidate": ("coordination.k8s.io/v1beta1", "leasecandidates", True),
    "ServiceAccount": ("v1", "serviceaccounts", True),
    "PersistentVolume": ("v1", "persistentvolumes", False),
    "PersistentVolumeClaim": ("v1", "persistentvolumeclaims", True),
    "StorageClass": ("storage.k8s.io/v1", "storageclasses", False),
    "PodGroup": (
        "scheduling.k8s.io/v1beta1" if chosen() != "1.36" else "scheduling.k8s.io/v1alpha2",
        "podgroups",
        True,
    ),
    "PriorityClass": ("scheduling.k8s.io/v1", "priorityclasses", False),
    "PodDisruptionBudget": ("policy/v1", "poddisruptionbudgets", True),
    "ClusterRoleBinding": ("rbac.authorization.k8s.io/v1", "clusterrolebindings", False),
    "DeviceClass": ("resource.k8s.io/v1", "deviceclasses", False),
    "DeviceTaintRule": (
        "resource.k8s.io/v1" if chosen() != "1.36" else "resource.k8s.io/v1beta2",
        "devicetaintrules",
        False,
    ),
    "ResourceClaim": ("resource.k8s.io/v1", "resourceclaims", True),
    "ResourceSlice": ("resource.k8s.io/v1", "resourceslices", False),
    "RoleBinding": ("rbac.authorization.k8s.io/v1", "rolebindings", True),
}


class ApiError(Exception):
    """The server said no."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        super().__init__(f"{code}: {message}")


class ApiClient:
    """Keeps connections open; a request on one that broke meanwhile is sent again once."""

    def __init__(
        self, server: str, *, pair: tuple[Path, Path] | None = None, token: str = "", ca: Path | None = None
    ) -> None:
        """Known by a certificate and its key, or by a token. Without a `ca` the server is not verified."""
        self._address = urlsplit(server).netloc
        self._context = ssl.create_default_context(cafile=ca)
        if ca is None:
            self._context.check_hostname = False
            self._context.verify_mode = ssl.CERT_NONE
        if pair is not None:
            self._context.load_cert_chain(*pair)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._idle: LifoQueue[http.client.HTTPSConnection] = LifoQueue()

    def create(self, manifest: Json) -> Json:
        metadata = manifest["metadata"]
        path = path_of(manifest["kind"], namespace=metadata.get("namespace", "default"))
        return self.call("POST", path, {"apiVersion": KINDS[manifest["kind"]][0], **manifest})

    def create_all(self, manifests: Iterable[Json]) -> None:
        """Many at once."""
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(self.create, manifests))

    def get(self, kind: str, name: str, namespace: str = "default") -> Json:
        return self.call("GET", path_of(kind, name, namespace))

    def list(self, kind: str, namespace: str = "default") -> list[Json]:
        items: list[Json] = self.call("GET", path_of(kind, namespace=namespace))["items"]
        return items

    def node_of(self, pod: str, namespace: str = "default") -> str:
        """Where a pod was bound to; empty while it is not."""
        name: str = self.get("Pod", pod, namespace)["spec"].get("nodeName", "")
        return name

    def placements(self, namespace: str = "default") -> dict[str, str]:
        """Where every bound pod is."""
        pods = self.list("Pod", namespace)
        return {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")}

    def patch(self, kind: str, name: str, patch: Json, namespace: str = "default", subresource: str = "") -> Json:
        path = path_of(kind, name, namespace) + (f"/{subresource}" if subresource else "")
        return self.call("PATCH", path, patch, content_type="application/merge-patch+json")

    def delete(self, kind: str, name: str, namespace: str = "default") -> None:
        """At once, without a grace period: there is no kubelet to wait for."""
        try:
            self.call("DELETE", path_of(kind, name, namespace), {"gracePeriodSeconds": 0})
        except ApiError as error:
            if error.code != 404:
                raise

    def delete_all(self, kind: str, namespace: str = "default") -> None:
        """Of many, what is left when the server's time is up is deleted by another request."""
        while True:
            try:
                self.call("DELETE", path_of(kind, namespace=namespace), {"gracePeriodSeconds": 0})
            except ApiError as error:
                if error.code != 504:
                    raise
            else:
                return

    def call(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Json:
        data = json.dumps(body).encode() if body is not None else None
        headers = {**self._headers, "Content-Type": content_type} if data else self._headers
        try:
            connection = self._idle.get_nowait()
        except Empty:
            connection = http.client.HTTPSConnection(self._address, context=self._context, timeout=PATIENCE)
        try:
            status, text = _send(connection, method, path, data, headers)
        except (http.client.HTTPException, OSError):
            connection.close()  # http.client opens it again
            try:
                status, text = _send(connection, method, path, data, headers)
            except BaseException:
                connection.close()
                raise
        self._idle.put(connection)
        if status >= 300:
            raise ApiError(status, text.decode(errors="replace")[:500])
        answer: Json = json.loads(text) if text.startswith(b"{") else {"text": text.decode()}
        return answer

    def close(self) -> None:
        while not self._idle.empty():
            self._idle.get().close()


def _send(
    connection: http.client.HTTPSConnection, method: str, path: str, data: bytes | None, headers: dict[str, str]
) -> tuple[int, bytes]:
    connection.request(method, path, data, headers)
    response = connection.getresponse()
    return response.status, response.read()


def path_of(kind: str, name: str = "", namespace: str = "default") -> str:
    version, plural, is_namespaced = KINDS[kind]
    root = "/apis" if "/" in version else "/api"
    place = f"/namespaces/{namespace}" if is_namespaced and namespace else ""
    return f"{root}/{version}{place}/{plural}" + (f"/{name}" if name else "")
