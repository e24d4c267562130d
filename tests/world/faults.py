"""What goes wrong, and how often: chosen from the seed once, then again for every message.

A seed enables some kinds of faults and leaves out others: a world in which everything goes wrong at once never gets far
enough to go wrong in an interesting way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Final

from kubesched.client.transport import Response

REFUSALS: Final = {
    "throttled": Response(429, b"too many requests", {"retry-after": "1"}),
    "overloaded": Response(429, b"too many requests"),
    "broken": Response(500, b"internal error"),
    "unavailable": Response(503, b"the server is currently unable to handle the request"),
}
CONFLICT: Final = Response(409, b'{"code":409,"reason":"Conflict","message":"the object has been modified"}')
EXPIRED: Final = Response(410, b'{"code":410,"reason":"Expired","message":"too old resource version"}')
MESSAGE_FAULTS: Final = (
    *("slow", "request lost", "answer lost", "reset before", "reset after", "duplicated"),
    *("fails after", "throttled", "overloaded", "broken", "unavailable", "conflict"),
)


@dataclass(kw_only=True)
class Fate:
    """Of one request."""

    there: float
    back: float
    told: str = ""
    refusal: Response | None = None
    request_lost: bool = False
    answer_lost: bool = False
    reset_before: bool = False
    reset_after: bool = False
    fails_after: bool = False
    copies: int = 1
    copy_delay: float = 0.0


class Faults:
    """`share` is how many of all requests something happens to."""

    def __init__(self, random: Random, kinds: tuple[str, ...], share: float, *, slowest: float) -> None:
        self._random = random
        self._kinds = kinds
        self._share = share
        self._slowest = slowest

    def end(self) -> None:
        self._share = 0.0

    def delay(self) -> float:
        """Of a message that nothing happens to."""
        return 0.0005 + self._random.expovariate(500.0)

    def of_request(self, method: str, path: str) -> Fate:
        random = self._random
        fate = Fate(there=self.delay(), back=self.delay())
        if not self._kinds or random.random() >= self._share:
            return fate
        kind = random.choice(self._kinds)
        match kind:
            case "slow":
                fate.there = random.uniform(0.0, self._slowest)
                fate.back = random.uniform(0.0, self._slowest)
            case "request lost":
                fate.request_lost = True
            case "answer lost":
                fate.answer_lost = True
            case "reset before":
                fate.reset_before = True
            case "reset after":
                fate.answer_lost = fate.reset_after = True
            case "duplicated":
                fate.copies, fate.copy_delay = 2, random.uniform(0.0, self._slowest)
            case "fails after":
                fate.fails_after = True
            case "conflict":
                if method not in ("PUT", "PATCH"):
                    return fate
                fate.refusal = CONFLICT
            case _:
                fate.refusal = REFUSALS[kind]
        fate.told = f" [{kind}]"
        return fate

    def of_watch(self) -> Fate:
        fate = Fate(there=self.delay(), back=self.delay())
        if self._kinds and self._random.random() < self._share:
            fate.refusal = self._random.choice((*REFUSALS.values(), EXPIRED))
        return fate

    def torn(self, chunk: bytes) -> Iterator[bytes]:
        """A chunk in one piece, or in two."""
        if len(chunk) > 1 and self._random.random() < self._share:
            middle = self._random.randrange(1, len(chunk))
            yield chunk[:middle]
            yield chunk[middle:]
        else:
            yield chunk
