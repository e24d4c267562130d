"""A certificate of our own, for a scheduler that was given none."""

from __future__ import annotations

import ipaddress
import os
import ssl
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import IO, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kubesched.clock import Clock, utc

VALIDITY = timedelta(days=365)


class KeyPair(NamedTuple):
    """PEM text of a certificate (chain) and its private key."""

    certificate: bytes
    key: bytes


def self_signed(clock: Clock) -> KeyPair:
    """A certificate for localhost and 127.0.0.1, which is what probes on the same host ask for."""
    now = utc(clock)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"localhost@{int(now.timestamp())}")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # An hour back: a clock that is a little behind ours must not refuse the certificate.
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + VALIDITY)
        .add_extension(
            x509.SubjectAlternativeName(
                [x509.DNSName("localhost"), x509.IPAddress(ipaddress.IPv4Address("127.0.0.1"))]
            ),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return KeyPair(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )


def self_signed_in(directory: Path, name: str, clock: Clock) -> tuple[Path, Path]:
    """The pair `name.crt`, `name.key` of a directory, made if it is not there, so that a restart keeps it."""
    certificate, key = directory / f"{name}.crt", directory / f"{name}.key"
    if not (certificate.exists() and key.exists()):
        directory.mkdir(parents=True, exist_ok=True)
        pair = self_signed(clock)
        certificate.write_bytes(pair.certificate)
        key.touch(mode=0o600)
        key.write_bytes(pair.key)
    return certificate, key


def load_pair(context: ssl.SSLContext, pair: KeyPair) -> None:
    """Give a context a pair that exists in memory only: Python's ssl reads nothing but files."""
    if hasattr(os, "memfd_create"):
        file: IO[bytes] = open(os.memfd_create("serving-certificate", os.MFD_CLOEXEC), "wb")  # noqa: SIM115  # below
        path = f"/proc/self/fd/{file.fileno()}"
    else:
        file = tempfile.NamedTemporaryFile()  # noqa: SIM115  # closed below
        path = file.name
    with file:
        file.write(pair.key + pair.certificate)
        file.flush()
        context.load_cert_chain(path)
