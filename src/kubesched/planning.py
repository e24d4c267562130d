"""The public names of planning: hypotheses for `Simulation.what_if`, goals for `Simulation.defrag`, and their reports.

docs/planning.md is the guide. The modules behind it (`kubesched.apps.plan`) may change with any release.
"""

from kubesched.apps.plan.capacity import CapacityReport
from kubesched.apps.plan.defrag.goals import DrainNodes, Fit, FreeNodes, Rebalance
from kubesched.apps.plan.defrag.plan import DefragPlan
from kubesched.apps.plan.each import EachReport
from kubesched.apps.plan.hypotheses import (
    AddNodes,
    Apply,
    ChangeNode,
    Configure,
    Cordon,
    Delete,
    Drain,
    Remove,
    Scale,
)
from kubesched.apps.plan.rollout import RolloutReport
from kubesched.apps.plan.what_if import WhatIfReport

__all__ = [
    "AddNodes",
    "Apply",
    "CapacityReport",
    "ChangeNode",
    "Configure",
    "Cordon",
    "DefragPlan",
    "Delete",
    "Drain",
    "DrainNodes",
    "EachReport",
    "Fit",
    "FreeNodes",
    "Rebalance",
    "Remove",
    "RolloutReport",
    "Scale",
    "WhatIfReport",
]
