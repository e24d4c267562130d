"""The data directory: one server's at a time, readable by its owner only."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

from kubesched.errors import ConfigurationError
from kubesched.private_files import write_private


class DataDirectory:
    """A folder that belongs to this process until it is closed or the process ends, however that comes.

    ConfigurationError if another process has it: two servers would overwrite each other's objects.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
        except FileExistsError:
            raise ConfigurationError([f"data directory {path} is a file"]) from None
        self._lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(self._lock, 32).decode().strip() or "unknown"
            os.close(self._lock)
            raise ConfigurationError([f"data directory {path} is in use by another process (pid {owner})"]) from None
        os.ftruncate(self._lock, 0)
        os.write(self._lock, f"{os.getpid()}\n".encode())

    def kept(self, name: str, make: Callable[[], bytes]) -> bytes:
        """What is there under that name, or a new one, which is kept."""
        file = self.path / name
        if not file.exists():
            write_private(file, make())
        return file.read_bytes()

    def close(self) -> None:
        os.close(self._lock)
