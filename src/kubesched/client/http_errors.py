"""What pyreqwest raises, told as a `TransportError`."""

from __future__ import annotations

import re
from typing import Final

from pyreqwest.exceptions import (
    BuilderError,
    DetailedPyreqwestError,
    PoolTimeoutError,
    PyreqwestError,
    RequestTimeoutError,
)

from kubesched.errors import TransportError

_CONNECT_FAILED: Final = "client error (Connect)"
_UNTRUSTED: Final = "invalid peer certificate"
_MANUAL_LINK: Final = re.compile(r": https://docs\.rs/\S+$")


def transport_error(method: str, url: str, error: PyreqwestError) -> TransportError:
    """What went wrong in one line, and whether the server may have heard of the request."""
    causes = causes_of(error)
    # The library's exception types mislead: ConnectError also stands for a connection that closed after the request
    # went out, ConnectTimeoutError for a broken handshake and for an answer that did not come. The causes tell.
    not_sent = _CONNECT_FAILED in causes or isinstance(error, (PoolTimeoutError, BuilderError))
    timed_out = isinstance(error, RequestTimeoutError) and any("timed out" in cause for cause in causes)
    where = f"{method} {url.partition('?')[0]}"
    what = _MANUAL_LINK.sub("", ": ".join(causes[-2:] if not timed_out else causes[-1:]))
    untrusted = any(cause.startswith(_UNTRUSTED) for cause in causes)
    return TransportError(f"{where}: {what}", request_sent=not not_sent, timed_out=timed_out, untrusted=untrusted)


def causes_of(error: Exception) -> list[str]:
    """The causes from the outside in; the outer ones only say that a request failed."""
    causes = error.details["causes"] or () if isinstance(error, DetailedPyreqwestError) else ()
    return [cause["message"] for cause in causes] or [str(error)]
