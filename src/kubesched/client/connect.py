"""From a kubeconfig, or from a pod's service account, to a `Connection`."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from kubesched.client.authorities import AuthorityFile, checked_certificates
from kubesched.client.connection import Connection, Impersonation, TLSOptions
from kubesched.client.credentials import (
    Credential,
    CredentialSource,
    FileCredentials,
    FixedCredentials,
    basic,
    bearer,
)
from kubesched.client.exec_credentials import ExecCredentials, ExecObserver
from kubesched.client.kubeconfig import Cluster, Kubeconfig, User
from kubesched.clock import Clock
from kubesched.errors import ConfigurationError

SERVICE_ACCOUNT_FOLDER: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
PROXY_SCHEMES: Final = ("http", "https", "socks5")
_CLUSTER_EXTENSION: Final = "client.authentication.k8s.io/exec"


def from_kubeconfig(
    config: Kubeconfig,
    clock: Clock,
    *,
    context: str = "",
    server_override: str = "",
    observer: ExecObserver | None = None,
) -> Connection:
    """The connection of a context. `server_override` is `--master`: it replaces the server's URL only."""
    cluster, user, chosen = config.select(context)
    where = ", ".join(config.files) or "kubeconfig"
    server = (server_override or cluster.server).rstrip("/")
    problems = [f"{where}: {problem}" for problem in _problems(cluster, user, server, chosen.cluster, chosen.user)]
    if problems:
        raise ConfigurationError(problems)
    if urlsplit(server).scheme != "https":  # as client-go: credentials never travel in the clear
        return Connection(server=server, proxy_url=cluster.proxy_url, compress=not cluster.disable_compression)
    data, file = _authorities(cluster, f'{where}: cluster "{chosen.cluster}"', clock)
    tls = TLSOptions(
        ca_pem=data,
        ca_file=file,
        insecure=cluster.insecure_skip_tls_verify,
        server_name=cluster.tls_server_name,
    )
    try:
        credentials = _credentials(user, cluster, tls, clock, observer)
    except ConfigurationError as error:
        raise ConfigurationError([f'{where}: user "{chosen.user}": {line}' for line in error.problems]) from error
    return Connection(
        server=server,
        tls=tls,
        proxy_url=cluster.proxy_url,
        compress=not cluster.disable_compression,
        impersonate=_impersonation(user),
        credentials=credentials,
    )


def in_cluster(
    clock: Clock, *, environ: Mapping[str, str] = os.environ, folder: Path = SERVICE_ACCOUNT_FOLDER
) -> Connection:
    """The API server of the cluster that this process runs in, as the pod's service account."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise ConfigurationError(
            [
                "unable to load in-cluster configuration, "
                "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined"
            ]
        )
    if ":" in host:
        host = f"[{host}]"
    return Connection(
        server=f"https://{host}:{port}",
        tls=TLSOptions(ca_file=AuthorityFile(folder / "ca.crt", clock)),
        credentials=FileCredentials(clock, token_file=folder / "token"),
    )


def _problems(cluster: Cluster, user: User, server: str, cluster_name: str, user_name: str) -> list[str]:
    problems = []
    if not server:
        problems.append(f'no server found for cluster "{cluster_name}"')
    if cluster.insecure_skip_tls_verify and (cluster.certificate_authority or cluster.certificate_authority_data):
        problems.append(
            f'cluster "{cluster_name}": specifying a root certificates file with the insecure flag is not allowed'
        )
    if cluster.proxy_url and (scheme := urlsplit(cluster.proxy_url).scheme) not in PROXY_SCHEMES:
        problems.append(  # the HTTP library would go past it, straight to the server
            f'invalid proxy-url "{cluster.proxy_url}" for cluster "{cluster_name}": '
            f'unsupported scheme "{scheme}", must be http, https, or socks5'
        )
    if user.token and (user.username or user.password):
        problems.append(
            f'more than one authentication method found for user "{user_name}"; '
            "found [token basicAuth], only one is allowed"
        )
    has_certificate = bool(user.client_certificate or user.client_certificate_data)
    if has_certificate and not (user.client_key or user.client_key_data):
        problems.append(
            f'client-key-data or client-key must be specified for user "{user_name}" '
            "to use the clientCert authentication method"
        )
    if user.auth_provider is not None:
        problems.append(f'user "{user_name}": auth-provider is not supported; use an exec plugin')
    if not user.impersonate and (user.impersonate_uid or user.impersonate_groups or user.impersonate_extra):
        problems.append(f'requesting uid, groups or user-extra for user "{user_name}" without impersonating a user')
    return problems


def _authorities(cluster: Cluster, where: str, clock: Clock) -> tuple[bytes, AuthorityFile | None]:
    """As data, or in a file that is followed: data wins."""
    if cluster.certificate_authority_data:
        data = checked_certificates(cluster.certificate_authority_data, f"{where}: certificate-authority-data")
        return data, None
    if not cluster.certificate_authority:
        return b"", None
    try:
        return b"", AuthorityFile(Path(cluster.certificate_authority), clock)
    except ConfigurationError as error:
        raise ConfigurationError([f"{where}: certificate-authority: {error}"]) from error


def _credentials(
    user: User, cluster: Cluster, tls: TLSOptions, clock: Clock, observer: ExecObserver | None
) -> CredentialSource:
    plugin = None
    if user.exec is not None:  # checked even where it is not asked
        plugin = ExecCredentials(user.exec, clock, cluster=_cluster_info(cluster, tls), observer=observer)
    # A token, a password or a certificate of the user's own is all that is sent (exec's UpdateTransportConfig).
    return _own_credentials(user, clock) or plugin or FixedCredentials()


def _own_credentials(user: User, clock: Clock) -> CredentialSource | None:
    """Token, password and certificate of a kubeconfig's user, as far as there are any."""
    authorization = bearer(user.token)
    if user.username or user.password:
        authorization = basic(user.username, user.password)
    # Data wins over files, part by part; a token file wins over the token, which it keeps fresh.
    in_data, in_files = [], {"token_file": user.token_file}
    if user.client_certificate or user.client_certificate_data:  # a key alone is nothing
        in_data = [part for part in (user.client_certificate_data, user.client_key_data) if part]
        in_files["certificate_file"] = user.client_certificate if not user.client_certificate_data else ""
        in_files["key_file"] = user.client_key if not user.client_key_data else ""
    fixed = Credential(authorization=authorization, client_pem=b"\n".join(in_data))
    if any(in_files.values()):
        return FileCredentials(clock, fixed=fixed, **{name: Path(path) for name, path in in_files.items() if path})
    return FixedCredentials(fixed) if fixed != Credential() else None


def _cluster_info(cluster: Cluster, tls: TLSOptions) -> dict[str, Any]:
    """`spec.cluster` of the ExecCredential that a plugin is given."""
    config = next((entry.extension for entry in cluster.extensions if entry.name == _CLUSTER_EXTENSION), None)
    info = {
        "server": cluster.server,
        "tls-server-name": tls.server_name,
        "insecure-skip-tls-verify": tls.insecure,
        "certificate-authority-data": base64.b64encode(tls.authorities()).decode(),
        "proxy-url": cluster.proxy_url,
        "disable-compression": cluster.disable_compression,
    }
    return {**{name: value for name, value in info.items() if value}, "config": config}


def _impersonation(user: User) -> Impersonation | None:
    if not user.impersonate:
        return None
    return Impersonation(
        user=user.impersonate,
        uid=user.impersonate_uid,
        groups=user.impersonate_groups,
        extra=user.impersonate_extra,
    )
