"""Structured logs as Kubernetes components write them: klog's text, or JSON.

    log.info("Attempting to schedule pod", pod=pod, v=3)
    if log.loudest >= 5:                            # where building the values costs something
        log.info("Score of each node", v=5, scores=expensive())
    log.error("Binding failed", error, pod=pod, node="n1")

An entry with a level above the verbosity (`-v`, changeable while running) is dropped before anything is formatted.
A line is written at once, in order. `log` is the process's one logger; the command line configures it.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import PurePath
from types import FrameType
from typing import Final, Literal, TextIO

from kubesched.clock import Clock, SystemClock
from kubesched.errors import ConfigurationError
from kubesched.redaction import redacted

Severity = Literal["I", "W", "E"]
MAX_VERBOSITY: Final = 2**31 - 1


@dataclass(frozen=True, kw_only=True)
class LogOptions:
    """What the logging flags say."""

    format: Literal["text", "json"] = "text"
    verbosity: int = 0
    vmodule: Mapping[str, int] = field(default_factory=dict)
    """File pattern → verbosity: a pattern without a slash is matched with the file's name, else with its path."""
    split_stream: bool = False
    """Information to stdout and errors to stderr, instead of everything to stderr."""


class Logger:
    """Writes entries with a message and named values.

    Levels: 0 what an operator always wants, 2 steady state, 3 one entry per pod, 5 and up for debugging.
    """

    def __init__(
        self,
        options: LogOptions | None = None,
        *,
        clock: Clock | None = None,
        out: TextIO | None = None,
        err: TextIO | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._out = out
        self._err = err
        self.configure(options or LogOptions())

    def configure(self, options: LogOptions) -> None:
        self._options = options
        self._verbosity = options.verbosity
        self._vmodule = {pattern.removesuffix(".py"): level for pattern, level in options.vmodule.items()}
        self._level_of_file: dict[str, int] = {}
        self._raise_loudest()
        self._is_json = options.format == "json"

    @property
    def verbosity(self) -> int:
        return self._verbosity

    @verbosity.setter
    def verbosity(self, level: int) -> None:
        if not 0 <= level <= MAX_VERBOSITY:
            raise ConfigurationError([f"log verbosity must be between 0 and {MAX_VERBOSITY}, got {level}"])
        self._verbosity = level
        self._raise_loudest()

    def _raise_loudest(self) -> None:
        self.loudest = max(self._verbosity, *self._vmodule.values(), 0)
        """Entries above this level are not written, whichever file they are in."""

    def info(self, message: str, *, v: int = 0, **values: object) -> None:
        if v <= self._verbosity:
            self._write("I", message, values, _place(sys._getframe(1)), v)
        elif self._vmodule:
            frame = sys._getframe(1)
            if v <= self._file_level(frame.f_code.co_filename):
                self._write("I", message, values, _place(frame), v)

    def text(self, text: str, *, v: int = 0) -> None:
        """An entry without structure, as klog.Info writes it: the text as it is, with its line breaks."""
        frame = sys._getframe(1)
        if v <= self._verbosity or v <= self._file_level(frame.f_code.co_filename):
            self._write("I", text, {}, _place(frame), v, as_is=True)

    def warning(self, message: str, **values: object) -> None:
        self._write("W", message, values, _place(sys._getframe(1)), 0)

    def error(self, message: str, error: BaseException | str | None = None, **values: object) -> None:
        """`error` is shown as `err`, an exception from verbosity 4 on with its traceback."""
        if error is not None:
            values = {"err": error, **values}
            if self._verbosity >= 4 and isinstance(error, BaseException):
                values["traceback"] = "".join(traceback.format_exception(error))
        self._write("E", message, values, _place(sys._getframe(1)), 0)

    def _file_level(self, path: str) -> int:
        level = self._level_of_file.get(path)
        if level is None:
            name = PurePath(path).with_suffix("")
            matches = (
                wanted
                for pattern, wanted in self._vmodule.items()
                if fnmatchcase(name.as_posix() if "/" in pattern else name.name, pattern)
            )
            level = self._level_of_file[path] = next(matches, -1)
        return level

    def library(self, record: logging.LogRecord) -> None:
        """An entry that a library wrote through the standard `logging`."""
        values: dict[str, object] = {"logger": record.name}
        if record.exc_info and record.exc_info[1] is not None:
            values["err"] = "".join(traceback.format_exception(record.exc_info[1]))
        severity: Severity = "E" if record.levelno >= logging.ERROR else "W"
        self._write(severity, record.getMessage(), values, f"{record.filename}:{record.lineno}", 0)

    def _write(
        self,
        severity: Severity,
        message: str,
        values: Mapping[str, object],
        where: str,
        v: int,
        *,
        as_is: bool = False,
    ) -> None:
        split_off = severity == "I" and self._options.split_stream
        stream = self._out or sys.stdout if split_off else self._err or sys.stderr
        now = self._clock.time()
        if self._is_json:
            entry = _format_json(severity, now, where, message, values, v)
        else:
            entry = _format_text(severity, now, where, message if as_is else _quote(message), values)
        try:
            stream.write(redacted(entry))
            stream.flush()
        except BrokenPipeError:
            raise  # nobody reads any more: that ends programs
        except OSError:
            pass  # a full disk costs entries, as with klog: the work that they report goes on


def _place(frame: FrameType) -> str:
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def _format_text(severity: Severity, now: float, where: str, message: str, values: Mapping[str, object]) -> str:
    stamp = datetime.fromtimestamp(now).strftime("%m%d %H:%M:%S.%f")
    shown = "".join(f" {name}={_text_value(value)}" for name, value in values.items())
    return f"{severity}{stamp} {os.getpid():>7} {where}] {message}{shown}\n"


def _format_json(severity: Severity, now: float, where: str, message: str, values: Mapping[str, object], v: int) -> str:
    entry: dict[str, object] = {"ts": round(now * 1000, 4), "caller": where, "msg": message}
    if severity == "I":
        entry["v"] = v
    entry.update(values)
    return json.dumps(entry, default=_plain, ensure_ascii=False) + "\n"


def _text_value(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case None:
            return "<nil>"
        case str() if "\n" in value:
            indented = value.rstrip("\n").replace("\n", "\n\t")
            return f"<\n\t{indented}\n >"
        case str():
            return _quote(value)
        case list() | tuple() | dict():
            return json.dumps(value, default=_plain, ensure_ascii=False)
        case _:
            return _text_value(_plain(value))


def _plain(value: object) -> str:
    """An API object as `namespace/name`, like klog.KObj; anything else as its text."""
    metadata = getattr(value, "metadata", None)
    if metadata is not None and isinstance(name := getattr(metadata, "name", None), str):
        namespace = getattr(metadata, "namespace", "")
        return f"{namespace}/{name}" if namespace else name
    return str(value)


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


class _LibraryHandler(logging.Handler):
    def __init__(self, target: Logger) -> None:
        super().__init__()
        self._target = target

    def emit(self, record: logging.LogRecord) -> None:
        self._target.library(record)


def adopt_library_logs(target: Logger) -> None:
    """Bring warnings and errors of all libraries into `target`, in its format; called once, by the command line."""
    logging.basicConfig(handlers=[_LibraryHandler(target)], level=logging.WARNING, force=True)


log: Final = Logger()
