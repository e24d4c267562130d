"""From chosen devices to what is written into a claim's status."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from kubesched.errors import InvalidObjectError
from kubesched.objects.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from kubesched.objects.dra import (
    AllocationResult,
    DeviceAllocationConfiguration,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
)
from kubesched.scheduler.plugins.dynamic_resources.node_classes import NodePools
from kubesched.scheduler.plugins.dynamic_resources.pools import PoolDevice
from kubesched.scheduler.plugins.dynamic_resources.requests import Alternative, ClaimPlan
from kubesched.scheduler.plugins.dynamic_resources.tentative_allocation import Pick


def allocation_of(
    plan: ClaimPlan,
    picks: Sequence[Pick],
    chosen: Sequence[Alternative],
    node: NodePools,
    node_name: str,
    new_share_id: Callable[[], str],
    *,
    whole_claim_config: bool,
) -> AllocationResult:
    """`chosen` names the alternative of each request; `whole_claim_config` is WHOLE_CLAIM_CONFIG.

    InvalidObjectError for a slice with an impossible selector.
    """
    configs = _configs(plan, chosen, once=whole_claim_config)
    if whole_claim_config:
        configs = (_without_requests_of_all(config, chosen) for config in configs)
    return AllocationResult(
        devices=DeviceAllocationResult(
            results=tuple(_result(pick, node, new_share_id) for pick in picks),
            config=tuple(configs),
        ),
        node_selector=_node_selector([_device(pick, node) for pick in picks], node_name),
    )


def _device(pick: Pick, node: NodePools) -> PoolDevice:
    pool, device = pick.position
    return node.pools[pool].devices[device]


def _result(pick: Pick, node: NodePools, new_share_id: Callable[[], str]) -> DeviceRequestAllocationResult:
    device = _device(pick, node)
    driver, pool = node.pools[pick.position[0]].id
    return DeviceRequestAllocationResult(
        request=pick.alternative.reference,
        driver=driver,
        pool=pool,
        device=device.name,
        admin_access=True if pick.alternative.admin_access else None,
        tolerations=pick.alternative.tolerations,
        binding_conditions=device.kind.device.binding_conditions,
        binding_failure_conditions=device.kind.device.binding_failure_conditions,
        share_id=new_share_id() if pick.consumed is not None else None,
        consumed_capacity=pick.consumed or {},
    )


def _configs(plan: ClaimPlan, chosen: Sequence[Alternative], *, once: bool) -> Iterable[DeviceAllocationConfiguration]:
    """Those of the classes, each once for all requests of the class, then those of the claim, once for each request
    that they are for unless `once`.
    """
    by_class: dict[str, list[Alternative]] = {}
    for alternative in chosen:
        by_class.setdefault(alternative.device_class.metadata.name, []).append(alternative)
    for alternatives in by_class.values():
        requests = tuple(alternative.reference for alternative in alternatives)
        for of_class in alternatives[0].device_class.spec.config:
            yield DeviceAllocationConfiguration(source="FromClass", requests=requests, opaque=of_class.opaque)
    for config in plan.claim.spec.devices.config:
        entry = DeviceAllocationConfiguration(source="FromClaim", requests=config.requests, opaque=config.opaque)
        if not config.requests:
            yield entry
            continue
        for alternative in chosen:
            if alternative.request in config.requests or alternative.reference in config.requests:
                yield entry
                if once:
                    break


def _without_requests_of_all(
    config: DeviceAllocationConfiguration, chosen: Sequence[Alternative]
) -> DeviceAllocationConfiguration:
    """No requests mean all of them."""
    named = config.requests
    is_for_all = all(alternative.request in named or alternative.reference in named for alternative in chosen)
    return replace(config, requests=()) if named and is_for_all else config


def _node_selector(devices: Iterable[PoolDevice], node_name: str) -> NodeSelector | None:
    """Where the claim can be used from: None for everywhere (createNodeSelector)."""
    term = NodeSelectorTerm()
    for device in devices:
        slice_, itself = device.resource_slice.spec, device.kind.device
        where = itself if slice_.per_device_node_selection else slice_
        if where.node_name is not None or itself.binds_to_node:
            only = NodeSelectorRequirement(key="metadata.name", operator="In", values=(node_name,))
            return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(only,)),))
        terms = where.node_selector.node_selector_terms if where.node_selector is not None else ()
        if len(terms) > 1:
            raise InvalidObjectError(f"unsupported ResourceSlice.NodeSelector with {len(terms)} terms")
        for other in terms:
            term = replace(
                term,
                match_fields=_joined(term.match_fields, other.match_fields),
                match_expressions=_joined(term.match_expressions, other.match_expressions),
            )
    return NodeSelector(node_selector_terms=(term,)) if term != NodeSelectorTerm() else None


def _joined(
    present: tuple[NodeSelectorRequirement, ...], added: Iterable[NodeSelectorRequirement]
) -> tuple[NodeSelectorRequirement, ...]:
    for requirement in added:
        if not any(_same(requirement, known) for known in present):
            present = (*present, requirement)
    return present


def _same(a: NodeSelectorRequirement, b: NodeSelectorRequirement) -> bool:
    return (a.key, a.operator, set(a.values)) == (b.key, b.operator, set(b.values))
