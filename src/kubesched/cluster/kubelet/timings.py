"""How long things take on a simulated node, in seconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    start: float = 0.5
    """From the pod's admission to its running containers, without the pull of images."""
    pull_per_gigabyte: float = 4.0
    stop: float = 1.0
    """From the request to end to the end, if the pod's grace period is not shorter."""
    job_run: float = 5.0
    """Run time of a Job's pod that names none."""
    ready_after: float = 1.0
    """Of a container with a readiness probe, besides the probe's own initial delay."""
    restart: float = 10.0
    """Before a failed container runs again; doubles with every failure up to five minutes."""
    lease: float = 10.0
    """Between two heartbeats."""
    spread: float = 0.3
    """Every duration varies by up to this part of itself."""
