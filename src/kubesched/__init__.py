"""kubesched: kube-scheduler in Python.

The names below are the library: build a small cluster from objects or YAML, place pods, and ask why; replay a trace
of a cluster, and compare configurations on it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kubesched.apps.explain.explanation import Explanation
    from kubesched.apps.replay.comparing import compare
    from kubesched.apps.replay.replay import replay
    from kubesched.apps.simulate.simulation import Simulation

__version__ = "0.1.0"
__all__ = ["Explanation", "Simulation", "__version__", "compare", "replay"]

_HOMES = {
    "Explanation": "kubesched.apps.explain.explanation",
    "Simulation": "kubesched.apps.simulate.simulation",
    "compare": "kubesched.apps.replay.comparing",
    "replay": "kubesched.apps.replay.replay",
}


def __getattr__(name: str) -> Any:
    """Import on first use: the command line must start fast."""
    if name not in _HOMES:
        raise AttributeError(f"module kubesched has no attribute {name}")
    return getattr(import_module(_HOMES[name]), name)
