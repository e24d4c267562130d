"""How many files and connections this process may have open."""

from __future__ import annotations

import resource
from contextlib import suppress


def raise_open_files_limit() -> None:
    """Raise the soft limit, often 1024, to the hard one: every watch is a connection. What cannot be raised stays."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # a hard limit without an end is more than some systems take
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
