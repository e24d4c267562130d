"""How likely it is that the pods of a node use more than they request, by what was measured there."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Final

from kubesched.contrib.trimaran.beta_distribution import Beta
from kubesched.contrib.trimaran.load_source import CPU
from kubesched.contrib.trimaran.load_variation_risk_balancing import MEGA
from kubesched.contrib.trimaran.node_load import NodeLoad
from kubesched.framework import ClusterTables, Floats

MOST_VARIANCE: Final = 0.99
"""Of the greatest variance that a share with this average can have."""


class RiskByLoad:
    """The risk of one resource on each node. It does not depend on the pod that is to be placed: all pods share it.

    Plain numbers, not arrays: what is asked about most is the one node whose pods have changed, and for the others the
    risk is known.
    """

    def __init__(self, kind: str, load: NodeLoad, smoothing: float, cluster: ClusterTables) -> None:
        self._kind = kind
        self._unit = 1.0 if kind == CPU else MEGA
        self._load = load
        self._smoothing = smoothing
        self._cluster = cluster
        self._version: Hashable = None
        self._measured: tuple[Floats, Floats] | None = None  # averages and deviations, by row of the node table
        self._usage: dict[int, _Usage] = {}  # by row, too

    def at(self, row: int, capacity: int, requested: int, limited: int) -> float:
        """On the node of this row, for what the pods there request, and for their limits; 0 if nothing was measured."""
        version = self._load.columns_version(self._cluster)
        if version != self._version:
            self._version = version
            self._usage.clear()
            nodes = self._cluster.view()
            self._measured = self._load.average(nodes, self._kind), self._load.deviation(nodes, self._kind)
        usage = self._usage.get(row)
        if usage is None:
            assert self._measured is not None
            average, deviation = (column.item(row) for column in self._measured)
            usage = self._usage[row] = _Usage(average, deviation, capacity * self._unit, self._smoothing)
        return usage.risk(capacity, requested, limited)


class _Usage:
    """How much of a node is used, as a share of its capacity, is taken to be beta distributed."""

    __slots__ = ("_deviation", "_distribution", "_known", "_mean", "_risk")

    def __init__(self, average: float, deviation: float, offered: float, smoothing: float) -> None:
        """With measurements in percent; smoothed ones deviate less than what was measured."""
        self._mean = mean = _share(average, offered)
        most = math.sqrt(mean * (1 - mean) * MOST_VARIANCE) if 0 < mean < 1 else 0.0
        self._deviation = min(_share(deviation, offered) * smoothing, most)
        self._distribution = Beta.with_moments(mean, self._deviation) if mean and self._deviation else None
        self._known: tuple[int, int, int] | None = None
        self._risk = 0.0
        """What it was for `_known`."""

    def risk(self, capacity: int, requested: int, limited: int) -> float:
        if math.isnan(self._mean):
            return 0.0
        if self._known != (capacity, requested, limited):
            self._known = (capacity, requested, limited)
            self._risk = 1 - self._probability(capacity, min(requested, capacity), limited)
        return self._risk

    def _probability(self, capacity: int, requested: int, limited: int) -> float:
        """That no more than `requested` is used, given that no more than `limited` is."""
        threshold = min(max(requested / capacity, 0.0), 1.0) if capacity else math.nan
        is_limited, distribution = limited < capacity and requested <= limited, self._distribution
        if is_limited and limited == 0:
            return 1.0
        if self._mean == 0 or (self._deviation == 0 and self._mean <= threshold):
            return 1.0
        if distribution is None:
            return 0.0
        if not is_limited:
            return distribution.at_most(threshold)
        if requested == limited and distribution.reaches(threshold):
            return 1.0
        probability, below = distribution.at_most(threshold), distribution.at_most(limited / capacity)
        return min(max(probability / below, 0.0), 1.0) if below > 0 else probability


def _share(percent: float, offered: float) -> float:
    """NaN if nothing was measured."""
    if math.isnan(percent):
        return percent
    return min(max(percent * offered / 100 / offered, 0.0), 1.0) if offered > 0 else 0.0
