"""What the scenarios need of a cluster, and the real one: etcd and kube-apiserver, with RBAC."""

from __future__ import annotations

import base64
import json
import os
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any, Protocol

import yaml
from tests.e2e.api_client import ApiClient
from tests.e2e.certificates import Authority, TokenSigner
from tests.e2e.processes import PATIENCE, Process, eventually, free_port
from tools.controlplane.install import chosen

SCHEDULER_USER = "system:kube-scheduler"
ISSUER = "https://kubernetes.default.svc"
READER = "reader"
"""A user who must not write anything: whatever is written in its name is noted."""
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "Metadata", "verbs": ["create"], "resources": [{"group": "", "resources": ["pods/binding"]}]},
        {"level": "Metadata", "users": [READER], "verbs": ["create", "update", "patch", "delete", "deletecollection"]},
        {
            "level": "Metadata",
            "users": [SCHEDULER_USER],
            "verbs": ["create", "update", "patch", "delete"],
            "resources": [
                {"group": "", "resources": ["pods/status", "pods"]},
                {"group": "coordination.k8s.io", "resources": ["leases"]},
            ],
        },
        {"level": "None"},
    ],
}
# What schedulers with these gates read is kept by an API server only if it has them, too.
OF_VERSION = {
    "1.36": (("GangScheduling", "WorkloadAwarePreemption"), ("scheduling.k8s.io/v1alpha2", "resource.k8s.io/v1beta2")),
    "1.37": ((), ("scheduling.k8s.io/v1beta1",)),
}
"""By minor version: gates and API versions that only it has."""
API_GATES = (
    *OF_VERSION[chosen()][0],
    "GenericWorkload",
    "CoordinatedLeaderElection",
    "DRADeviceTaintRules",
    "DRAListTypeAttributes",
    "DRANodeAllocatableResources",
    "DRAWorkloadResourceClaims",
)
API_VERSIONS = (*OF_VERSION[chosen()][1], "coordination.k8s.io/v1beta1")
# ServiceAccount wants controllers that make accounts; TaintNodesByCondition a kubelet that reports a node ready.
WITHOUT_ADMISSION = "ServiceAccount,TaintNodesByCondition"


class ControlPlane(Protocol):
    """A cluster without nodes, controllers and scheduler: the real one, or the embedded one."""

    folder: Path
    server: str
    admin: ApiClient

    def kubeconfig(self, user: str, credentials: dict[str, Any] | None = None) -> Path:
        """A kubeconfig of a user: with a certificate of that name, or with other credentials."""
        ...

    def stop(self) -> None: ...


class RealControlPlane:
    """Starts in its constructor; `stop` ends it."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self.folder = folder
        self._programs = programs
        self._authority = Authority(folder / "pki")
        self.tokens = TokenSigner(folder / "pki", ISSUER)
        self._serving = self._authority.issue("kube-apiserver", serves=True)
        self._port, self._etcd_port = free_port(), free_port()
        self.server = f"https://127.0.0.1:{self._port}"
        self._audit_log = folder / "audit.log"
        self._audit_start = 0
        (folder / "audit-policy.yaml").write_text(yaml.safe_dump(AUDIT_POLICY))
        self._admin_pair = certificate, key = self._authority.issue("admin", groups=("system:masters",))
        self.admin = ApiClient(self.server, ca=self._authority.file, pair=self._admin_pair)
        self.admin_kubeconfig = self.kubeconfig(
            "admin", {"client-certificate": str(certificate), "client-key": str(key)}
        )
        self._etcd = self._start_etcd()
        self._api_server: Process | None = None
        self.start_api_server()

    def stop(self) -> None:
        self.kill_api_server()
        self._etcd.kill()
        self.admin.close()

    def start_api_server(self, **more: object) -> None:
        """With `more` flags, written with underscores."""
        certificate, key = self._serving
        flags: dict[str, object] = {
            "etcd-servers": f"http://127.0.0.1:{self._etcd_port}",
            "bind-address": "127.0.0.1",
            "advertise-address": "127.0.0.1",
            "endpoint-reconciler-type": "none",  # it would refuse an address of the loopback range
            "secure-port": self._port,
            "cert-dir": self.folder / "pki",
            "tls-cert-file": certificate,
            "tls-private-key-file": key,
            "client-ca-file": self._authority.file,
            "authorization-mode": "RBAC",
            "disable-admission-plugins": WITHOUT_ADMISSION,
            "service-account-issuer": ISSUER,
            "service-account-key-file": self.tokens.public_file,
            "service-account-signing-key-file": self.tokens.private_file,
            "service-cluster-ip-range": "10.0.0.0/24",
            "audit-policy-file": self.folder / "audit-policy.yaml",
            "audit-log-path": self._audit_log,
            "feature-gates": ",".join(f"{gate}=true" for gate in API_GATES),
            "runtime-config": ",".join(f"{version}=true" for version in API_VERSIONS),
            "event-ttl": "1h",
            **{name.replace("_", "-"): value for name, value in more.items()},
        }
        self._api_server = self._start("kube-apiserver", flags)
        eventually(self._is_ready, "kube-apiserver is ready")

    def kill_api_server(self) -> None:
        if self._api_server is not None:
            self._api_server.kill()
            self._api_server = None

    def program(self, name: str) -> Path | None:
        """Another program that came with these; None where it did not."""
        file = self._programs / name
        return file if file.exists() else None

    def compact(self) -> None:
        """Make etcd forget every version but the newest."""
        newest = self._etcd_call("/v3/kv/range", {"key": "AA=="})["header"]["revision"]
        self._etcd_call("/v3/kv/compaction", {"revision": newest, "physical": True})

    def put(self, objects: dict[str, dict[str, Any]]) -> None:
        """Store objects by their keys in etcd, in one transaction: a large cluster in no time."""
        puts = [
            {"requestPut": {"key": _base64(key.encode()), "value": _base64(json.dumps(value).encode())}}
            for key, value in objects.items()
        ]
        self._etcd_call("/v3/kv/txn", {"success": puts})

    def kubeconfig(self, user: str, credentials: dict[str, Any] | None = None) -> Path:
        if credentials is None:
            certificate, key = self._authority.issue(user)
            credentials = {"client-certificate": str(certificate), "client-key": str(key)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": "e2e", "cluster": {"server": self.server, "certificate-authority": str(self._authority.file)}}
            ],
            "users": [{"name": user, "user": credentials}],
            "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": user}}],
            "current-context": "e2e",
        }
        file = self.folder / f"{user.replace(':', '-')}.kubeconfig"
        file.write_text(yaml.safe_dump(config))
        return file

    def replica_kubeconfig(self, name: str) -> Path:
        """The scheduler's user in a group of this name: so the audit log tells replicas apart."""
        files = self._authority.issue(SCHEDULER_USER, groups=(name,))
        certificate, key = (file.rename(file.with_stem(name)) for file in files)
        config = self.kubeconfig(SCHEDULER_USER, {"client-certificate": str(certificate), "client-key": str(key)})
        return config.rename(config.with_stem(name))

    def client(self, server: str) -> ApiClient:
        """The administrator's client for another server that takes certificates of this cluster."""
        return ApiClient(server, pair=self._admin_pair)

    def kubectl(self, *arguments: str) -> str:
        """What kubectl says, as the administrator."""
        log = self.folder / "kubectl.log"
        log.unlink(missing_ok=True)
        command = [str(self._programs / "kubectl"), f"--kubeconfig={self.admin_kubeconfig}", *arguments]
        process = Process(command, log, {**clean_environment(), "HOME": str(self.folder)})
        assert process.wait() == 0, process.log
        return process.log

    def bindings(self) -> Counter[str]:
        """How often each pod (`namespace/name`) was bound with success, by what the API server noted."""
        writes = [write for write in self.writes() if write["responseStatus"]["code"] == 201]
        bound = [write["objectRef"] for write in writes if write["objectRef"].get("subresource") == "binding"]
        return Counter(f"{pod['namespace']}/{pod['name']}" for pod in bound)

    def writes_of(self, user: str) -> list[str]:
        """What this user asked the API server to change, allowed or not. Only those of READER are noted in full."""
        return [entry["requestURI"] for entry in self.writes() if entry["user"]["username"] == user]

    def writes(self) -> list[dict[str, Any]]:
        """The audit log's entries, in order: what schedulers wrote about pods and leases, or tried to, among others."""
        noted = self._audit_log.read_bytes()[self._audit_start :] if self._audit_log.exists() else b""
        return [json.loads(line) for line in noted.splitlines() if line.endswith(b"}")]

    def forget_bindings(self) -> None:
        """Start counting again."""
        self._audit_start = self._audit_log.stat().st_size if self._audit_log.exists() else 0

    def _start_etcd(self) -> Process:
        url, peer = (f"http://127.0.0.1:{port}" for port in (self._etcd_port, free_port()))
        flags: dict[str, object] = {
            "data-dir": self.folder / "etcd",
            "listen-client-urls": url,
            "advertise-client-urls": url,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"default={peer}",
            "unsafe-no-fsync": "true",
        }
        return self._start("etcd", flags)

    def _start(self, program: str, flags: dict[str, object]) -> Process:
        arguments = [f"--{name}={value}" for name, value in flags.items()]
        return Process([str(self._programs / program), *arguments], self.folder / f"{program}.log")

    def _etcd_call(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(f"http://127.0.0.1:{self._etcd_port}{path}", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            answer: dict[str, Any] = json.load(response)
            return answer

    def _is_ready(self) -> bool:
        assert self._api_server is not None
        assert self._api_server.is_running, self._api_server.log[-2000:]
        try:
            self.admin.call("GET", "/readyz")
            self.admin.get("Namespace", "default")
            self.admin.call("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:kube-scheduler")
        except Exception:  # not yet: connection refused, TLS not up, 403, 500
            return False
        return True


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def clean_environment() -> dict[str, str]:
    """The variables that a process of ours gets: none that leads to another cluster."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("KUBE", "KUBERNETES_"))}
