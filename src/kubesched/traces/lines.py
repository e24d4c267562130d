"""Lines of a file that may be huge, damaged, cut off, or made to harm: with bounded memory, and numbered.

Plain text, zstd and gzip are recognised by their first bytes. Packed data is unpacked piece by piece, so what a file
claims to contain does not matter; a line that is too long is an error before it is in memory.
"""

from __future__ import annotations

import zlib
from collections.abc import Generator, Iterator
from itertools import chain
from typing import BinaryIO, Final

from kubesched.errors import TraceError
from kubesched.traces.compression import DecompressionParameter, ZstdDecompressor, ZstdError

LONGEST_LINE: Final = 16 << 20
"""Bytes. An object in etcd has at most 1.5 MiB by default."""

_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPABLE: Final = tuple(bytes((low, 0x2A, 0x4D, 0x18)) for low in range(0x50, 0x60))
_ZSTD_STARTS: Final = (_ZSTD_MAGIC, *_ZSTD_SKIPPABLE)
_GZIP_MAGIC: Final = b"\x1f\x8b"
_CHUNK: Final = 1 << 16
_PIECE: Final = 512
"""Of packed data, unpacked at once: what the piece before a damaged one contained has been delivered already."""
_GZIP_ONLY: Final = 31
_WINDOW_LOG: Final = 27
"""Most memory that a zstd frame may ask for: 128 MiB, as the zstd command does."""


def is_packed(start: bytes) -> bool:
    """Whether a file that begins so is packed, with zstd or gzip."""
    return start.startswith((*_ZSTD_STARTS, _GZIP_MAGIC))


class Lines:
    """The lines of a binary stream, without their ends. `number` is that of the last line that was handed out.

    `is_cut_off` once the end is reached and the file does not end where a line, or its packed data, ends: so it looks
    after a recording that was killed.
    """

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream = stream
        self.name = name
        self.number = 0
        self.is_cut_off = False

    def __iter__(self) -> Generator[bytes, None, None]:
        """Once; the stream is closed afterwards.

        TraceError for damaged data and for lines that are too long, after all lines before them.
        """
        with self._stream:
            yield from self._split()

    def close(self) -> None:
        """For whoever stops before the end."""
        self._stream.close()

    def whole(self, most: int) -> bytes:
        """All of it at once, for formats that are no lines. TraceError if it is more than `most` bytes, or damaged."""
        text = bytearray()
        with self._stream:
            for chunk in self._unpacked():
                text += chunk
                if len(text) > most:
                    raise self.error(f"more than {most >> 20} MiB of text that is no trace", line=0)
        return bytes(text)

    def _split(self) -> Iterator[bytes]:
        rest = bytearray()
        for chunk in self._unpacked():
            searched = len(rest)
            rest += chunk
            start = 0
            while (end := rest.find(b"\n", max(start, searched))) >= 0:
                line = bytes(rest[start:end])
                start = end + 1
                self.number += 1
                yield line
            del rest[:start]
            if len(rest) > LONGEST_LINE:
                raise self.error(f"longer than {LONGEST_LINE >> 20} MiB", line=self.number + 1)
        if rest:
            self.is_cut_off = True
            self.number += 1
            yield bytes(rest)

    def error(self, problem: str, line: int | None = None) -> TraceError:
        return TraceError(problem, name=self.name, line=self.number if line is None else line)

    def _unpacked(self) -> Iterator[bytes]:
        chunks = iter(lambda: self._stream.read(_CHUNK), b"")
        first = next(chunks, b"")
        chunks = chain((first,), chunks)
        try:
            if first.startswith(_ZSTD_STARTS):
                yield from self._from_zstd(chunks)
            elif first.startswith(_GZIP_MAGIC):
                yield from self._from_gzip(chunks)
            else:
                yield from chunks
        except (ZstdError, zlib.error) as error:
            raise self.error(f"damaged data after line {self.number}: {error}", line=0) from error

    def _from_zstd(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        frame: ZstdDecompressor | None = None
        for piece in _pieces(chunks):
            data = piece
            while data:
                if frame is None:
                    frame = ZstdDecompressor(options={DecompressionParameter.window_log_max: _WINDOW_LOG})
                out = frame.decompress(data, max_length=_CHUNK)
                while out:
                    yield out
                    out = b"" if frame.eof or frame.needs_input else frame.decompress(b"", max_length=_CHUNK)
                data = b""
                if frame.eof:  # the next frame starts here
                    data, frame = frame.unused_data, None
        self.is_cut_off = frame is not None

    def _from_gzip(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        member = None
        for piece in _pieces(chunks):
            data = piece
            while data:
                if member is None:
                    member = zlib.decompressobj(wbits=_GZIP_ONLY)
                yield member.decompress(data, _CHUNK)
                data = member.unconsumed_tail
                if member.eof:  # the next member starts here
                    data, member = member.unused_data, None
        self.is_cut_off = member is not None


def _pieces(chunks: Iterator[bytes]) -> Iterator[bytes]:
    return (chunk[start : start + _PIECE] for chunk in chunks for start in range(0, len(chunk), _PIECE))
