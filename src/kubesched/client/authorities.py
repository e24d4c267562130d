"""Whose certificates a server may show: authorities in a file, which a cluster may renew while we run."""

from __future__ import annotations

from pathlib import Path

from cryptography import x509

from kubesched.client.credentials import RECHECK_SECONDS, read_file
from kubesched.clock import Clock
from kubesched.errors import ConfigurationError
from kubesched.telemetry.logging import log


class AuthorityFile:
    """A file of authorities (PEM), read again when it changes (client-go's ClientsAllowCARotation).

    A file that cannot be read or used later on (a half-written rotation) leaves the last good authorities in place.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._pem = self._read()
        self._recheck_at = clock.monotonic() + RECHECK_SECONDS

    def current(self) -> bytes:
        """The authorities to trust now: the same object until they change."""
        now = self._clock.monotonic()
        if now >= self._recheck_at:
            self._recheck_at = now + RECHECK_SECONDS
            self._reload()
        return self._pem

    def _reload(self) -> None:
        try:
            fresh = self._read()
        except ConfigurationError as error:
            log.error("Reloading certificate authorities failed, the old ones stay", error)
            return
        if fresh != self._pem:
            log.info("Reloaded certificate authorities", file=self._path)
            self._pem = fresh

    def _read(self) -> bytes:
        return checked_certificates(read_file(self._path), str(self._path))


def checked_certificates(pem: bytes, where: str) -> bytes:
    """The same, if there are certificates in it; ConfigurationError otherwise."""
    try:
        x509.load_pem_x509_certificates(pem)
    except ValueError as error:
        raise ConfigurationError([f"{where}: no certificate in PEM form"]) from error
    return pem
