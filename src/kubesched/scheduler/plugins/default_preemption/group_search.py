"""Whom to evict for a pod group (feature gate WorkloadAwarePreemption): a dry run over the whole cluster at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubesched.objects import PodGroup
from kubesched.scheduler.framework import SUCCESS, ObjectStore, PodGroupDryRun, Status, Victims
from kubesched.scheduler.plugins.default_preemption.budgets import Budgets
from kubesched.scheduler.plugins.default_preemption.eligibility import NEVER, POLICY_NEVER
from kubesched.scheduler.plugins.default_preemption.preemptor import Preemptor
from kubesched.scheduler.plugins.default_preemption.victim_units import Unit, units_of

NO_VICTIMS: Final = "No preemption victims found for incoming preemptor"


async def search(
    preemptor: Preemptor, groups: ObjectStore[PodGroup], budgets: Budgets, dry_run: PodGroupDryRun
) -> tuple[Victims, Status]:
    """Remove everybody of lower priority, see whether the group fits, then spare as many as possible.

    The victims, the most important first, if the status is a success (selectVictimsOnDomain).
    """
    nobody = Victims(())
    if any(info.pod.spec.preemption_policy == NEVER for info in preemptor.pods):
        return nobody, Status.unschedulable(POLICY_NEVER)
    units = [unit for unit in units_of(dry_run.placed(), groups) if unit.priority < preemptor.priority]
    if not units:
        return nobody, Status.unresolvable(NO_VICTIMS)
    for unit in units:
        dry_run.remove(unit.pods)
    status = await dry_run.run()
    if not status.is_success:
        return nobody, status
    units.sort(key=lambda unit: unit.importance)
    evicted = await _spare(units, budgets.broken_by_units([unit.pods for unit in units]), dry_run)
    return Victims(tuple(info.pod for unit in evicted for info in unit.pods)), SUCCESS


async def _spare(units: Sequence[Unit], breaks_budget: Sequence[bool], dry_run: PodGroupDryRun) -> list[Unit]:
    """Who must go. Those whom a budget protects are tried first, then the others, the most important first."""
    must_go = [False] * len(units)
    for place in sorted(range(len(units)), key=lambda place: not breaks_budget[place]):
        dry_run.put_back(units[place].pods)
        if not (await dry_run.run()).is_success:
            dry_run.remove(units[place].pods)
            must_go[place] = True
    return [unit for unit, goes in zip(units, must_go, strict=True) if goes]
