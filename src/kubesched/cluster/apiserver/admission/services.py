"""What a service gets from the cluster: its address, the family of it, its node ports.

`allocateCreate` and `allocateUpdate` of the service registry upstream, for a cluster that has IPv4 only. A dry run is
refused what a real one would be (upstream lets it have a taken address and an impossible port).
"""

from __future__ import annotations

from kubesched.cluster.apiserver import status
from kubesched.cluster.apiserver.admission.service_ranges import Allocator, RangeRefusalError, StoredAllocations
from kubesched.cluster.apiserver.problems import Problem, invalid
from kubesched.cluster.apiserver.resource import AdmissionContext, AdmissionPlugin
from kubesched.cluster.apiserver.validation.service_addresses import EXTERNAL, HEADLESS, address_problems, family_of
from kubesched.cluster.apiserver.validation.services import WITH_NODE_PORTS, needs_health_check
from kubesched.errors import RequestRefusedError
from kubesched.objects.base import Json


class ServiceAdmission(AdmissionPlugin):
    """Fills in what a service leaves to the cluster, in place, or refuses what it asks for."""

    def __init__(self, context: AdmissionContext) -> None:
        self._resource = context.resource
        self._allocations = StoredAllocations(context.stored(context.resource.qualified))
        self._rng = context.rng

    def admit(self, value: Json, old: Json | None) -> None:
        if old is None:
            self._create(value)
        else:
            self._update(value, old)

    def _create(self, service: Json) -> None:
        spec, name = service["spec"], service["metadata"].get("name", "")
        if spec.get("clusterIP") and not spec.get("clusterIPs"):
            spec["clusterIPs"] = [spec["clusterIP"]]
        self._settle_families(spec, name)
        taken = Allocator(self._allocations.all_but(None), self._rng)
        self._take_address(spec, name, taken)
        if spec["type"] in WITH_NODE_PORTS:
            self._take_ports(spec, name, taken)
        if needs_health_check(spec):
            _take_health_check_port(spec, taken)

    def _update(self, service: Json, old: Json) -> None:
        """The service keeps what it had and still needs; what it needs no longer is free with this write."""
        spec, before, metadata = service["spec"], old["spec"], old["metadata"]
        _keep_allocated(spec, before)
        _settle_addresses(spec, before)
        self._settle_families(spec, metadata["name"])
        key = (metadata.get("namespace", ""), metadata["name"])
        taken = Allocator(self._allocations.all_but(key), self._rng)
        if before["type"] == EXTERNAL:
            self._take_address(spec, metadata["name"], taken)
        if spec["type"] in WITH_NODE_PORTS:
            self._change_ports(spec, before, metadata["name"], taken)
        if needs_health_check(spec) and not needs_health_check(before):
            _take_health_check_port(spec, taken)

    def _settle_families(self, spec: Json, name: str) -> None:
        """`initIPFamilyFields`."""
        if spec["type"] == EXTERNAL:
            return
        abstract = spec.get("clusterIP") == HEADLESS and not spec.get("selector")  # its endpoints are others' business
        policy = spec.setdefault("ipFamilyPolicy", "RequireDualStack" if abstract else "SingleStack")
        self._refuse_any(name, address_problems(spec))
        addresses, families = spec.get("clusterIPs") or [], list(spec.get("ipFamilies") or ())
        problems = _single_stack_problems(policy, addresses, families)
        for index, address in enumerate(addresses):
            if address != HEADLESS and index >= len(families):
                if family_of(address) == "IPv4":
                    families.append("IPv4")
                else:
                    why = f"{family_of(address)} is not configured on this cluster"
                    problems.append(invalid(f"spec.clusterIPs[{index}]", addresses, why))
        self._refuse_any(name, problems)
        spec["ipFamilies"] = families = families or ["IPv4"]
        if abstract:
            if len(families) == 1 and policy != "SingleStack":
                families.append("IPv6" if families == ["IPv4"] else "IPv4")
            return
        if policy == "RequireDualStack":
            why = "this cluster is not configured for dual-stack services"
            problems.append(invalid("spec.ipFamilyPolicy", policy, why))
        for index, family in enumerate(families):
            if family != "IPv4":
                problems.append(invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster"))
        self._refuse_any(name, problems)

    def _take_address(self, spec: Json, name: str, taken: Allocator) -> None:
        if spec["type"] == EXTERNAL or spec.get("clusterIP") == HEADLESS:
            return
        asked, addresses = spec.get("clusterIP", ""), spec.get("clusterIPs") or [""]
        try:
            address = taken.take_address(asked)
        except RangeRefusalError as refusal:
            if not asked:
                raise status.internal(f'failed to allocate a serviceIP for Service "{name}": {refusal}') from refusal
            why = f"failed to allocate IP {asked}: {refusal}"
            raise status.invalid(self._resource, name, [invalid("spec.clusterIPs", addresses, why)]) from refusal
        spec["clusterIP"] = asked or address
        spec["clusterIPs"] = [spec["clusterIP"]]

    def _take_ports(self, spec: Json, name: str, taken: Allocator) -> None:
        """`initNodePorts`: what is the same port by TCP and UDP gets one node port for both."""
        given: dict[int, int] = {}
        for index, port in enumerate(spec.get("ports") or ()):
            number, asked = port.get("port", 0), port.get("nodePort", 0)
            if not asked and not _wants_node_ports(spec):
                continue
            if number not in given:
                wanted = next(
                    (p["nodePort"] for p in spec["ports"] if p.get("port") == number and p.get("nodePort")), 0
                )
                port["nodePort"] = given[number] = self._take_port(wanted, index, name, taken)
            elif not asked:
                port["nodePort"] = given[number]
            elif asked != given[number]:
                self._take_port(asked, index, name, taken)

    def _change_ports(self, spec: Json, before: Json, name: str, taken: Allocator) -> None:
        """`updateNodePorts`: those that the service had are its own."""
        own = {port["nodePort"] for port in before.get("ports") or () if port.get("nodePort")}
        seen: set[tuple[str, int]] = set()
        for index, port in enumerate(spec.get("ports") or ()):
            asked = port.get("nodePort", 0)
            if not asked and not _wants_node_ports(spec):
                continue
            if not asked or asked not in own:
                port["nodePort"] = self._take_port(asked, index, name, taken)
                own.add(port["nodePort"])
            key = (port["protocol"], port["nodePort"])
            if key in seen:
                raise RequestRefusedError(500, "", f"duplicate nodePort: {{{key[0]} {key[1]}}}")
            seen.add(key)

    def _take_port(self, asked: int, index: int, name: str, taken: Allocator) -> int:
        try:
            return taken.take_port(asked)
        except RangeRefusalError as refusal:
            if not asked:
                raise status.internal(f"failed to allocate a nodePort: {refusal}") from refusal
            problem = invalid(f"spec.ports[{index}].nodePort", asked, str(refusal))
            raise status.invalid(self._resource, name, [problem]) from refusal

    def _refuse_any(self, name: str, problems: list[Problem]) -> None:
        if problems:
            raise status.invalid(self._resource, name, problems)


def _take_health_check_port(spec: Json, taken: Allocator) -> None:
    asked = spec.get("healthCheckNodePort", 0)
    try:
        spec["healthCheckNodePort"] = taken.take_port(asked)
    except RangeRefusalError as refusal:
        what = "requested HealthCheck NodePort" if asked else "a HealthCheck NodePort"
        raise status.internal(f"failed to allocate {what} {asked}: {refusal}") from refusal


def _single_stack_problems(policy: str, addresses: list[str], families: list[str]) -> list[Problem]:
    if policy != "SingleStack":
        return []
    why = "must be 'RequireDualStack' or 'PreferDualStack' when multiple {} are specified"
    named = (("cluster IPs", addresses), ("IP families", families))
    return [invalid("spec.ipFamilyPolicy", policy, why.format(noun)) for noun, items in named if len(items) == 2]


def _wants_node_ports(spec: Json) -> bool:
    return bool(spec["type"] == "NodePort" or spec.get("allocateLoadBalancerNodePorts", True))


def _keep_allocated(spec: Json, before: Json) -> None:
    """Who replaces a service need not know what it was given (`patchAllocatedValues`)."""
    if EXTERNAL not in (spec["type"], before["type"]):
        for key in ("clusterIP", "clusterIPs"):
            if not spec.get(key) and before.get(key):
                spec[key] = before[key]
    if spec["type"] in WITH_NODE_PORTS and before["type"] in WITH_NODE_PORTS:
        by_name = {port.get("name", ""): port.get("nodePort", 0) for port in before.get("ports") or ()}
        named = {port.get("nodePort", 0) for port in spec.get("ports") or ()}
        for port in spec.get("ports") or ():
            had = by_name.get(port.get("name", ""), 0)
            if not port.get("nodePort") and had and had not in named:
                port["nodePort"] = had
    if needs_health_check(spec) and needs_health_check(before) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = before["healthCheckNodePort"]


def _settle_addresses(spec: Json, before: Json) -> None:
    """Who changes only the first address means the list as well (`normalizeClusterIPs`)."""
    address, addresses = spec.get("clusterIP", ""), spec.get("clusterIPs")
    if address == before.get("clusterIP", "") or (addresses or []) != (before.get("clusterIPs") or []):
        return
    if address:
        spec["clusterIPs"] = [address]
    else:
        spec.pop("clusterIPs", None)
