"""The filter: on which nodes can the pod's claims be used, or be allocated?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from kubesched.clock import Clock
from kubesched.columns import Booleans, Integers, NodeView
from kubesched.columns.node_matching import matching_selector
from kubesched.errors import InvalidObjectError
from kubesched.framework import Reason, Status, Verdict
from kubesched.objects import Pod
from kubesched.plugins.dynamic_resources.attempt import Attempt, NodeResult
from kubesched.plugins.dynamic_resources.binding_conditions import is_stuck
from kubesched.plugins.dynamic_resources.devices import CANNOT_ALLOCATE, INVALID_POOLS, Devices, wanted_by
from kubesched.plugins.dynamic_resources.extended_resources import NodeVariant, variant_for
from kubesched.plugins.dynamic_resources.requests import ClaimPlan, plan_claims

_REASONS: Final = (
    Reason.unresolvable("cannot schedule extended resource claim"),
    Reason.unresolvable("cannot fit resource"),
    Reason.unresolvable(CANNOT_ALLOCATE),
    Reason.unresolvable(INVALID_POOLS),
    Reason.unresolvable("resourceclaim not available on the node"),
)
_LEFT_OVER, _CANNOT_FIT, _CANNOT_ALLOCATE, _INVALID_POOLS, _NOT_AVAILABLE = (1 << k for k in range(len(_REASONS)))
_BIT_OF: Final = {CANNOT_ALLOCATE: _CANNOT_ALLOCATE, INVALID_POOLS: _INVALID_POOLS}


class TooSlow(Exception):  # noqa: N818 - a time limit, not an error of anybody
    """The search for devices on one node exceeded its time limit."""


class ClaimFilter:
    """One run of the filter over a view; results go into the attempt."""

    def __init__(
        self, devices: Devices, attempt: Attempt, pod: Pod, clock: Clock, timeout: float, binding_timeout: float
    ) -> None:
        self._devices = devices
        self._attempt = attempt
        self._pod = pod
        self._clock = clock
        self._timeout = timeout
        self._binding_timeout = binding_timeout
        self._variants: dict[int, NodeVariant] = {}

    def run(self, nodes: NodeView) -> Verdict:
        attempt = self._attempt
        bits = np.zeros(len(nodes), dtype=np.int64)
        special = attempt.claims.special
        if special is not None and special.spec.devices.requests:
            bits[:] = _LEFT_OVER
            return Verdict(bits, _REASONS)
        missing = self._missing_resources(nodes, bits)
        concerned = nodes.exists & (bits == 0)
        if not attempt.claims.own:
            concerned &= missing != 0  # elsewhere device plugins provide all that the pod wants
        errors: dict[int, Status] = {}
        if attempt.searches:
            errors = self._search(nodes, missing, concerned, bits)
        self._check_availability(nodes, concerned & (bits == 0), bits)
        if not errors:
            return Verdict(bits, _REASONS)
        failed = Verdict.of_statuses(nodes, errors)
        return Verdict(np.where(failed.bits != 0, failed.bits, bits), _REASONS, failed.special)

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
        if problem := self._devices.places.problem:
            return {int(position): Status.failed(problem) for position in positions}
        rows = nodes.row_ids()[positions]
        places = self._devices.places.of_rows(rows)
        shift = len(self._attempt.extended)
        kinds, first, kind_of = np.unique(places << shift | missing[positions], return_index=True, return_inverse=True)
        numbers = np.full(len(kinds), -1, dtype=np.int64)
        rejecting = np.zeros(len(kinds), dtype=np.int64)
        errors: dict[int, Status] = {}
        for k, kind in enumerate(kinds.tolist()):
            row = int(rows[first[k]])
            try:
                result = self._result(row, kind >> shift, kind & ((1 << shift) - 1))
            except TooSlow:
                status = Status.failed(f"node {nodes.table.names[row]}: timed out trying to allocate devices")
            except InvalidObjectError as error:
                status = Status.failed(error.problem)
            else:
                rejecting[k] = _BIT_OF[result.outcome.problem] if result.outcome.problem else 0
                if not rejecting[k]:
                    numbers[k] = len(self._attempt.results)
                    self._attempt.results.append(result)
                continue
            errors |= {int(position): status for position in positions[kind_of == k]}
        bits[positions] = rejecting[kind_of]
        self._remember(nodes, rows, numbers[kind_of])
        return errors

    def _remember(self, nodes: NodeView, rows: Integers, numbers: Integers) -> None:
        attempt = self._attempt
        if len(attempt.result_of_row) < len(nodes.table):
            known = attempt.result_of_row
            attempt.result_of_row = np.full(len(nodes.table), -1, dtype=np.int64)
            attempt.result_of_row[: len(known)] = known
        attempt.result_of_row[rows] = numbers

    def _result(self, row: int, place: int, missing: int) -> NodeResult:
        plans, wanted, variant = self._plans(missing)
        outcome = self._devices.search(row, place, plans, wanted, self._time_limit())
        return NodeResult(outcome, plans, variant)

    def _plans(self, missing: int) -> tuple[tuple[ClaimPlan, ...], bytes, NodeVariant | None]:
        """What to search for on nodes that lack these extended resources."""
        attempt = self._attempt
        known = attempt.plans.get(missing)
        if known is None:
            special, variant = attempt.claims.special, None
            claims = [claim for _, claim in attempt.claims.to_allocate()]
            if special is not None and special.status.allocation is None:
                resources = [name for k, (name, _) in enumerate(attempt.extended) if missing >> k & 1]
                variant = variant_for(self._pod, special, resources, self._devices.backing)
                claims[-1] = variant.claim
            plans = plan_claims(claims, self._devices.classes, self._devices.features)
            known = attempt.plans[missing] = (plans, wanted_by(plans), variant)
        return known

    def _time_limit(self) -> Callable[[], None]:
        if self._timeout <= 0:
            return lambda: None
        deadline = self._clock.monotonic() + self._timeout

        def check() -> None:
            if self._clock.monotonic() > deadline:
                raise TooSlow

        return check

    def _check_availability(self, nodes: NodeView, concerned: Booleans, bits: Integers) -> None:
        """Allocated claims must be usable from the node, and their devices must not have failed to get ready."""
        now = self._clock.time()
        for k, claim in enumerate(self._attempt.claims.claims):
            if claim.status.allocation is None:
                continue
            matcher = self._attempt.matchers.get(k)
            unusable = ~matching_selector(matcher, nodes) if matcher is not None else np.zeros_like(concerned)
            if self._devices.features.binding_conditions and is_stuck(claim, now, self._binding_timeout):
                unusable[:] = True
            unusable &= concerned
            if unusable.any():
                self._attempt.unavailable.add(k)
                bits[unusable] |= _NOT_AVAILABLE
