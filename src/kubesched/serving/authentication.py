"""Who asks: a front proxy's user, a client certificate, a bearer token, or nobody.

The order and the outcome are those of Kubernetes' delegating authenticator: the first method that recognises the
request wins; if none does, but one of them objected (a wrong token, a certificate of nobody we know), the request is
refused; without any credential it is anonymous.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final
from urllib.parse import unquote

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.x509.oid import NameOID
from starlette.datastructures import Headers

from kubesched.clock import Clock, utc
from kubesched.errors import KubeschedError
from kubesched.serving.reviews import ReviewCache, ReviewClient
from kubesched.serving.trust import ClientTrust
from kubesched.serving.users import ANONYMOUS, AUTHENTICATED_GROUP, UNAUTHENTICATED_GROUP, User
from kubesched.telemetry.logging import log

TOKEN_REVIEWS_PATH: Final = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105  # a path, not a secret
CREDENTIAL_ID_KEY: Final = "authentication.kubernetes.io/credential-id"
UID_OID: Final = x509.ObjectIdentifier("1.3.6.1.4.1.57683.2")


class Authenticator:
    """Finds the user of a request. `trust` may be replaced at any time."""

    def __init__(
        self, *, trust: ClientTrust, reviews: ReviewClient | None, token_cache_ttl: timedelta, clock: Clock
    ) -> None:
        self.trust = trust
        self._reviews = reviews
        self._clock = clock
        self._token_ttl = token_cache_ttl.total_seconds()
        self._tokens: ReviewCache[User | None] = ReviewCache(clock)

    async def authenticate(self, headers: Headers, peer_certificate: bytes | None) -> User | None:
        """The user of a request with these headers, over a connection whose TLS peer showed this certificate (DER).

        None if the request carries a credential that does not hold.
        """
        objections: list[str] = []
        user = None
        if peer_certificate is not None:
            certificate = x509.load_der_x509_certificate(peer_certificate)
            user = self._by_front_proxy(headers, certificate, objections)
            user = user or self._by_certificate(certificate, objections)
        user = user or await self._by_token(headers, objections)
        if user is not None:
            return _with_authenticated_group(user)
        if objections:
            log.info("Unable to authenticate the request", v=4, reasons=objections)
            return None
        return ANONYMOUS

    def _by_front_proxy(self, headers: Headers, certificate: x509.Certificate, objections: list[str]) -> User | None:
        proxy = self.trust.request_header
        if proxy is None:
            return None
        if not self._is_current(certificate) or not proxy.authorities.issued(certificate):
            objections.append("the certificate is not one of a front proxy")
            return None
        common_name = _common_name(certificate)
        if proxy.allowed_names and common_name not in proxy.allowed_names:
            objections.append(f"x509: subject with cn={common_name} is not in the allowed list")
            return None
        name = _first(headers, proxy.username_headers)
        if not name:
            return None
        return User(
            name=name,
            uid=_first(headers, proxy.uid_headers),
            groups=tuple(group for header in proxy.group_headers for group in headers.getlist(header)),
            extra=_extra(headers, proxy.extra_headers_prefix),
        )

    def _by_certificate(self, certificate: x509.Certificate, objections: list[str]) -> User | None:
        authorities = self.trust.client_ca
        if authorities is None:
            return None
        if not self._is_current(certificate) or not authorities.issued(certificate):
            objections.append(f"verifying certificate SN={certificate.serial_number} failed")
            return None
        name = _common_name(certificate)
        if not name:
            return None
        fingerprint = certificate.fingerprint(hashes.SHA256()).hex()
        subject = certificate.subject
        return User(
            name=name,
            uid=next((str(uid.value) for uid in subject.get_attributes_for_oid(UID_OID)), ""),
            groups=tuple(str(group.value) for group in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)),
            extra={CREDENTIAL_ID_KEY: (f"X509SHA256={fingerprint}",)},
        )

    async def _by_token(self, headers: Headers, objections: list[str]) -> User | None:
        scheme, token, *_ = [*headers.get("authorization", "").strip().split(" "), "", ""]
        if self._reviews is None or scheme.lower() != "bearer" or not token:
            return None
        reviews = self._reviews
        # The digest is the key, so that a dump of the cache gives no token away.
        digest = hashlib.sha256(token.encode()).hexdigest()
        try:
            user = await self._tokens.get(digest, lambda: self._review(reviews, token))
        except (KubeschedError, TimeoutError) as error:
            log.error("Unable to authenticate the request", error)
            objections.append("the token could not be reviewed")
            return None
        if user is None:
            objections.append("invalid bearer token")
        return user

    async def _review(self, reviews: ReviewClient, token: str) -> tuple[User | None, float]:
        review = await reviews.create(
            TOKEN_REVIEWS_PATH,
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}},
        )
        status = review.get("status") or {}
        if not status.get("authenticated"):
            return None, self._token_ttl
        found = status.get("user") or {}
        user = User(
            name=found.get("username", ""),
            uid=found.get("uid", ""),
            groups=tuple(found.get("groups") or ()),
            extra={key: tuple(values) for key, values in (found.get("extra") or {}).items()},
        )
        return user, self._token_ttl

    def _is_current(self, certificate: x509.Certificate) -> bool:
        """A connection may outlive the certificate that opened it."""
        return certificate.not_valid_before_utc <= utc(self._clock) <= certificate.not_valid_after_utc


def _with_authenticated_group(user: User) -> User:
    if AUTHENTICATED_GROUP in user.groups or UNAUTHENTICATED_GROUP in user.groups:
        return user
    return replace(user, groups=(*user.groups, AUTHENTICATED_GROUP))


def _common_name(certificate: x509.Certificate) -> str:
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[-1].value) if names else ""


def _first(headers: Headers, names: Sequence[str]) -> str:
    return next((value for name in names if (value := headers.get(name, ""))), "")


def _extra(headers: Headers, prefixes: Sequence[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for prefix in prefixes:
        for header in dict.fromkeys(headers.keys()):
            if header.lower().startswith(prefix.lower()):
                key = unquote(header[len(prefix) :]).lower()
                found[key] = (*found.get(key, ()), *headers.getlist(header))
    return found
