"""Bytes to and from an HTTP server: the one seam that tests and the embedded cluster replace.

Failures end here: whatever the HTTP library raises becomes a `TransportError`, and an answer other than success
becomes an `ApiStatusError` (by `raise_for_status`).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Final, NoReturn, Protocol

import msgspec

from kubesched.errors import ApiStatusError

JSON: Final = "application/json"
TIME_LIMIT: Final = 30.0
"""Seconds that most requests are given."""

# client-go's NewGenericServerResponse: the reason of an answer whose body does not name one.
_REASONS: Final = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Gone",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
_LONGEST_MESSAGE: Final = 500


class Response(msgspec.Struct, frozen=True):
    """An answer of any status. Header names are lower case; only those that we read are kept."""

    status: int
    body: bytes
    headers: dict[str, str] = {}
    discarded_bytes: int = 0
    """The length of a body that nobody wanted to see."""


class Transport(Protocol):
    """Requests to one server. Paths start with a slash; `query` is already encoded."""

    @property
    def host(self) -> str:
        """The server's host and port, as metrics label it."""
        ...

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: str = "",
        content_type: str = JSON,
        body: bytes | None = None,
        time_limit: float,
        discard: bool = False,
        check: Callable[[], None] | None = None,
    ) -> Response:
        """Send and wait for the whole answer, whatever its status; TransportError where none came in time (seconds).

        With `discard` the body of a success may be left out. `check` is called right before the request leaves, and
        keeps it from leaving by raising.
        """
        ...

    def stream(self, path: str, *, query: str = "", time_limit: float) -> AsyncGenerator[bytes, None]:
        """GET, and yield the body's chunks as they arrive; must be closed (`aclosing`).

        ApiStatusError before the first chunk where the server refuses; TransportError when the connection breaks.
        """
        ...

    async def close(self) -> None: ...


class _StatusDetails(msgspec.Struct, frozen=True):
    retry_after_seconds: int = msgspec.field(name="retryAfterSeconds", default=0)


class Status(msgspec.Struct, frozen=True):
    """metav1.Status, as far as it says what went wrong."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: _StatusDetails | None = None

    def error(self, *, method: str, url: str, retry_after: float | None = None) -> ApiStatusError:
        """The exception for this status; `retry_after` of the header wins over the one in the details."""
        if retry_after is None and self.details is not None and self.details.retry_after_seconds > 0:
            retry_after = float(self.details.retry_after_seconds)
        reason = self.reason or _REASONS.get(self.code, "Unknown")
        return ApiStatusError(self.code, reason, self.message, method=method, url=url, retry_after=retry_after)


def raise_for_status(response: Response, *, method: str, url: str) -> None:
    """Return for a success; raise the ApiStatusError that a failure's Status body and headers describe."""
    if 200 <= response.status < 300:
        return
    raise_status(response.status, response.body, response.headers, method=method, url=url)


def raise_status(code: int, body: bytes, headers: Mapping[str, str], *, method: str, url: str) -> NoReturn:
    try:
        status = msgspec.json.decode(body, type=Status)
    except msgspec.MsgspecError:
        status = Status(message=body.decode(errors="replace").strip()[:_LONGEST_MESSAGE])
    # The HTTP code is the fact; a proxy in between may answer with a body that is no Status at all.
    status = msgspec.structs.replace(status, code=code)
    raise status.error(method=method, url=url, retry_after=_seconds(headers.get("retry-after", "")))


def _seconds(text: str) -> float | None:
    # Only the number form: client-go's checkWait ignores dates too.
    return float(text) if text.isdecimal() else None
