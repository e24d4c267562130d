"""Files that a trace can be read from. Each format is one module; `FORMATS` lists them all, in the order of asking."""

from __future__ import annotations

from kubesched.traces.formats.registry import FORMATS, Format, import_trace, open_trace, recognise

__all__ = ["FORMATS", "Format", "import_trace", "open_trace", "recognise"]
