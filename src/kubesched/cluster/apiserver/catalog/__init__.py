"""Everything that is served, in one visible table."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.apiserver.catalog.core import CORE
from kubesched.cluster.apiserver.catalog.inert import ACCESS, AUTOSCALING, NETWORKING
from kubesched.cluster.apiserver.catalog.lookup import Catalog
from kubesched.cluster.apiserver.catalog.metrics import METRICS
from kubesched.cluster.apiserver.catalog.reviews import REVIEWS
from kubesched.cluster.apiserver.catalog.scheduling import COORDINATION, DEVICES, EVENTS, SCHEDULING
from kubesched.cluster.apiserver.catalog.storage import STORAGE
from kubesched.cluster.apiserver.catalog.workloads import APPS, BATCH, POLICY

__all__ = ["CATALOG", "Catalog"]

CATALOG: Final = Catalog(
    CORE
    + APPS
    + AUTOSCALING
    + BATCH
    + NETWORKING
    + POLICY
    + ACCESS
    + STORAGE
    + SCHEDULING
    + DEVICES
    + COORDINATION
    + EVENTS
    + METRICS
    + REVIEWS
)
