"""Whom to evict for a pod group: a dry run over the whole cluster at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from kubesched.objects import PodGroup
from kubesched.scheduler.framework import SUCCESS, ObjectStore, PodGroupDryRun, PodGroupStates, Status, Victims
from kubesched.scheduler.plugins.default_preemption.budgets import Budgets
from kubesched.scheduler.plugins.default_preemption.eligibility import NEVER, POLICY_NEVER
from kubesched.scheduler.plugins.default_preemption.preemptor import Preemptor
from kubesched.scheduler.plugins.default_preemption.victim_units import Unit, units_of, units_with_groups

NO_VICTIMS: Final = "No preemption victims found for incoming preemptor"
_NOBODY: Final = Victims(())


async def search(
    preemptor: Preemptor, groups: ObjectStore[PodGroup], budgets: Budgets, dry_run: PodGroupDryRun
) -> tuple[Victims, Status]:
    """As 1.36 did with WorkloadAwarePreemption: the group may land elsewhere with every victim that is spared."""
    if any(info.pod.spec.preemption_policy == NEVER for info in preemptor.pods):
        return _NOBODY, Status.unschedulable(POLICY_NEVER)

    async def fits() -> bool:
        return (await dry_run.run()).is_success

    return await _search(preemptor, units_of(dry_run.placed(), groups), budgets, dry_run, fits, each_pod=False)


async def search_as_one(
    preemptor: Preemptor,
    groups: ObjectStore[PodGroup],
    states: PodGroupStates,
    budgets: Budgets,
    dry_run: PodGroupDryRun,
) -> tuple[Victims, Status]:
    """As since 1.37: the group is placed once, as if all potential victims were gone, and stays there."""
    units = units_with_groups(dry_run.placed(), groups, states)
    return await _search(preemptor, units, budgets, dry_run, dry_run.keeps_nodes, each_pod=True)


async def _search(
    preemptor: Preemptor,
    units: Sequence[Unit],
    budgets: Budgets,
    dry_run: PodGroupDryRun,
    fits: Callable[[], Awaitable[bool]],
    *,
    each_pod: bool,
) -> tuple[Victims, Status]:
    """Remove everybody of lower priority, see whether the group fits, then spare as many as possible.

    The victims, the most important first, if the status is a success (selectVictimsOnDomain).
    """
    units = [unit for unit in units if unit.priority < preemptor.priority]
    if not units:
        return _NOBODY, Status.unresolvable(NO_VICTIMS)
    for unit in units:
        dry_run.remove(unit.pods)
    status = await dry_run.run()
    if not status.is_success:
        return _NOBODY, status
    units.sort(key=lambda unit: unit.importance)
    broken = budgets.broken_by_units([unit.pods for unit in units], each_pod=each_pod)
    must_go = [False] * len(units)
    # Those whom a budget protects are tried first, then the others, the most important first.
    for place in sorted(range(len(units)), key=lambda place: not broken[place]):
        dry_run.put_back(units[place].pods)
        if not await fits():
            dry_run.remove(units[place].pods)
            must_go[place] = True
    evicted = [unit for unit, goes in zip(units, must_go, strict=True) if goes]
    violations = sum(count for count, goes in zip(broken, must_go, strict=True) if goes)
    of_groups = sum(unit.pods[0].pod.spec.scheduling_group is not None for unit in evicted)
    return Victims(tuple(info.pod for unit in evicted for info in unit.pods), violations, of_groups), SUCCESS
