"""The filter: on which nodes can the pod's claims be used, or be allocated?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from kubesched.errors import InvalidObjectError
from kubesched.objects import Pod, encode
from kubesched.scheduler.columns import Booleans, Integers, NodeView
from kubesched.scheduler.columns.node_matching import matching_selector
from kubesched.scheduler.columns.types import grown
from kubesched.scheduler.framework import Handle, Reason, Status, Verdict
from kubesched.scheduler.plugins.dynamic_resources.attempt import Attempt, NodeResult, Wanted
from kubesched.scheduler.plugins.dynamic_resources.binding_conditions import is_stuck
from kubesched.scheduler.plugins.dynamic_resources.devices import Devices
from kubesched.scheduler.plugins.dynamic_resources.extended_resources import variant_for
from kubesched.scheduler.plugins.dynamic_resources.node_allocatable import (
    allocated_devices,
    misuse,
    picked_devices,
    shortages,
    statuses_of,
    used_by_others,
)
from kubesched.scheduler.plugins.dynamic_resources.outcomes import (
    CANNOT_ALLOCATE,
    INVALID_POOLS,
    UNKNOWN,
    Outcome,
    OutcomeCache,
)
from kubesched.scheduler.plugins.dynamic_resources.requests import ClaimPlan, plan_claims
from kubesched.scheduler.plugins.support.devices.budget import (
    STEPS_PER_SECOND,
    Budget,
    BudgetSpent,
)

_REASONS: Final = (
    Reason.unresolvable("cannot schedule extended resource claim"),
    Reason.unresolvable("cannot fit resource"),
    Reason.unresolvable(CANNOT_ALLOCATE),
    Reason.unresolvable(INVALID_POOLS),
    Reason.unresolvable("resourceclaim not available on the node"),
)
_LEFT_OVER, _CANNOT_FIT, _CANNOT_ALLOCATE, _INVALID_POOLS, _NOT_AVAILABLE = (1 << k for k in range(len(_REASONS)))
_TIMED_OUT: Final = "timed out trying to allocate devices"
_SECONDS_WITHOUT_TIMEOUT: Final = 10.0
"""How many steps a search may take where no time is given: as many as with kube-scheduler's default."""
_BIT_OF: Final = {CANNOT_ALLOCATE: _CANNOT_ALLOCATE, INVALID_POOLS: _INVALID_POOLS}


class ClaimFilter:
    """One run of the filter over a view; results go into the attempt."""

    def __init__(
        self, devices: Devices, attempt: Attempt, pod: Pod, handle: Handle, timeout: float, binding_timeout: float
    ) -> None:
        self._devices = devices
        self._attempt = attempt
        self._pod = pod
        self._clock = handle.clock
        self._pod_groups = handle.pod_groups
        self._timeout = timeout
        self._steps = int(STEPS_PER_SECOND * (timeout or _SECONDS_WITHOUT_TIMEOUT))
        self._binding_timeout = binding_timeout
        self._reasons = list(_REASONS)

    def run(self, nodes: NodeView) -> Verdict:
        attempt = self._attempt
        bits = np.zeros(len(nodes), dtype=np.int64)
        special = attempt.claims.special
        if special is not None and special.spec.devices.requests:
            bits[:] = _LEFT_OVER
            return Verdict(bits, _REASONS)
        if self._devices.features.node_allocatable:
            self._check_sharing(nodes, bits)
        missing = self._missing_resources(nodes, bits)
        concerned = nodes.exists & (bits == 0)
        if not attempt.claims.own:
            concerned &= missing != 0  # elsewhere device plugins provide all that the pod wants
        errors: dict[int, Status] = {}
        if attempt.searches:
            errors = self._search(nodes, missing, concerned, bits)
        elif attempt.claims.shared and self._devices.features.node_allocatable:
            errors = self._take_what_is_shared(nodes, concerned, bits)
        self._check_availability(nodes, concerned & (bits == 0), bits)
        reasons = tuple(self._reasons)
        if not errors:
            return Verdict(bits, reasons)
        failed = Verdict.of_statuses(nodes, errors)
        return Verdict(np.where(failed.bits != 0, failed.bits, bits), reasons, failed.special)

    def _reject(self, reason: Reason, positions: npt.NDArray[np.intp], bits: Integers) -> None:
        """For a reason that is not always the same."""
        if len(positions):
            if reason not in self._reasons:
                self._reasons.append(reason)
            bits[positions] |= 1 << self._reasons.index(reason)

    def _missing_resources(self, nodes: NodeView, bits: Integers) -> Integers:
        """Per node, bit k: devices must provide extended resource k, because no device plugin does."""
        missing = np.zeros(len(nodes), dtype=np.int64)
        for k, (resource, _) in enumerate(self._attempt.extended):
            absent = nodes.allocatable(resource) == 0
            if self._devices.backing.of(resource) is not None:
                missing |= absent.astype(np.int64) << k
            else:
                for position in np.flatnonzero(absent & nodes.exists).tolist():
                    node = nodes.node(position)
                    if node is not None and resource not in node.status.allocatable:
                        bits[position] = _CANNOT_FIT
        return missing

    def _search(self, nodes: NodeView, missing: Integers, concerned: Booleans, bits: Integers) -> dict[int, Status]:
        """Look for devices wherever it is worth it; errors by position."""
        positions = np.flatnonzero(concerned)
        if not len(positions):
            return {}
        self._devices.refresh()
        if problem := self._devices.node_classes.problem:
            return {int(position): Status.failed(problem) for position in positions}
        errors: dict[int, Status] = {}
        for lacking in np.unique(missing[positions]).tolist():
            errors |= self._search_for(lacking, nodes, positions[missing[positions] == lacking], bits)
        return errors

    def _search_for(
        self, lacking: int, nodes: NodeView, positions: npt.NDArray[np.intp], bits: Integers
    ) -> dict[int, Status]:
        """The same for nodes that lack the same extended resources."""
        try:
            wanted = self._wanted(lacking)
        except InvalidObjectError as error:
            return {int(position): Status.failed(error.problem) for position in positions}
        kept, rows = self._devices.outcomes_for(wanted.key), nodes.row_ids()[positions]
        node_classes = self._devices.node_classes.of_rows(rows)
        failures = self._fill(kept, wanted, nodes, rows, node_classes)
        numbers = kept.numbers(node_classes)
        rejecting = [_BIT_OF[outcome.problem] if outcome.problem else 0 for outcome in kept.outcomes]
        bits[positions] = np.array([*rejecting, 0], dtype=np.int64)[numbers]
        self._remember(nodes, rows, numbers, kept, wanted)
        errors: dict[int, Status] = {}
        if self._devices.features.node_allocatable:
            fitting = bits[positions] == 0
            for node_class in np.unique(node_classes[fitting & (numbers != UNKNOWN)]).tolist():
                at = positions[node_classes == node_class]
                outcome = kept.outcomes[int(kept.numbers(np.array([node_class]))[0])]
                errors |= self._take_from_nodes(wanted.plans, outcome, nodes, at, bits)
        failed = np.flatnonzero(numbers == UNKNOWN).tolist() if failures else []
        return errors | {int(positions[k]): failures[int(node_classes[k])] for k in failed}

    def _take_what_is_shared(self, nodes: NodeView, concerned: Booleans, bits: Integers) -> dict[int, Status]:
        """For a pod that needs no other devices than those that a pod of its group has just got."""
        self._devices.refresh()
        positions = np.flatnonzero(concerned)
        node_classes = self._devices.node_classes.of_rows(nodes.row_ids()[positions])
        errors: dict[int, Status] = {}
        for node_class in np.unique(node_classes).tolist():
            errors |= self._take_from_nodes((), Outcome(), nodes, positions[node_classes == node_class], bits)
        return errors

    def _take_from_nodes(
        self,
        plans: Sequence[ClaimPlan],
        outcome: Outcome,
        nodes: NodeView,
        positions: npt.NDArray[np.intp],
        bits: Integers,
    ) -> dict[int, Status]:
        """Claims may take resources from the node itself: it must have them besides what the pod requests anyway."""
        rows, resource_features = nodes.row_ids()[positions], nodes.cluster.templates.features
        pools = self._devices.node_classes.pools(int(rows[0]))
        try:
            taken = [
                (plan.claim, picked_devices(picks, pools)) for plan, picks in zip(plans, outcome.picks, strict=True)
            ]
            for k, allocation in self._attempt.claims.shared.items():
                taken.append((self._attempt.claims.claims[k], allocated_devices(allocation, pools)))
            statuses = statuses_of(self._pod, taken)
        except InvalidObjectError as error:
            return {int(position): Status.failed(error.problem) for position in positions}
        for row in rows.tolist():
            self._attempt.taken_from_node[row] = statuses
        if not statuses:
            return {}
        if problem := misuse(self._pod, statuses, resource_features):
            self._reject(Reason.unresolvable(problem), positions, bits)
            return {}
        for reason, where in shortages(self._pod, statuses, resource_features, nodes):
            self._reject(reason, positions[where[positions]], bits)
        return {}

    def _check_sharing(self, nodes: NodeView, bits: Integers) -> None:
        for k, claim in enumerate(self._attempt.claims.claims):
            if claim.status.allocation is not None:
                matcher = self._attempt.matchers.get(k)
                usable = matching_selector(matcher, nodes) if matcher is not None else nodes.exists
                for reason, where in used_by_others(claim, self._pod, self._pod_groups, nodes):
                    self._reject(reason, np.flatnonzero(where & usable & (bits == 0)), bits)

    def _fill(
        self, kept: OutcomeCache, wanted: Wanted, nodes: NodeView, rows: Integers, node_classes: Integers
    ) -> dict[int, Status]:
        """Search for classes without an outcome. Those where that failed stay without one: their status is returned."""
        failures: dict[int, Status] = {}
        unknown = np.flatnonzero(kept.numbers(node_classes) == UNKNOWN)
        fresh, first = np.unique(node_classes[unknown], return_index=True)
        row_of = dict(zip(fresh.tolist(), rows[unknown[first]].tolist(), strict=True))
        waits = kept.interrupted[0] if kept.interrupted is not None else UNKNOWN
        budget = Budget(self._clock, self._seconds_left(kept), self._steps - max(kept.steps, self._attempt.steps))
        late: list[int] = []
        for node_class in sorted(row_of, key=lambda number: (number == waits, number)):  # a long search comes last
            try:
                kept.add(node_class, self._devices.search(row_of[node_class], wanted.plans, kept, budget))
            except BudgetSpent:
                late = [number for number in row_of if number not in failures and kept.is_unknown(number)]
                break
            except InvalidObjectError as error:
                failures[node_class] = Status.failed(error.problem)
        self._devices.long_searches.took(budget.seconds)
        for account in (kept, self._attempt):
            account.seconds += budget.seconds
            account.steps += budget.steps
        found_one = bool(late) and kept.fits_any(node_classes)
        names = {number: nodes.table.names[row_of[number]] for number in late}
        return failures | {number: self._late(name, kept, found_one=found_one) for number, name in names.items()}

    def _seconds_left(self, kept: OutcomeCache) -> float:
        """Of the pod's time, and of what it may take of everybody's at once."""
        left = self._devices.long_searches.seconds_at_once() - self._attempt.seconds
        return min(left, self._timeout - kept.seconds) if self._timeout > 0 else left

    def _late(self, node: str, kept: OutcomeCache, *, found_one: bool) -> Status:
        """For a node that was not searched to the end. If the pod can be elsewhere, it does without it."""
        if found_one:
            return Status.unschedulable(_TIMED_OUT)
        if max(kept.steps, self._attempt.steps) >= self._steps:
            return Status.failed(f"node {node}: gave up trying to allocate devices after {self._steps} steps")
        goes_on = self._timeout <= 0 or kept.seconds < self._timeout
        note = ", the next attempt goes on from there" if goes_on else ""
        return Status.failed(f"node {node}: {_TIMED_OUT}{note}")

    def _remember(self, nodes: NodeView, rows: Integers, numbers: Integers, kept: OutcomeCache, wanted: Wanted) -> None:
        """Note for what follows the filter what was found for each node that fits."""
        attempt = self._attempt
        if len(attempt.result_of_row) < len(nodes.table):
            attempt.result_of_row = grown(attempt.result_of_row, len(nodes.table), UNKNOWN)
        base = len(attempt.results)
        attempt.results += [NodeResult(outcome, wanted) for outcome in kept.outcomes]
        fitting = [base + k if not outcome.problem else UNKNOWN for k, outcome in enumerate(kept.outcomes)]
        attempt.result_of_row[rows] = np.array([*fitting, UNKNOWN], dtype=np.int64)[numbers]

    def _wanted(self, lacking: int) -> Wanted:
        """What to search for on nodes that lack these extended resources."""
        attempt = self._attempt
        known = attempt.wanted.get(lacking)
        if known is None:
            special, variant = attempt.claims.special, None
            claims = [claim for _, claim in attempt.claims.to_allocate()]
            if special is not None and special.status.allocation is None:
                resources = [name for k, (name, _) in enumerate(attempt.extended) if lacking >> k & 1]
                variant = variant_for(self._pod, special, resources, self._devices.backing)
                claims[-1] = variant.claim
            plans = plan_claims(claims, self._devices.classes, self._devices.features)
            key = encode([claim.spec for claim in claims])
            known = attempt.wanted[lacking] = Wanted(plans, key, variant)
        return known

    def _check_availability(self, nodes: NodeView, concerned: Booleans, bits: Integers) -> None:
        """Allocated claims must be usable from the node, and their devices must not have failed to get ready."""
        now = self._clock.time()
        for k, claim in enumerate(self._attempt.claims.claims):
            if self._attempt.claims.allocation(k) is None:
                continue
            matcher = self._attempt.matchers.get(k)
            unusable = ~matching_selector(matcher, nodes) if matcher is not None else np.zeros_like(concerned)
            if self._devices.features.binding_conditions and is_stuck(claim, now, self._binding_timeout):
                unusable[:] = True
            unusable &= concerned
            if unusable.any():
                if claim.status.allocation is not None:
                    self._attempt.unavailable.add(k)
                bits[unusable] |= _NOT_AVAILABLE
