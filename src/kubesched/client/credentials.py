"""Who we are to the API server: a token, a client certificate, or both, and how they are kept fresh.

A source hands out the same `Credential` object until it changes; the transport compares by identity.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Final, Protocol

import msgspec

from kubesched.clock import Clock
from kubesched.errors import ConfigurationError, TransportError

RECHECK_SECONDS: Final = 10.0
"""How long a file is trusted before it is looked at again; projected tokens change minutes before they expire."""


class Credential(msgspec.Struct, frozen=True, kw_only=True):
    """What a request carries: the Authorization header, and the client certificate chain with its key (PEM)."""

    authorization: str = ""
    client_pem: bytes = b""


class CredentialSource(Protocol):
    def at_hand(self) -> Credential | None:
        """The credential to use now; None if it has to be fetched first."""
        ...

    async def current(self) -> Credential:
        """The credential to use now, fetched if need be."""
        ...

    def rejected(self, credential: Credential) -> None:
        """The server answered 401: the next `at_hand()` must not trust this one unseen."""
        ...


def bearer(token: str) -> str:
    """The Authorization header of a bearer token; nothing for no token."""
    return f"Bearer {token}" if token else ""


def basic(username: str, password: str) -> str:
    """The Authorization header of a user name and password."""
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()


class FixedCredentials:
    """A credential that never changes."""

    def __init__(self, credential: Credential | None = None) -> None:
        self._credential = credential or Credential()

    def at_hand(self) -> Credential:
        return self._credential

    async def current(self) -> Credential:
        return self._credential

    def rejected(self, credential: Credential) -> None:
        """Nothing newer is to be had."""


class FileCredentials:
    """A token and/or a client certificate in files, read again when they change.

    A file that cannot be read later on (a half-written rotation) leaves the last good credential in place.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        token_file: Path | None = None,
        certificate_file: Path | None = None,
        key_file: Path | None = None,
        fixed: Credential | None = None,
    ) -> None:
        self._clock = clock
        self._token_file = token_file
        self._certificate_files = [path for path in (certificate_file, key_file) if path is not None]
        self._fixed = fixed or Credential()
        self._credential = self._read()
        self._recheck_at = clock.monotonic() + RECHECK_SECONDS

    def at_hand(self) -> Credential:
        now = self._clock.monotonic()
        if now >= self._recheck_at:
            self._recheck_at = now + RECHECK_SECONDS
            self._reload()
        return self._credential

    async def current(self) -> Credential:
        return self.at_hand()

    def rejected(self, credential: Credential) -> None:
        if credential is self._credential:
            self._recheck_at = self._clock.monotonic()

    def _reload(self) -> None:
        try:
            fresh = self._read()
        except ConfigurationError:
            return
        if fresh != self._credential:
            self._credential = fresh

    def _read(self) -> Credential:
        authorization = self._fixed.authorization
        if self._token_file is not None:
            authorization = bearer(read_token(self._token_file))
        client_pem = self._fixed.client_pem
        if self._certificate_files:
            # One PEM holds chain and key; a part that is given as data comes with `fixed`.
            client_pem = b"\n".join([*(read_file(path) for path in self._certificate_files), client_pem])
        return Credential(authorization=authorization, client_pem=client_pem)


def read_token(path: Path) -> str:
    """The token in a file, without surrounding white space; ConfigurationError if there is none."""
    token = read_file(path).decode(errors="replace").strip()
    if not token:
        raise ConfigurationError([f"token file {path} is empty"])
    return token


def read_file(path: Path) -> bytes:
    """A file's content; ConfigurationError in one line where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigurationError([f"cannot read {path}: {error.strerror or error}"]) from error


def credentials_failed(problem: str) -> TransportError:
    """The error of a request that never left because there is no credential for it (client-go's wording)."""
    return TransportError(f"getting credentials: {problem}", request_sent=False)
