"""A replica writes only as long as it holds its lease: asked for every write, right before it leaves.

Who stopped renewing does not always know: a process that was stopped, or a machine that slept, goes on where it was,
with requests at hand, while another replica leads. Hence the question is never "do we lead", but "until when may we".
"""

from __future__ import annotations

import math
from typing import Final

from kubesched.clock import Clock
from kubesched.errors import NotLeadingError

_NEVER: Final = -math.inf


class Fence:
    """Closed until the lease is ours. One thread renews it, others ask; the moment is all that they share."""

    def __init__(self, clock: Clock) -> None:
        self._since_boot = clock.since_boot
        self._open_until = _NEVER
        self._is_over = False

    def keep_open(self, until: float) -> None:
        """The lease was renewed: writes may leave before this moment (`Clock.since_boot`)."""
        if not self._is_over:
            self._open_until = until

    def close(self) -> None:
        """The lease is not ours any more, or about to be given back: for good."""
        self._is_over = True
        self._open_until = _NEVER

    def check(self) -> None:
        """NotLeadingError unless the lease was renewed in time."""
        if self._since_boot() >= self._open_until:
            raise NotLeadingError("not sent: the lease was not renewed in time, another replica may lead")
