"""The TLS side of serving: which certificate, which versions and ciphers, whose client certificates.

One `SSLContext` serves for the life of the process. asyncio makes a TLS object from it for each connection, so
loading a renewed certificate or another client CA into it takes effect with the next connection.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography import x509

from kubesched.clock import Clock
from kubesched.errors import ConfigurationError
from kubesched.serving.certificates import load_pair, self_signed, self_signed_in
from kubesched.telemetry.logging import log

PAIR_NAME: Final = "kube-scheduler"

TLS_VERSIONS: Final = {"VersionTLS12": ssl.TLSVersion.TLSv1_2, "VersionTLS13": ssl.TLSVersion.TLSv1_3}
OLD_TLS_VERSIONS: Final = frozenset({"VersionTLS10", "VersionTLS11"})

# TLS 1.3 suites are always on, in Go as in OpenSSL: naming them is allowed and changes nothing.
TLS13_SUITES: Final = frozenset({"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"})
OPENSSL_SUITES: Final[Mapping[str, str]] = {
    f"TLS_{exchange}_WITH_{cipher}": f"{prefix}{openssl}"
    for exchange, prefix in (("ECDHE_ECDSA", "ECDHE-ECDSA-"), ("ECDHE_RSA", "ECDHE-RSA-"), ("RSA", ""))
    for cipher, openssl in (
        ("AES_128_GCM_SHA256", "AES128-GCM-SHA256"),
        ("AES_256_GCM_SHA384", "AES256-GCM-SHA384"),
        ("CHACHA20_POLY1305", "CHACHA20-POLY1305"),
        ("CHACHA20_POLY1305_SHA256", "CHACHA20-POLY1305"),
        ("AES_128_CBC_SHA", "AES128-SHA"),
        ("AES_256_CBC_SHA", "AES256-SHA"),
        ("AES_128_CBC_SHA256", "AES128-SHA256"),
    )
    if not (exchange == "RSA" and cipher.startswith("CHACHA20"))
}
# Go's crypto/tls CurveID → OpenSSL's name.
CURVES: Final = {23: "prime256v1", 24: "secp384r1", 25: "secp521r1", 29: "X25519"}


@dataclass(frozen=True, kw_only=True)
class SniCertificate:
    """A further certificate for some host names; without names, those in the certificate count."""

    cert_file: str
    key_file: str
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        names = ":" + ",".join(self.names) if self.names else ""
        return f"{self.cert_file},{self.key_file}{names}"


@dataclass(frozen=True, kw_only=True)
class TlsOptions:
    """What the secure-serving flags say about TLS. Without a certificate one is made, kept in `cert_dir` if given."""

    cert_file: str = ""
    key_file: str = ""
    cert_dir: str = ""
    min_version: str = ""
    cipher_suites: tuple[str, ...] = ()
    curve_preferences: tuple[int, ...] = ()
    sni_certificates: tuple[SniCertificate, ...] = ()

    def problems(self) -> list[str]:
        """Everything that cannot be honoured, in one line each."""
        found = []
        if bool(self.cert_file) != bool(self.key_file):
            found.append("--tls-cert-file and --tls-private-key-file must be given together")
        if self.min_version in OLD_TLS_VERSIONS:
            found.append(f"--tls-min-version: {self.min_version} is not supported, the oldest is VersionTLS12")
        elif self.min_version and self.min_version not in TLS_VERSIONS:
            found.append(f'--tls-min-version: unknown tls version "{self.min_version}"')
        found += [
            f"--tls-cipher-suites: Cipher suite {suite} not supported or doesn't exist"
            for suite in self.cipher_suites
            if suite not in TLS13_SUITES and suite not in OPENSSL_SUITES
        ]
        found += [
            f"--tls-curve-preferences: curve {curve} is not supported, of {sorted(CURVES)}"
            for curve in self.curve_preferences
            if curve not in CURVES
        ]
        if len(self.curve_preferences) > 1 and not hasattr(ssl.SSLContext, "set_groups"):
            found.append("--tls-curve-preferences: this Python can restrict to one curve only")
        return found


class ServingCertificates:
    """The listening context and the certificates in it."""

    def __init__(self, options: TlsOptions, clock: Clock) -> None:
        if problems := options.problems():
            raise ConfigurationError(problems)
        self._options = options
        self._clock = clock
        self._files_seen: dict[str, tuple[int, int]] = {}
        self._client_ca_pem = ""
        self.context = _new_context(options)
        self._by_name: dict[str, ssl.SSLContext] = {}
        self._load()
        if options.sni_certificates:
            self.context.sni_callback = self._choose

    def reload_if_changed(self) -> bool:
        """Load certificate files that were replaced since. A broken pair is logged and the old one goes on."""
        if self._signature() == self._files_seen:
            return False
        try:
            self._load()
        except ConfigurationError as error:
            log.error("Reloading the serving certificate failed, the old one stays", error)
            return False
        log.info("Reloaded the serving certificate")
        return True

    def trust_clients_of(self, ca_pem: str) -> None:
        """Ask clients for a certificate, and let those of these authorities through the handshake.

        A context cannot forget an authority; `authentication` checks each request against the present ones.
        """
        self._client_ca_pem = ca_pem
        for context in (self.context, *self._by_name.values()):
            _trust(context, ca_pem)

    def _load(self) -> None:
        seen = self._signature()
        cert_file, key_file = self._options.cert_file, self._options.key_file
        if not cert_file and self._options.cert_dir:
            pair = self_signed_in(Path(self._options.cert_dir), PAIR_NAME, self._clock)
            cert_file, key_file = map(str, pair)
        if cert_file:
            _load_files(self.context, self._options, cert_file, key_file)
        else:
            load_pair(self.context, self_signed(self._clock))
        self._by_name = self._load_sni()
        self._files_seen = seen

    def _load_sni(self) -> dict[str, ssl.SSLContext]:
        explicit: dict[str, ssl.SSLContext] = {}
        extracted: dict[str, ssl.SSLContext] = {}
        for pair in self._options.sni_certificates:
            context = _new_context(self._options)
            _load_files(context, self._options, pair.cert_file, pair.key_file)
            _trust(context, self._client_ca_pem)
            names, target = (pair.names, explicit) if pair.names else (_names_in(pair.cert_file), extracted)
            for name in names:
                target.setdefault(name.lower(), context)
        return {**extracted, **explicit}

    def _choose(self, connection: ssl.SSLObject, name: str | None, _context: ssl.SSLContext) -> None:
        for candidate in _candidates((name or "").lower()):
            if candidate in self._by_name:
                connection.context = self._by_name[candidate]
                return

    def _signature(self) -> dict[str, tuple[int, int]]:
        pairs = [(self._options.cert_file, self._options.key_file)]
        pairs += [(pair.cert_file, pair.key_file) for pair in self._options.sni_certificates]
        files = [file for pair in pairs for file in pair if file]
        return {file: (stat.st_mtime_ns, stat.st_size) for file in files if (stat := _stat(file))}


def _new_context(options: TlsOptions) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = TLS_VERSIONS.get(options.min_version, ssl.TLSVersion.TLSv1_2)
    # As in Go, any certificate of a CA bundle is an anchor, not only self-signed roots.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if suites := [OPENSSL_SUITES[suite] for suite in options.cipher_suites if suite in OPENSSL_SUITES]:
        try:
            context.set_ciphers(":".join(suites))
        except ssl.SSLError as error:
            raise ConfigurationError([f"--tls-cipher-suites: {error.reason}"]) from error
    curves = [CURVES[curve] for curve in options.curve_preferences]
    if len(curves) == 1:
        context.set_ecdh_curve(curves[0])
    elif curves:
        getattr(context, "set_groups")(":".join(curves))  # noqa: B009  # since Python 3.15; typed as absent
    return context


def _load_files(context: ssl.SSLContext, options: TlsOptions, cert_file: str, key_file: str) -> None:
    """Load a pair; tried on another context first, so that a broken pair never reaches the one in use."""
    try:
        _new_context(options).load_cert_chain(cert_file, key_file)
        context.load_cert_chain(cert_file, key_file)
    except (OSError, ssl.SSLError) as error:
        reason = error.reason if isinstance(error, ssl.SSLError) and error.reason else error.strerror or str(error)
        raise ConfigurationError([f"cannot load certificate {cert_file} with key {key_file}: {reason}"]) from error


def _trust(context: ssl.SSLContext, ca_pem: str) -> None:
    if ca_pem:
        context.load_verify_locations(cadata=ca_pem)
        context.verify_mode = ssl.CERT_OPTIONAL


def _names_in(cert_file: str) -> list[str]:
    certificate = x509.load_pem_x509_certificates(Path(cert_file).read_bytes())[0]
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        common = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
        return [str(attribute.value) for attribute in common]
    return [*names.get_values_for_type(x509.DNSName), *map(str, names.get_values_for_type(x509.IPAddress))]


def _candidates(name: str) -> Iterable[str]:
    """The name itself, then with more and more of its leading labels as wildcards: a.b.c, *.b.c, *.*.c, …"""
    yield name
    labels = name.split(".")
    for position in range(len(labels)):
        labels[position] = "*"
        yield ".".join(labels)


def _stat(file: str) -> os.stat_result | None:
    try:
        return os.stat(file)
    except OSError:
        return None
