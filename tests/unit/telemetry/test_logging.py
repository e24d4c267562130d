"""Logs read like klog's, in text and JSON, at a verbosity that can change."""

from __future__ import annotations

import errno
import io
import json
import logging
import os
import re
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from kubesched.clock import VirtualClock
from kubesched.errors import ConfigurationError
from kubesched.telemetry.logging import Logger, LogOptions, adopt_library_logs


def make_log(options: LogOptions | None = None) -> tuple[Logger, io.StringIO, io.StringIO]:
    out, err = io.StringIO(), io.StringIO()
    return Logger(options, clock=VirtualClock(), out=out, err=err), out, err


def test_a_text_line_has_klogs_header() -> None:
    """Severity, date, time with microseconds, process id in seven columns, place, quoted message."""
    log, _, err = make_log()
    log.info("Starting", version="v1")
    pattern = rf'I\d{{4}} \d\d:\d\d:\d\d\.\d{{6}} {os.getpid():>7} test_logging\.py:\d+\] "Starting" version="v1"\n'
    assert re.fullmatch(pattern, err.getvalue())


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param("web", '"web"', id="a string is quoted"),
        pytest.param('say "hi"', '"say \\"hi\\""', id="quotes are escaped"),
        pytest.param("a\nb\n", "<\n\ta\n\tb\n >", id="several lines stand indented"),
        pytest.param(3, "3", id="a number is bare"),
        pytest.param(True, "true", id="a bool is lower case"),
        pytest.param(None, "<nil>", id="nothing"),
        pytest.param(["a", 1], '["a", 1]', id="a list is JSON"),
        pytest.param(ValueError("no"), '"no"', id="an error is its text"),
        pytest.param(
            SimpleNamespace(metadata=SimpleNamespace(namespace="ns", name="p")), '"ns/p"', id="an object is its name"
        ),
        pytest.param(SimpleNamespace(metadata=SimpleNamespace(name="n1")), '"n1"', id="without a namespace too"),
    ],
)
def test_a_value_in_text(value: object, shown: str) -> None:
    """Values look as in klog, so that existing log searches match."""
    log, _, err = make_log()
    log.info("m", key=value)
    assert err.getvalue().endswith(f'] "m" key={shown}\n')


def test_json_entries_carry_the_same_facts() -> None:
    """One object per line: milliseconds, place, message, level for information, `err` for errors."""
    log, _, err = make_log(LogOptions(format="json", verbosity=3))
    pod = SimpleNamespace(metadata=SimpleNamespace(namespace="ns", name="p"))
    log.info("Attempting to schedule pod", v=3, pod=pod)
    log.error("Binding failed", ValueError("gone"), node="n1")
    first, second = map(json.loads, err.getvalue().splitlines())
    assert first.pop("caller").startswith("test_logging.py:")
    assert first == {"ts": 1_700_000_000_000.0, "msg": "Attempting to schedule pod", "v": 3, "pod": "ns/p"}
    assert (second["msg"], second["err"], second["node"]) == ("Binding failed", "gone", "n1")
    assert "v" not in second


def test_plain_text_keeps_its_lines() -> None:
    """As klog.Info writes it: after the usual header in text, in one string in JSON."""
    text, _, err = make_log()
    text.text('Trace[1]: "Scheduling":\nTrace[1]: END')
    assert err.getvalue().endswith('] Trace[1]: "Scheduling":\nTrace[1]: END\n')
    structured, _, err = make_log(LogOptions(format="json"))
    structured.text("a\nb")
    assert json.loads(err.getvalue())["msg"] == "a\nb"


def test_verbosity_decides_and_can_change_while_running() -> None:
    """What PUT /debug/flags/v does."""
    log, _, err = make_log(LogOptions(verbosity=2))
    log.info("hidden", v=3)
    assert log.loudest == 2
    log.verbosity = 3
    assert log.loudest == 3
    log.info("shown", v=3)
    assert '"shown"' in err.getvalue()
    assert "hidden" not in err.getvalue()
    with pytest.raises(ConfigurationError, match="got -1"):
        log.verbosity = -1


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        pytest.param("test_logging", True, id="the file's name"),
        pytest.param("test_log*", True, id="a glob"),
        pytest.param("*/telemetry/test_logging", True, id="a pattern with a slash is matched with the path"),
        pytest.param("queue", False, id="another file"),
    ],
)
def test_vmodule_raises_the_level_of_some_files(pattern: str, matches: bool) -> None:
    """`--vmodule=pattern=N` works at the call site's file."""
    log, _, err = make_log(LogOptions(vmodule={pattern: 5}))
    log.info("detail", v=5)
    log.info("more", v=6)
    assert ("detail" in err.getvalue(), "more" in err.getvalue()) == (matches, False)
    assert log.loudest == 5, "no file has more, some may have less"


def test_an_error_may_be_words_alone() -> None:
    """Not every failure has an exception behind it."""
    log, _, err = make_log(LogOptions(verbosity=4))
    log.error("Error scheduling pod; retrying", "no volume", pod="default/p")
    assert '"Error scheduling pod; retrying" err="no volume" pod="default/p"' in err.getvalue()


def test_split_streams_part_information_from_errors() -> None:
    """`--log-text-split-stream`: information to stdout."""
    log, out, err = make_log(LogOptions(split_stream=True))
    log.info("fine")
    log.warning("careful")
    log.error("bad")
    assert out.getvalue().count("\n") == 1
    assert [line[0] for line in err.getvalue().splitlines()] == ["W", "E"]


class Failing(io.StringIO):
    """Cannot be written to until it is mended."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error: OSError | None = error

    def flush(self) -> None:
        if self.error is not None:
            raise self.error


def test_a_full_disk_costs_entries_and_nothing_else() -> None:
    """Whoever logs, in the middle of a decision, does not fail; when there is room again, it is written to."""
    err = Failing(OSError(errno.ENOSPC, "No space left on device"))
    log = Logger(clock=VirtualClock(), err=err)
    log.error("lost")
    err.error = None
    log.info("kept")
    assert '"kept"' in err.getvalue()


def test_a_log_that_nobody_reads_ends_the_program() -> None:
    """As a closed pipe does everywhere."""
    log = Logger(clock=VirtualClock(), err=Failing(BrokenPipeError()))
    with pytest.raises(BrokenPipeError):
        log.info("gone")


def test_a_traceback_is_shown_only_to_those_who_debug() -> None:
    """At -v=4 an error says where it came from."""
    log, _, err = make_log()
    try:
        raise ValueError("x")
    except ValueError as error:
        log.error("failed", error)
        assert "Traceback" not in err.getvalue()
        log.verbosity = 4
        log.error("failed", error)
    assert "Traceback" in err.getvalue()


@pytest.fixture
def restore_root_handlers() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.usefixtures("restore_root_handlers")
def test_library_warnings_come_in_our_format() -> None:
    """uvicorn and asyncio speak through the standard logging module."""
    log, _, err = make_log()
    adopt_library_logs(log)
    logging.getLogger("asyncio").warning("slow %s", "task")
    logging.getLogger("asyncio").info("chatter")
    assert re.fullmatch(r'W.*\] "slow task" logger="asyncio"\n', err.getvalue())
