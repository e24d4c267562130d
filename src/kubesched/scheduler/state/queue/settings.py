"""How the queue is set up."""

from __future__ import annotations

from dataclasses import dataclass

from kubesched.objects.pod_resources import DEFAULT_FEATURES, ResourceFeatures


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSettings:
    """Durations are seconds; the defaults are Kubernetes'."""

    initial_backoff: float = 1.0
    max_backoff: float = 10.0
    """0 switches backoff off."""
    max_unschedulable: float = 300.0
    """A pod that no event woke for so long is tried again (`--pod-max-in-unschedulable-pods-duration`)."""
    pop_from_backoff: bool = True
    """Feature gate SchedulerPopFromBackoffQ: rather than idle, try a pod before its backoff has passed."""
    pod_groups: bool = False
    """Feature gate GenericWorkload: members of a pod group come back by backoff alone."""
    resource_features: ResourceFeatures = DEFAULT_FEATURES
    """How requests are computed, to tell whether an update scales a pod down."""
