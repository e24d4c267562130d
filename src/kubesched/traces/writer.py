"""TraceWriter: appends entries to a trace file. What was flushed can be read, whatever happens to the process."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final

from msgspec.structs import replace

from kubesched.errors import TraceError
from kubesched.telemetry.version import PROGRAM_VERSION
from kubesched.traces.compression import CompressionParameter, ZstdCompressor
from kubesched.traces.content import ANNOTATIONS, kept
from kubesched.traces.entries import Change, Entry, Header
from kubesched.traces.wire import encode_end, encode_entry, encode_header

_LEVEL: Final = 3
_FRAME_BYTES: Final = 16 << 20
"""Of text in one zstd frame. Each ends with a checksum, so that damage is found close to where it is."""
_BUFFER_BYTES: Final = 1 << 20
_PLAIN_SUFFIXES: Final = (".jsonl", ".ndjson", ".json")


class TraceWriter:
    """Writes a header, then entries. Memory is bounded: text is packed and handed to the file as it comes in.

    Whoever writes live calls `flush` at least once a second: then a process that is killed loses a second, not more.
    Objects are reduced to what scheduling reads (`content.kept`), and to the annotations that the header names.
    """

    def __init__(self, file: BinaryIO, header: Header, *, packed: bool = True) -> None:
        self._file = file
        self._annotations = ANNOTATIONS | set(header.annotations)
        self._packer = _packer() if packed else None
        self._in_frame = 0
        self._buffer = bytearray()
        self._time = header.started
        self.entries = 0
        self.bytes_written = 0
        self._append(encode_header(replace(header, kubesched=header.kubesched or PROGRAM_VERSION)))

    @classmethod
    def create(cls, path: Path, header: Header) -> TraceWriter:
        """A new file: packed with zstd, or plain if it is named `.jsonl`. An existing file is never overwritten."""
        try:
            file = path.open("xb", buffering=0)
        except FileExistsError as error:
            raise TraceError("the file exists already", name=str(path)) from error
        except OSError as error:
            raise TraceError(f"cannot be written: {error.strerror}", name=str(path)) from error
        return cls(file, header, packed=path.suffix not in _PLAIN_SUFFIXES)

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def write(self, entry: Entry) -> None:
        """Append an entry. TraceError, and nothing is written, if its time is before that of the last one."""
        if not entry.time >= self._time:
            raise TraceError(f"the time goes back from {self._time!r} to {entry.time!r}")
        if type(entry) is Change:
            entry = replace(entry, object=kept(entry.object, self._annotations))
        self._time = entry.time
        self._append(encode_entry(entry))
        self.entries += 1

    def write_all(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self.write(entry)

    def end(self, time: float) -> None:
        """Note that the cluster was watched until then. Nothing may follow but `close`."""
        self._append(encode_end(max(time, self._time)))

    def flush(self) -> None:
        """What was written so far can be read from the file from now on."""
        if not self._buffer:
            return
        text = bytes(self._buffer)
        self._buffer.clear()
        if self._packer is None:
            self._hand_over(text)
            return
        self._in_frame += len(text)
        if self._in_frame < _FRAME_BYTES:
            self._hand_over(self._packer.compress(text, ZstdCompressor.FLUSH_BLOCK))
        else:
            self._hand_over(self._packer.compress(text, ZstdCompressor.FLUSH_FRAME))
            self._in_frame = 0

    def close(self) -> None:
        """Flush, and end the file. Idempotent. It is closed even if the rest cannot be written any more."""
        if self._file.closed:
            return
        with self._file:
            self.flush()
            if self._packer is not None and self._in_frame:
                self._hand_over(self._packer.flush(ZstdCompressor.FLUSH_FRAME))

    def _append(self, line: bytes) -> None:
        self._buffer += line
        if len(self._buffer) >= _BUFFER_BYTES:
            self.flush()

    def _hand_over(self, data: bytes) -> None:
        view = memoryview(data)
        while view:  # a raw file may take less than it is given
            taken = self._file.write(view)
            view = view[taken:]
        self.bytes_written += len(data)


def _packer() -> ZstdCompressor:
    options: dict[int, int] = {CompressionParameter.compression_level: _LEVEL, CompressionParameter.checksum_flag: 1}
    return ZstdCompressor(options=options)
