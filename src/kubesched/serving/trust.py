"""Whose client certificates count: flags, or the cluster's own `extension-apiserver-authentication` ConfigMap."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature

from kubesched.errors import ConfigurationError, KubeschedError
from kubesched.telemetry.logging import log

CONFIG_MAP_NAMESPACE: Final = "kube-system"
CONFIG_MAP_NAME: Final = "extension-apiserver-authentication"
LOOK_UP_SECONDS: Final = 10.0
"""For the API server to answer (DelegatingAuthenticationOptions.ClientTimeout): nothing is served before it has."""

ConfigMapReader = Callable[[], Awaitable[Mapping[str, str]]]
"""Reads the ConfigMap's data; raises kubesched.errors.ClientError."""


@dataclass(frozen=True, kw_only=True)
class RequestHeaderOptions:
    """Which headers a front proxy sets, and which proxies may."""

    client_ca_file: str = ""
    allowed_names: tuple[str, ...] = ()
    username_headers: tuple[str, ...] = ("x-remote-user",)
    uid_headers: tuple[str, ...] = ()
    group_headers: tuple[str, ...] = ("x-remote-group",)
    extra_headers_prefix: tuple[str, ...] = ("x-remote-extra-",)


@dataclass(frozen=True, kw_only=True)
class AuthenticationOptions:
    """What the authentication flags say."""

    kubeconfig: str = ""
    token_cache_ttl: timedelta = timedelta(seconds=10)
    skip_lookup: bool = False
    tolerate_lookup_failure: bool = True
    client_ca_file: str = ""
    request_header: RequestHeaderOptions = RequestHeaderOptions()


@dataclass(frozen=True)
class CaBundle:
    """Certificate authorities."""

    pem: str
    certificates: tuple[x509.Certificate, ...] = field(compare=False)

    @classmethod
    def parse(cls, pem: str, source: str) -> CaBundle:
        try:
            return cls(pem, tuple(x509.load_pem_x509_certificates(pem.encode())))
        except ValueError as error:
            raise ConfigurationError([f"{source}: no certificate authority in it: {error}"]) from error

    def issued(self, certificate: x509.Certificate) -> bool:
        """Whether one of these authorities signed the certificate. An intermediate has to be in the bundle itself."""
        for authority in self.certificates:
            try:
                certificate.verify_directly_issued_by(authority)
            except (ValueError, TypeError, InvalidSignature):  # another issuer, a foreign key type, a forgery
                continue
            return True
        return False


@dataclass(frozen=True, kw_only=True)
class RequestHeaderTrust:
    """A front proxy with a certificate of `authorities` may say who the user is, in these headers."""

    authorities: CaBundle
    allowed_names: tuple[str, ...]
    username_headers: tuple[str, ...]
    uid_headers: tuple[str, ...]
    group_headers: tuple[str, ...]
    extra_headers_prefix: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ClientTrust:
    """Everything known about client certificates at one moment."""

    client_ca: CaBundle | None = None
    request_header: RequestHeaderTrust | None = None

    @property
    def pem(self) -> str:
        """All authorities that a TLS handshake has to accept."""
        bundles = [self.client_ca, self.request_header and self.request_header.authorities]
        return "\n".join(bundle.pem for bundle in bundles if bundle)


class TrustLoader:
    """Reads client trust from the flags' files and, for what they leave open, from the cluster."""

    def __init__(self, options: AuthenticationOptions, read_config_map: ConfigMapReader | None) -> None:
        self._options = options
        self._read_config_map = read_config_map
        self._last_found = ClientTrust()
        self.has_failed = False
        """Whether the last lookup in the cluster failed, which may be tolerated."""

    async def load(self) -> ClientTrust:
        """Raises ConfigurationError. A failed lookup in the cluster that is tolerated leaves the last one in force."""
        headers = self._options.request_header
        client_ca, request_header = None, None
        if self._options.client_ca_file:
            client_ca = _bundle_of(self._options.client_ca_file)
        if headers.client_ca_file:
            request_header = RequestHeaderTrust(
                authorities=_bundle_of(headers.client_ca_file),
                allowed_names=headers.allowed_names,
                username_headers=headers.username_headers,
                uid_headers=headers.uid_headers,
                group_headers=headers.group_headers,
                extra_headers_prefix=headers.extra_headers_prefix,
            )
        if not (client_ca and request_header) and not self._options.skip_lookup:
            found = await self._look_up()
            client_ca = client_ca or found.client_ca
            request_header = request_header or found.request_header
        return ClientTrust(client_ca=client_ca, request_header=request_header)

    async def _look_up(self) -> ClientTrust:
        if self._read_config_map is None:
            log.warning(
                "No authentication-kubeconfig provided in order to look up the client CA of the cluster, so client "
                "certificates of the cluster do not work",
                configMap=f"{CONFIG_MAP_NAMESPACE}/{CONFIG_MAP_NAME}",
            )
            return ClientTrust()
        try:
            async with asyncio.timeout(LOOK_UP_SECONDS):
                data = await self._read_config_map()
            self._last_found = parse_config_map(data)
            self.has_failed = False
        except (KubeschedError, TimeoutError) as error:
            self.has_failed = True
            problem = str(error) or f"no answer within {LOOK_UP_SECONDS:g} s"
            if not self._options.tolerate_lookup_failure:
                raise ConfigurationError([f"unable to look up the cluster's authentication: {problem}"]) from error
            log.warning(
                "Error looking up in-cluster authentication configuration; continuing with what was known before, "
                "which may treat all requests as anonymous (fatal with --authentication-tolerate-lookup-failure=false)",
                err=problem,
            )
        return self._last_found


def parse_config_map(data: Mapping[str, str]) -> ClientTrust:
    """Client trust as kube-apiserver publishes it."""
    source = f"ConfigMap {CONFIG_MAP_NAMESPACE}/{CONFIG_MAP_NAME}"
    client_ca = request_header = None
    if pem := data.get("client-ca-file"):
        client_ca = CaBundle.parse(pem, source)
    if pem := data.get("requestheader-client-ca-file"):
        request_header = RequestHeaderTrust(
            authorities=CaBundle.parse(pem, source),
            allowed_names=_names(data, "requestheader-allowed-names", source),
            username_headers=_names(data, "requestheader-username-headers", source),
            uid_headers=_names(data, "requestheader-uid-headers", source),
            group_headers=_names(data, "requestheader-group-headers", source),
            extra_headers_prefix=_names(data, "requestheader-extra-headers-prefix", source),
        )
    return ClientTrust(client_ca=client_ca, request_header=request_header)


def _names(data: Mapping[str, str], key: str, source: str) -> tuple[str, ...]:
    text = data.get(key, "")
    try:
        return tuple(msgspec.json.decode(text, type=list[str])) if text else ()
    except msgspec.MsgspecError as error:
        raise ConfigurationError([f"{source}: {key}: {error}"]) from error


def _bundle_of(file: str) -> CaBundle:
    try:
        return CaBundle.parse(Path(file).read_text(), file)
    except OSError as error:
        raise ConfigurationError([f"{file}: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise ConfigurationError([f"{file}: no certificate authority in it: not PEM, but binary"]) from error
