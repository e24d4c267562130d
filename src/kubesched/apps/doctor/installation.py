"""What is installed on this machine."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from kubesched.apps.doctor.finding import Finding, State

EXTRAS: Final = {
    "plan": ("ortools", "defrag and capacity find optimal plans"),
    "lab": ("pyarrow", "sweep and tune run experiments"),
}
"""By extra: a package that it brings, and what it is good for."""


def look_at_installation() -> list[Finding]:
    found = f"kubesched {version('kubesched')}, Python {platform.python_version()}, {platform.platform()}"
    return [Finding("installed", State.GOOD, found), *(_extra(name) for name in EXTRAS)]


def _extra(name: str) -> Finding:
    package, purpose = EXTRAS[name]
    try:
        return Finding(f"extra {name}", State.GOOD, f"{package} {version(package)}: {purpose}")
    except PackageNotFoundError:
        advice = f"with it {purpose}: pip install 'kubesched[{name}]'"
        return Finding(f"extra {name}", State.WARNING, "not installed", advice)
