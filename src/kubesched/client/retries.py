"""Whether a failed request may be sent again, and when."""

from __future__ import annotations

import random
from typing import Final

from kubesched.client.backoff import jittered
from kubesched.errors import ApiStatusError, ClientError, TransportError

# client-go's maxRetries, for answers that say when to come back.
MOST_RETRIES: Final = 10
# For failures that do not say so: 0.1, 0.2, 0.4, 0.8 s.
MOST_BLIND_RETRIES: Final = 4
FIRST_BLIND_DELAY: Final = 0.1


def retry_delay(method: str, error: ClientError, attempt: int, rng: random.Random) -> float | None:
    """Seconds until a failed request may be sent again; None when it must not.

    An answer that names a time (Retry-After) is followed for every method, as client-go does: the server refused
    before it acted. Anything else is repeated only where a second execution does no harm or none took place.
    """
    if isinstance(error, ApiStatusError):
        if error.code != 429 and error.code < 500:
            return None
        if error.retry_after is not None:
            return jittered(rng, error.retry_after, 0.1)
        safe = error.code == 429 or method == "GET"
    elif not isinstance(error, TransportError):
        return None
    else:
        safe = not error.request_sent or (method == "GET" and not error.timed_out)
    if not safe or attempt >= MOST_BLIND_RETRIES:
        return None
    return jittered(rng, FIRST_BLIND_DELAY * 2**attempt, 1.0)
