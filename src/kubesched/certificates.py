"""A serving certificate of our own, and the authority that signed it: for servers that were given none."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CLOCK_SKEW: Final = timedelta(hours=1)
"""A clock that is a little behind ours must not refuse the certificate."""

_NOTHING: Final = dict.fromkeys(
    (
        *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"),
        *("key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
    ),
    False,
)
_SIGNS_CERTIFICATES: Final = x509.KeyUsage(**{**_NOTHING, "key_cert_sign": True})


class KeyPair(NamedTuple):
    """PEM: the serving certificate followed by its authority, and the serving key."""

    certificate: bytes
    key: bytes


def make_certificate(name: str, hosts: Sequence[str], now: datetime, lifetime: timedelta) -> KeyPair:
    """A certificate for these names and addresses, its key, and an authority that signs nothing else.

    Not one certificate that is its own authority: rustls and others refuse an authority as a server's certificate.
    """
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority_name, serving_name = _name(f"{name}-ca"), _name(name)
    authority = (
        _builder(authority_name, authority_key, now, lifetime)
        .issuer_name(authority_name)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_SIGNS_CERTIFICATES, critical=True)
    )
    # Python 3.13 and others verify strictly: they want to see which key signed (RFC 5280, 4.2.1.1).
    signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
    alternatives = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
    serving = (
        _builder(serving_name, key, now, lifetime)
        .issuer_name(authority_name)
        .add_extension(alternatives, critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(signer, critical=False)
    )
    chain = [builder.sign(authority_key, hashes.SHA256()) for builder in (serving, authority)]
    return KeyPair(
        b"".join(item.public_bytes(serialization.Encoding.PEM) for item in chain),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )


def _builder(
    subject: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime, lifetime: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + lifetime)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
