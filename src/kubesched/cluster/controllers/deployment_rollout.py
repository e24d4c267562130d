"""How many replicas each ReplicaSet of a Deployment should have next. Pure arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

Sizes = dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutMember:
    """A ReplicaSet as a rollout sees it. `largest` is the size of the whole Deployment when it was last scaled."""

    name: str
    replicas: int
    available: int = 0
    created: float = 0.0
    largest: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutTarget:
    """What the Deployment asks for, in absolute numbers."""

    replicas: int
    surge: int
    unavailable: int

    @property
    def at_least_available(self) -> int:
        return self.replicas - self.unavailable


def grown(target: RolloutTarget, new: int, total: int) -> int:
    """The new ReplicaSet's size, when all of them together have `total` replicas (`NewRSNewReplicas`)."""
    room = target.replicas + target.surge - total
    return new if room <= 0 else new + min(room, target.replicas - new)


def rolled(target: RolloutTarget, new: RolloutMember, old: Sequence[RolloutMember]) -> Sizes:
    """One step of a rolling update: grow the new one, or else shrink the old ones (`rolloutRolling`)."""
    if new.replicas > target.replicas:
        return {new.name: target.replicas}
    if new.replicas < target.replicas:
        size = grown(target, new.replicas, new.replicas + sum(member.replicas for member in old))
        if size != new.replicas:
            return {new.name: size}
    return _shrunk(target, new, sorted(old, key=lambda member: (member.created, member.name)))


def _shrunk(target: RolloutTarget, new: RolloutMember, old: Sequence[RolloutMember]) -> Sizes:
    total = new.replicas + sum(member.replicas for member in old)
    removable = total - target.at_least_available - (new.replicas - new.available)
    if removable <= 0:
        return {}
    after_sick, sick_gone = [], 0
    for member in old:  # those that do nothing go first: they are in the way, and nobody misses them
        sick = min(removable - sick_gone, max(0, member.replicas - member.available))
        sick_gone += sick
        after_sick.append(replace(member, replicas=member.replicas - sick))
    spare = new.available + sum(member.available for member in old) - target.at_least_available
    sizes: Sizes = {}
    for before, member in zip(old, after_sick, strict=True):
        gone = min(member.replicas, max(0, spare))
        spare -= gone
        if member.replicas - gone != before.replicas:
            sizes[member.name] = member.replicas - gone
    return sizes


def rescaled(target: RolloutTarget, new: RolloutMember | None, old: Sequence[RolloutMember]) -> Sizes:
    """After a change of the Deployment's replicas: in proportion, if a rollout is under way (`scale`)."""
    members = [*old, *([new] if new is not None else [])]
    active = [member for member in members if member.replicas > 0]
    if len(active) <= 1:
        newest = new or max(old, key=lambda member: member.created, default=None)
        only = active[0] if active else newest
        return {only.name: target.replicas} if only is not None and only.replicas != target.replicas else {}
    if new is not None and new.replicas == target.replicas and new.available == target.replicas:
        return {member.name: 0 for member in old if member.replicas}
    allowed = target.replicas + target.surge if target.replicas else 0
    to_add = allowed - sum(member.replicas for member in active)
    # The largest first; of equals the newest first when growing, the oldest first when shrinking.
    direction = -1 if to_add > 0 else 1
    active.sort(key=lambda member: (-member.replicas, direction * member.created, member.name))
    sizes, added = {member.name: member.replicas for member in active}, 0
    for member in active:
        change = _proportion(target, member, to_add - added)
        sizes[member.name] += change
        added += change
    sizes[active[0].name] = max(0, sizes[active[0].name] + to_add - added)
    return {member.name: sizes[member.name] for member in active if sizes[member.name] != member.replicas}


def _proportion(target: RolloutTarget, member: RolloutMember, left: int) -> int:
    if left == 0:
        return 0
    if target.replicas == 0:
        return max(-member.replicas, left)
    share = member.replicas * (target.replicas + target.surge) / (member.largest or target.replicas)
    change = int(share + 0.5) - member.replicas
    return min(change, left) if left > 0 else max(change, left)
