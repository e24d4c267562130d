"""Health checks, and the report on them in the words of Kubernetes components (`healthz` of k8s.io/apiserver)."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple


class HealthCheck(NamedTuple):
    """A named check; `check` returns why it fails, or None."""

    name: str
    check: Callable[[], str | None]

    def page(self) -> tuple[str, int]:
        """The body and the HTTP status of the page for this check alone."""
        reason = self.check()
        return ("ok", 200) if reason is None else (f"internal server error: {reason}\n", 500)


PING: Final = HealthCheck("ping", lambda: None)


@dataclass(slots=True)
class HealthReport:
    """What the checks of one endpoint answered.

    The text has no reasons, since health is for everybody to read: they are for the log, and for who asks for a check
    by its name.
    """

    endpoint: str
    lines: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)

    def text(self, *, verbose: bool) -> str:
        """A failure is always reported at length."""
        if self.failures:
            return "\n".join([*self.lines, f"{self.endpoint} check failed", ""])
        return "\n".join([*self.lines, f"{self.endpoint} check passed", ""]) if verbose else "ok"


def examine(endpoint: str, checks: Sequence[HealthCheck], excluded: Collection[str]) -> HealthReport:
    """Run the checks that are not excluded."""
    report = HealthReport(endpoint)
    for check in checks:
        if check.name in excluded:
            report.lines.append(f"[+]{check.name} excluded: ok")
        elif (reason := check.check()) is None:
            report.lines.append(f"[+]{check.name} ok")
            report.passed.append(check.name)
        else:
            report.lines.append(f"[-]{check.name} failed: reason withheld")
            report.failures[check.name] = reason
    if unknown := sorted(set(excluded) - {check.name for check in checks}):
        names = ",".join(map(json.dumps, unknown))
        report.lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
    return report
