"""Synthetic traces from a specification and a seed: `kubesched trace generate` (docs/traces.md).

spec         what a specification file says
chance       amounts that are drawn: sizes, lifetimes, counts
arrivals     when pods come: processes, bursts, the course of a day
generator    the trace
"""

from __future__ import annotations

from kubesched.traces.generate.generator import generate
from kubesched.traces.generate.spec import TraceSpec, load_trace_spec

__all__ = ["TraceSpec", "generate", "load_trace_spec"]
