"""Whether a plugin's claims are true, for its tests."""

from __future__ import annotations

from typing import Any

from kubesched.apps.plugin.checking import check
from kubesched.scheduler.framework import Plugin
from kubesched.scheduler.plugin_contract import check_plugin


def check_promises(plugin: type[Plugin], args: Any = None, *, clusters: int = 100, seed: int = 0) -> None:
    """As `kubesched plugin check`: AssertionError with the smallest example if a promise is broken.

    ConfigurationError if the class cannot be a plugin.
    """
    found = check(check_plugin(plugin.__name__, plugin), args, clusters=clusters, seed=seed)
    if found is not None:
        raise AssertionError(f"{plugin.__name__}: " + "\n".join(found.lines()))
