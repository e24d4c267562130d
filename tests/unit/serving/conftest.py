"""A certificate authority, an API server that answers reviews, and a way to call an application without a network."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from starlette.types import ASGIApp, Message, Scope

from kubesched.errors import ApiStatusError


@dataclass
class Issued:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.DER)

    def write(self, directory: Path, name: str) -> tuple[str, str]:
        certificate, key = directory / f"{name}.crt", directory / f"{name}.key"
        certificate.write_text(self.pem)
        key.write_bytes(
            self.key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return str(certificate), str(key)


SIGNS_CERTIFICATES = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=False,
    encipher_only=False,
    decipher_only=False,
)


class Authority:
    """A certificate authority for tests."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.root = self.issue(name, ca=True, signer=None)

    @property
    def pem(self) -> str:
        return self.root.pem

    def issue(
        self,
        common_name: str,
        *,
        organizations: tuple[str, ...] = (),
        dns: tuple[str, ...] = (),
        expired: bool = False,
        only_for_serving: bool = False,
        ca: bool = False,
        signer: Issued | str | None = "root",
    ) -> Issued:
        key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations]
        subject = x509.Name([*names, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
        signing = self.root if signer == "root" else None
        now = datetime.now(UTC)
        end = now - timedelta(hours=1) if expired else now + timedelta(days=1)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(signing.certificate.subject if signing else subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(end)
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )
        if signing:
            key_of_issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.key.public_key())
            builder = builder.add_extension(key_of_issuer, critical=False)
        if ca:
            builder = builder.add_extension(SIGNS_CERTIFICATES, critical=True)
        if dns:
            alternatives: list[x509.GeneralName] = [x509.DNSName(name) for name in dns]
            alternatives.append(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
            builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        if only_for_serving:
            usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
            builder = builder.add_extension(usage, critical=False)
        return Issued(builder.sign(signing.key if signing else key, hashes.SHA256()), key)


@dataclass
class FakeReviews:
    """An API server's review endpoints: tokens it knows, and what each user may do."""

    tokens: dict[str, dict[str, Any]] = field(default_factory=dict)
    allowed: set[tuple[str, str, str]] = field(default_factory=set)
    failing: bool = False
    asked: list[str] = field(default_factory=list)
    specs: list[Mapping[str, Any]] = field(default_factory=list)

    async def create(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        self.asked.append(body["kind"])
        self.specs.append(body["spec"])
        if self.failing:
            raise ApiStatusError(503, "ServiceUnavailable", "try later")
        assert path.endswith(body["kind"].lower() + "s")
        if body["kind"] == "TokenReview":
            user = self.tokens.get(body["spec"]["token"])
            return {"status": {"authenticated": user is not None, "user": user or {}}}
        attributes = body["spec"]["nonResourceAttributes"]
        may = (body["spec"]["user"], attributes["verb"], attributes["path"]) in self.allowed
        return {"status": {"allowed": may, "reason": "" if may else "no rule"}}


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def body(self) -> str:
        return self.content.decode()


Caller = Callable[..., Awaitable[Answer]]


async def _call(
    app: ASGIApp,
    path: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    state: Mapping[str, Any] | None = None,
) -> Answer:
    path, _, query = path.partition("?")
    scope: Scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "https",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 10259),
        "state": dict(state or {}),
    }
    sent: list[Message] = []
    incoming: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if not incoming:
            await asyncio.Event().wait()  # the client stays
        return incoming.pop()

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start = next(message for message in sent if message["type"] == "http.response.start")
    text = b"".join(message.get("body", b"") for message in sent if message["type"] == "http.response.body")
    received = {name.decode().lower(): value.decode() for name, value in start["headers"]}
    return Answer(start["status"], received, text)


@pytest.fixture
def call() -> Caller:
    """Calls an ASGI application: `await call(app, "/path", method=…, headers=…)`."""
    return _call


@pytest.fixture(scope="session")
def cluster_ca() -> Authority:
    return Authority("kubernetes")


@pytest.fixture(scope="session")
def proxy_ca() -> Authority:
    return Authority("front-proxy-ca")


@pytest.fixture
def reviews() -> FakeReviews:
    return FakeReviews(
        tokens={"good": {"username": "ann", "uid": "7", "groups": ["devs"], "extra": {"k": ["v"]}}},
        allowed={("ann", "get", "/metrics"), ("prometheus", "get", "/metrics")},
    )
