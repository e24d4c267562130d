"""Source: a file, a folder or a stream that a trace is read from, perhaps packed."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final

from kubesched.errors import TraceError
from kubesched.traces.lines import Lines, is_packed

_HEAD_BYTES: Final = 1 << 16


class Source:
    """What formats read from. `head` is the beginning of its text, by which a format is recognised."""

    def __init__(self, name: str, opener: Callable[[], BinaryIO], *, path: Path | None = None) -> None:
        self.name = name
        self.path = path
        self._opener = opener

    @classmethod
    def of(cls, origin: str | Path | BinaryIO) -> Source:
        if isinstance(origin, str | Path):
            path = Path(origin)
            return cls(str(path), lambda: _open(path), path=path)
        return cls(getattr(origin, "name", "<stream>"), _Once(origin).open)

    @property
    def is_folder(self) -> bool:
        return self.path is not None and self.path.is_dir()

    @property
    def is_plain_file(self) -> bool:
        """Whether it is a file that is not packed."""
        if self.path is None or not self.path.is_file():
            return False
        with _open(self.path) as file:
            return not is_packed(file.read(4))

    def lines(self) -> Lines:
        """Its lines from the beginning. TraceError if it cannot be read, or is a stream that was read before."""
        return Lines(self._opener(), self.name)

    def head(self) -> bytes:
        """The first line, or its beginning if it is very long; a stream can still be read afterwards."""
        stream = self._opener()
        start = stream.read(_HEAD_BYTES)
        if isinstance(stream, _Rewindable):
            stream.give_back(start)
        else:
            stream.close()
        lines = Lines(io.BytesIO(start), self.name)
        try:
            return next((line for line in lines if line.strip()), b"")
        except TraceError:  # damaged at the very beginning; the format that reads it says so
            return b""


class Beginning:
    """A source whose first line has been read, since it says what the rest is. `lines` reads it all, from that line.

    A file is opened again each time, a stream goes on, once.
    """

    def __init__(self, source: Source) -> None:
        """TraceError if it cannot be read."""
        self._source = source
        self.opened = source.lines()
        text = iter(self.opened)
        self.first_line = next((line for line in text if line.strip()), b"")
        self._rest: tuple[Lines, Iterator[bytes]] | None = None
        if source.path is not None:
            text.close()
        else:
            self._rest = self.opened, text

    def lines(self) -> tuple[Lines, Iterator[bytes]]:
        """All lines that are not blank, and the reader that knows their numbers."""
        if self._rest is not None:
            (lines, text), self._rest = self._rest, None
            return lines, filter(bytes.strip, chain((self.first_line,), text))
        lines = self._source.lines()
        return lines, filter(bytes.strip, lines)


class _Rewindable(io.RawIOBase):
    """A stream whose beginning can be given back once it was looked at."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._start = b""

    def readable(self) -> bool:
        return True

    def give_back(self, start: bytes) -> None:
        self._start = start

    def read(self, size: int | None = -1) -> bytes:
        if self._start:
            start, self._start = self._start, b""
            return start
        return self._stream.read(-1 if size is None else size)


class _Once:
    """Opens a stream for a look at its head and for one reading."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = _Rewindable(stream)
        self._times = 0

    def open(self) -> BinaryIO:
        self._times += 1
        if self._times > 2:
            raise TraceError("a stream can be read only once: save it to a file first")
        return self._stream  # type: ignore[return-value]  # reads as one


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise TraceError(f"cannot be read: {error.strerror}", name=str(path)) from error
