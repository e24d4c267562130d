"""A trace is silent when fast, and says where the time went when slow."""

from __future__ import annotations

import io

from kubesched.clock import VirtualClock
from kubesched.telemetry.logging import Logger
from kubesched.telemetry.tracing import Trace


def test_a_fast_operation_is_not_logged() -> None:
    """Tracing every scheduling attempt must not fill the log."""
    clock, err = VirtualClock(), io.StringIO()
    trace = Trace("Scheduling", clock, subject="ns/p")
    clock.tick(0.05)
    trace.log_if_longer(0.1, Logger(err=err))
    assert err.getvalue() == ""


def test_a_slow_operation_shows_the_time_of_each_step() -> None:
    """Durations are between steps; the last line is the whole."""
    clock, err = VirtualClock(), io.StringIO()
    trace = Trace("Scheduling", clock, subject="ns/p")
    clock.tick(0.03)
    trace.step("Snapshot done")
    clock.tick(0.12)
    trace.step("Filters done")
    trace.log_if_longer(0.1, Logger(err=err, clock=clock))
    text = err.getvalue()
    assert '"Trace" name="Scheduling" subject="ns/p" total="150ms" steps=<' in text
    assert '---"Snapshot done" 30ms (22:13:20.030000)' in text
    assert '---"Filters done" 120ms' in text
    assert text.endswith("[150ms] END\n >\n")
