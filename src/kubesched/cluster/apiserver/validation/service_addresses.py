"""Addresses of services and their families (`ValidateServiceClusterIPsRelatedFields` and its like upstream)."""

from __future__ import annotations

import ipaddress
from typing import Final

from kubesched.cluster.apiserver.problems import Problem, duplicate, invalid, required, unsupported
from kubesched.objects.base import Json

HEADLESS: Final = "None"
EXTERNAL: Final = "ExternalName"
FAMILIES: Final = ("IPv4", "IPv6")
POLICIES: Final = ("PreferDualStack", "RequireDualStack", "SingleStack")
_FIXED: Final = "may not change once set"
_NO_ADDRESS: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


def is_headless(spec: Json) -> bool:
    return bool(spec.get("clusterIPs") == [HEADLESS])


def family_of(address: str) -> str:
    return "IPv6" if ":" in address else "IPv4"


def address_problems(spec: Json) -> list[Problem]:
    """Of any service that has an address: whether its four fields go together."""
    if spec.get("type") == EXTERNAL:
        return []
    addresses, families = spec.get("clusterIPs") or [], spec.get("ipFamilies") or []
    problems = _first(spec.get("clusterIP", ""), addresses)
    seen: set[str] = set()
    for index, family in enumerate(families):
        if family not in FAMILIES:
            problems.append(unsupported(f"spec.ipFamilies[{index}]", family, FAMILIES))
        if family in seen:
            problems.append(duplicate(f"spec.ipFamilies[{index}]", family))
        seen.add(family)
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in POLICIES:
        problems.append(unsupported("spec.ipFamilyPolicy", policy, POLICIES))
    wrong = _each(addresses)
    problems += wrong
    if len(addresses) > 2:
        problems.append(invalid("spec.clusterIPs", addresses, "may only hold up to 2 values"))
    if wrong:
        return problems
    kinds = [family_of(address) for address in addresses]
    if len(kinds) > 1 and sorted(kinds) != sorted(FAMILIES):
        problems.append(invalid("spec.clusterIPs", addresses, "may specify no more than one IP for each IP family"))
    if not is_headless(spec):
        for index, (address, kind, family) in enumerate(zip(addresses, kinds, families, strict=False)):
            if family in FAMILIES and family != kind:
                expected = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
                problems.append(invalid(f"spec.clusterIPs[{index}]", address, expected))
    return problems


def address_update_problems(spec: Json, old: Json) -> list[Problem]:
    """The address that a service has stays its own; so does its family."""
    if EXTERNAL in (spec.get("type"), old.get("type")) or (is_headless(spec) and is_headless(old)):
        return []
    new_addresses, old_addresses = spec.get("clusterIPs") or [], old.get("clusterIPs") or []
    problems = [
        invalid(f"spec.clusterIPs[{index}]", new_addresses, _FIXED)
        for index, (new, before) in enumerate(zip(new_addresses, old_addresses, strict=False))
        if new != before
    ]
    new_families, old_families = spec.get("ipFamilies") or [], old.get("ipFamilies") or []
    if is_headless(spec) == is_headless(old) and new_families[:1] != old_families[:1]:
        problems.append(invalid("spec.ipFamilies[0]", new_families, _FIXED))
    return problems


def ip_problems(address: str, path: str) -> list[Problem]:
    """Strictly (`StrictIPCIDRValidation`): no leading zeros, no IPv4 in the clothes of IPv6."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return [invalid(path, address, "must not have leading 0s" if _has_leading_zeros(address) else _NO_ADDRESS)]
    if "%" in address:  # a zone, which Go does not take here
        return [invalid(path, address, _NO_ADDRESS)]
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        return [invalid(path, address, "must not be an IPv4-mapped IPv6 address")]
    return []


def external_ip_problems(address: str, path: str) -> list[Problem]:
    """An address that traffic may come to from outside (`ValidateEndpointIP`)."""
    if problems := ip_problems(address, path):
        return problems
    parsed = ipaddress.ip_address(address)
    if parsed.is_unspecified:
        return [invalid(path, address, f"may not be unspecified ({address})")]
    if parsed.is_loopback:
        return [invalid(path, address, "may not be in the loopback range (127.0.0.0/8, ::1/128)")]
    if parsed.is_link_local:
        return [invalid(path, address, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")]
    local_multicast = ipaddress.ip_network("224.0.0.0/24" if parsed.version == 4 else "ff02::/16")
    if parsed in local_multicast:
        why = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        return [invalid(path, address, why)]
    return []


def _first(address: str, addresses: list[str]) -> list[Problem]:
    """The singular field and the first of the plural one are the same thing."""
    if address and not addresses:
        return [required("spec.clusterIPs")]
    if address and addresses[0] != address:
        return [invalid("spec.clusterIPs", addresses, "first value must match `clusterIP`")]
    if addresses and not address:
        return [invalid("spec.clusterIPs", addresses, "must be empty when `clusterIP` is not specified")]
    return []


def _each(addresses: list[str]) -> list[Problem]:
    problems: list[Problem] = []
    for index, address in enumerate(addresses):
        if index == 0 and address == HEADLESS:
            if len(addresses) > 1:
                problems.append(invalid("spec.clusterIPs", addresses, "'None' must be the first and only value"))
        else:
            problems += ip_problems(address, f"spec.clusterIPs[{index}]")
    return problems


def _has_leading_zeros(address: str) -> bool:
    parts = address.split(".")
    stripped = ".".join(part.lstrip("0") or "0" for part in parts)
    try:
        ipaddress.IPv4Address(stripped)
    except ValueError:
        return False
    return all(part.isascii() and part.isdecimal() for part in parts)
