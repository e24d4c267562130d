"""What we are and which kube-scheduler we stand in for: shown by --version, /statusz and kubernetes_build_info."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import version
from typing import Final

KUBERNETES_VERSION: Final = "v1.37.1"
KUBERNETES_MINOR: Final = "1.37"
PREVIOUS_MINOR: Final = "1.36"
PROGRAM_VERSION: Final = f"v{version('kubesched')}"


def build_labels() -> tuple[str, ...]:
    """Values of kubernetes_build_info, from `major` to `platform`.

    The version label is the Kubernetes version that we behave as, so that version-skew dashboards read it right;
    the fields about a Go build say what runs instead.
    """
    major, minor = KUBERNETES_MINOR.split(".")
    python = f"python{platform.python_version()}"
    machine = f"{sys.platform}/{platform.machine()}"
    return major, minor, f"{KUBERNETES_VERSION}+kubesched.{PROGRAM_VERSION}", "", "", "", "", python, machine
