"""A certificate of our own, for a scheduler that was given none."""

from __future__ import annotations

import os
import ssl
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import IO, Final

from kubesched.certificates import KeyPair, make_certificate
from kubesched.clock import Clock, utc
from kubesched.private_files import write_private

VALIDITY: Final = timedelta(days=365)


def self_signed(clock: Clock) -> KeyPair:
    """A certificate for localhost and 127.0.0.1, which is what probes on the same host ask for."""
    now = utc(clock)
    return make_certificate(f"localhost@{int(now.timestamp())}", ["localhost", "127.0.0.1"], now, VALIDITY)


def self_signed_in(directory: Path, name: str, clock: Clock) -> tuple[Path, Path]:
    """The pair `name.crt`, `name.key` of a directory, made if it is not there, so that a restart keeps it."""
    certificate, key = directory / f"{name}.crt", directory / f"{name}.key"
    if not (certificate.exists() and key.exists()):
        directory.mkdir(parents=True, exist_ok=True)
        pair = self_signed(clock)
        certificate.write_bytes(pair.certificate)
        write_private(key, pair.key)
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
