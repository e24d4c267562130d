"""The kubeconfig file of an embedded cluster: while the cluster runs, no other one replaces it."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Callable
from pathlib import Path

from kubesched.errors import ConfigurationError


class KubeconfigFile:
    """A kubeconfig file that is locked from its creation until this process ends, however that comes.

    ConfigurationError if a running cluster has it: who replaced it would lock that cluster's users out.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock: int | None = None
        self._take()

    def write(self, write: Callable[[Path], None]) -> None:
        """Replace the file by what `write` writes there, and lock that."""
        self._take()  # another cluster may have been faster
        write(self._path)
        self._take()

    def close(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _take(self) -> None:
        """Lock the file that has the name now, if there is one, instead of the one that had it before."""
        self.close()
        try:
            lock = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise ConfigurationError([self._in_use()]) from None
        self._lock = lock

    def _in_use(self) -> str:
        server = re.search(r"server: (\S+)", self._path.read_text(errors="replace"))
        where = f" at {server[1]}" if server else ""
        return (
            f"a cluster{where} is running with {self._path}: stop it first, "
            "or give this one a file and a port of its own: --kubeconfig FILE --port 0"
        )
