"""What --help and --version print."""

from __future__ import annotations

import platform
import sys
import textwrap
from collections.abc import Iterable, Iterator

from kubesched.cli.run_flags.table import SECTIONS, Flag
from kubesched.config.feature_gates import FeatureGates
from kubesched.telemetry.version import KUBERNETES_MINOR, KUBERNETES_VERSION, PROGRAM_VERSION

INTRODUCTION = """\
Schedules the pods of a Kubernetes cluster, in the place of kube-scheduler or beside it: for each pod that has no node
yet, it finds the nodes where the pod fits, ranks them, and binds the pod to the best one. Flags and configuration file
are those of kube-scheduler.
"""


def help_text(columns: int = 0) -> str:
    """All flags by section. `columns` is the width of the terminal; 0 does not wrap."""
    parts = [INTRODUCTION, "Usage:\n  kubesched run [flags]\n"]
    for section, flags in SECTIONS.items():
        shown = sorted(flags, key=lambda flag: flag.name)
        parts.append(f"{section[0].upper()}{section[1:]} flags:\n\n" + "".join(_lines(shown, columns)))
    return "\n".join(parts)


def version_text(*, raw: bool) -> str:
    if not raw:
        return f"Kubernetes {KUBERNETES_VERSION} (kubesched {PROGRAM_VERSION})\n"
    major, minor = KUBERNETES_MINOR.split(".")
    return (
        f'version.Info{{Major:"{major}", Minor:"{minor}", GitVersion:"{KUBERNETES_VERSION}", '
        f'Kubesched:"{PROGRAM_VERSION}", Python:"{platform.python_version()}", '
        f'Platform:"{sys.platform}/{platform.machine()}"}}\n'
    )


def _lines(flags: Iterable[Flag], columns: int) -> Iterator[str]:
    heads = {flag.name: _head(flag) for flag in flags}
    indent = max(map(len, heads.values())) + 3
    for flag in flags:
        text = flag.help
        if default := _default(flag):
            text += f" (default {default})"
        width = columns - indent if columns > indent + 24 else sys.maxsize
        paragraphs = textwrap.wrap(text, width) + (list(_gates()) if flag.name == "feature-gates" else [])
        yield heads[flag.name].ljust(indent) + ("\n" + " " * indent).join(paragraphs) + "\n"


def _head(flag: Flag) -> str:
    short = f"-{flag.short}, " if flag.short else "    "
    return f"  {short}--{flag.name} {flag.type.name}".rstrip()


def _default(flag: Flag) -> str:
    """The default, unless it is the type's nothing."""
    if not flag.default or flag.default in ("false", "0"):
        return ""
    shown = flag.type.show(flag.default)
    return f'"{shown}"' if flag.type.name == "string" else shown


def _gates() -> Iterator[str]:
    for name, stage, enabled in FeatureGates():
        if stage in ("Alpha", "Beta"):
            yield f"kube:{name}=true|false ({stage.upper()} - default={str(enabled).lower()})"
