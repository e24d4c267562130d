"""What pyreqwest raises, as a `TransportError`."""

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
# A server that asks its clients to reconnect (HTTP/2's GOAWAY; kube-apiserver's --goaway-chance) leaves requests
# undone that were on their way: cut off by it, or still waiting for their turn on the connection.
_LEFT_UNDONE: Final = frozenset({"connection error received: not a result of an error", "dispatch task is gone"})
_UNTRUSTED: Final = "invalid peer certificate"
_MANUAL_LINK: Final = re.compile(r": https://docs\.rs/\S+$")


def transport_error(method: str, url: str, error: PyreqwestError) -> TransportError:
    """What went wrong in one line, and whether the server may have heard of the request."""
    causes = causes_of(error)
    # The library's exception types mislead: ConnectError also stands for a connection that closed after the request
    # went out, ConnectTimeoutError for a broken handshake and for an answer that did not come. The causes differ.
    not_sent = (
        _CONNECT_FAILED in causes or isinstance(error, (PoolTimeoutError, BuilderError)) or was_left_undone(error)
    )
    timed_out = isinstance(error, RequestTimeoutError) and any("timed out" in cause for cause in causes)
    where = f"{method} {url.partition('?')[0]}"
    what = _MANUAL_LINK.sub("", ": ".join(causes[-2:] if not timed_out else causes[-1:]))
    untrusted = any(cause.startswith(_UNTRUSTED) for cause in causes)
    return TransportError(f"{where}: {what}", request_sent=not not_sent, timed_out=timed_out, untrusted=untrusted)


def was_left_undone(error: PyreqwestError) -> bool:
    """Whether the server closed the connection before it did anything about the request."""
    return not _LEFT_UNDONE.isdisjoint(causes_of(error))


def causes_of(error: Exception) -> list[str]:
    """The causes from the outside in; the outer ones only say that a request failed."""
    causes = error.details["causes"] or () if isinstance(error, DetailedPyreqwestError) else ()
    return [cause["message"] for cause in causes] or [str(error)]
