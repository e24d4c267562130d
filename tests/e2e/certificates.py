"""A throw-away certificate authority: for the API server, its clients, and service account tokens."""

from __future__ import annotations

import base64
import ipaddress
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

Key = ec.EllipticCurvePrivateKey


class Authority:
    """Issues certificates into a folder."""

    def __init__(self, folder: Path, name: str = "kubesched-e2e") -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        certificate = _builder(self._name, self._name, self._key).add_extension(constraints, critical=True)
        self.file = folder / "ca.crt"
        self.file.write_bytes(_pem(certificate.sign(self._key, hashes.SHA256())))

    def issue(self, common_name: str, *, groups: tuple[str, ...] = (), serves: bool = False) -> tuple[Path, Path]:
        """A certificate and its key, as files: of a client (user and groups), or of a server on the loopback."""
        key = ec.generate_private_key(ec.SECP256R1())
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        subject = x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
        usage = ExtendedKeyUsageOID.SERVER_AUTH if serves else ExtendedKeyUsageOID.CLIENT_AUTH
        builder = _builder(subject, self._name, key).add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        if serves:
            names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        stem = common_name.replace(":", "-")
        certificate_file, key_file = self.folder / f"{stem}.crt", self.folder / f"{stem}.key"
        certificate_file.write_bytes(_pem(builder.sign(self._key, hashes.SHA256())))
        key_file.write_bytes(_private_pem(key))
        return certificate_file, key_file


class TokenSigner:
    """Signs service account tokens with the API server's own key: also such that expire in a moment."""

    def __init__(self, folder: Path, issuer: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._issuer = issuer
        self.private_file, self.public_file = folder / "sa.key", folder / "sa.pub"
        self.private_file.write_bytes(_private_pem(self._key))
        self.public_file.write_bytes(
            self._key.public_key().public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
        )

    def token(self, account: dict[str, Any], *, expires: datetime) -> str:
        """A token of a ServiceAccount. The API server takes it for a minute longer than it says."""
        metadata = account["metadata"]
        namespace, name = metadata["namespace"], metadata["name"]
        issued = int((expires - timedelta(hours=1)).timestamp())
        claims = {
            "iss": self._issuer,
            "aud": [self._issuer],
            "sub": f"system:serviceaccount:{namespace}:{name}",
            "iat": issued,
            "nbf": issued,
            "exp": int(expires.timestamp()),
            "kubernetes.io": {"namespace": namespace, "serviceaccount": {"name": name, "uid": metadata["uid"]}},
        }
        signed = f"{_base64({'alg': 'ES256', 'typ': 'JWT'})}.{_base64(claims)}"
        r, s = decode_dss_signature(self._key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        signature = r.to_bytes(32, "big") + s.to_bytes(32, "big")
        return f"{signed}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def _builder(subject: x509.Name, issuer: x509.Name, key: Key) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=2))
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _private_pem(key: Key) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def _base64(value: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
