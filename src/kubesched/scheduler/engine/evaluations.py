"""What is kept, for which templates, in bounded memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final, TypeAlias
from weakref import WeakValueDictionary

from kubesched.scheduler.columns import ClusterTables, PodInfo, PodTemplate
from kubesched.scheduler.engine.asked import Asked
from kubesched.scheduler.engine.family import Family
from kubesched.scheduler.engine.kept import Kept
from kubesched.scheduler.engine.lineup import Lineup
from kubesched.scheduler.engine.standing import Standing

BYTES_FOR_EVALUATIONS: Final = 512 << 20
_BYTES_PER_ENTRY: Final = 32 << 10
"""With the template that it was made for and what plugins have worked out about that: 18 to 31 KiB were measured."""
_BYTES_PER_ROW: Final = 128
_FEWEST_KEPT: Final = 8

_Key: TypeAlias = tuple[Family, Hashable]


class Evaluations:
    """Finds what is kept for a pod, or begins anew; beyond a number of bytes, the least recently used leave."""

    def __init__(self, lineup: Lineup, cluster: ClusterTables, memory: int = BYTES_FOR_EVALUATIONS) -> None:
        self._lineup = lineup
        self._cluster = cluster
        self._memory = memory
        self._kept: OrderedDict[Kept, _Key] = OrderedDict()
        self._by_key: dict[_Key, Kept] = {}
        self._families: WeakValueDictionary[Hashable, Family] = WeakValueDictionary()
        self.asked = Asked()
        self.hits = 0
        self.misses = 0

    def standing_of(self, template: PodTemplate) -> Standing:
        """How the template stands to the plugins now. It is kept with the template."""
        standing: Standing | None = template.memo.get(self)
        if standing is None:
            standing = template.memo[self] = Standing(template, self._lineup)
        else:
            standing.renew(template)
        return standing

    def kept_for(self, pod: PodInfo, standing: Standing) -> Kept:
        kept = standing.kept()
        if kept is None or kept not in self._kept:
            family = self._family_of(pod, standing)
            kept = self._by_key.get((family, standing.sums))
            if kept is None:
                self.misses += 1
                return self._keep(pod, standing, family)
            standing.keep(kept)
        self.hits += 1
        self._kept.move_to_end(kept)
        return kept

    def drop(self, kept: Kept) -> None:
        """Keep it no longer, nor what it shares with others."""
        key = self._kept.pop(kept, None)
        if key is not None:
            del self._by_key[key]
        kept.drop()

    def forget(self) -> None:
        """Keep nothing."""
        self._kept.clear()
        self._by_key.clear()

    def _family_of(self, pod: PodInfo, standing: Standing) -> Family:
        family = self._families.get(standing.family)
        if family is None:
            family = self._families[standing.family] = Family(pod, standing, self._lineup, self._cluster, self.asked)
        standing.family = family.key  # one object for all of them
        return family

    def _keep(self, pod: PodInfo, standing: Standing, family: Family) -> Kept:
        kept = Kept(pod, standing, family, self._lineup, self._cluster, self.asked)
        key = (family, standing.sums)
        standing.keep(kept)
        self._by_key[key] = kept
        self._kept[kept] = key
        each = _BYTES_PER_ENTRY + _BYTES_PER_ROW * self._cluster.nodes.capacity
        while len(self._kept) > max(_FEWEST_KEPT, self._memory // each):
            del self._by_key[self._kept.popitem(last=False)[1]]
        return kept
