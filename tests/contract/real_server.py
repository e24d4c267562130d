"""A real etcd and kube-apiserver on loopback, for recording and for comparison."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from tests.contract.harness import Client
from tests.e2e.processes import free_port
from tools.controlplane.install import cache_folder

TOKEN: Final = "contract"


def find_assets() -> Path | None:
    """Where etcd and kube-apiserver are, or None."""
    for place in (os.environ.get("KUBEBUILDER_ASSETS"), str(cache_folder())):
        if place and all(Path(place, name).exists() for name in ("etcd", "kube-apiserver")):
            return Path(place)
    return None


@contextlib.contextmanager
def running(assets: Path, directory: Path) -> Iterator[str]:
    """The address of a kube-apiserver that takes `TOKEN`; both programs end with the context."""
    etcd_port, peer_port, port = free_port(), free_port(), free_port()
    etcd = [
        str(assets / "etcd"),
        f"--data-dir={directory / 'etcd'}",
        f"--listen-client-urls=http://127.0.0.1:{etcd_port}",
        f"--advertise-client-urls=http://127.0.0.1:{etcd_port}",
        f"--listen-peer-urls=http://127.0.0.1:{peer_port}",
        "--unsafe-no-fsync",
    ]
    (directory / "tokens.csv").write_text(f"{TOKEN},kubernetes-admin,admin,system:masters\n")
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (directory / "sa.key").write_bytes(key.private_bytes(encoding, form, serialization.NoEncryption()))
    apiserver = [
        str(assets / "kube-apiserver"),
        f"--etcd-servers=http://127.0.0.1:{etcd_port}",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        f"--cert-dir={directory / 'certificates'}",
        f"--token-auth-file={directory / 'tokens.csv'}",
        "--authorization-mode=AlwaysAllow",
        "--anonymous-auth=false",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={directory / 'sa.key'}",
        f"--service-account-signing-key-file={directory / 'sa.key'}",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--feature-gates=GenericWorkload=true",
        "--runtime-config=scheduling.k8s.io/v1beta1=true,scheduling.k8s.io/v1alpha3=true,resource.k8s.io/v1beta2=true",
        # The embedded cluster has none of the controllers that would undo what these plugins do.
        "--disable-admission-plugins=ServiceAccount,StorageObjectInUseProtection,TaintNodesByCondition",
        "--enable-priority-and-fairness=false",
    ]
    with _process(etcd, directory / "etcd.log"), _process(apiserver, directory / "apiserver.log"):
        address = f"https://127.0.0.1:{port}"
        _wait_ready(address)
        yield address


@contextlib.contextmanager
def _process(command: list[str], log: Path) -> Iterator[None]:
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait_ready(address: str) -> None:
    for _ in range(240):
        client = Client(address, TOKEN)
        try:
            if client.send("GET", "/readyz")[0] == 200 and client.send("GET", "/api/v1/namespaces/default")[0] == 200:
                return
        except OSError:
            pass
        finally:
            client.close()
        time.sleep(0.25)  # noqa: TID251 waits for another program
    raise TimeoutError(f"kube-apiserver at {address} did not become ready")
