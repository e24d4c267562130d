"""The addresses and node ports of a cluster's services: what there is, what is taken, what comes next.

What is taken is read from the stored services themselves, so that nothing is ever lost, leaked or out of step: a
deletion, a change of type or a restart frees exactly what it should. Each version of a service is read once.
"""

from __future__ import annotations

import ipaddress
import random
from collections.abc import Collection
from itertools import chain
from typing import Final, NamedTuple

from kubesched.cluster.apiserver.storage import Bucket
from kubesched.cluster.apiserver.validation.service_addresses import EXTERNAL, HEADLESS
from kubesched.cluster.apiserver.validation.services import WITH_NODE_PORTS, needs_health_check
from kubesched.objects.base import Json

SERVICE_RANGE: Final = ipaddress.IPv4Network("10.96.0.0/12")
NODE_PORTS: Final = range(30000, 32768)
# The beginning of each range is left to those who ask for a certain one, as long as there are others
# (`calculateRangeOffset` of both allocators upstream).
_ASKED_ADDRESSES: Final = 256
_ASKED_PORTS: Final = 86

_ADDRESSES: Final = range(int(SERVICE_RANGE.network_address) + 1, int(SERVICE_RANGE.broadcast_address))


class RangeRefusalError(Exception):
    """What is asked for is not to be had; the message is that of kube-apiserver's allocator."""


class Allocation(NamedTuple):
    """What one service has. Ports are numbers: TCP and UDP share them."""

    address: int | None
    ports: frozenset[int]


class Allocator:
    """What all services have, at the moment, and what one more gets on top of that."""

    def __init__(self, held: Collection[Allocation], rng: random.Random) -> None:
        self._addresses = {item.address for item in held}
        self._ports = {port for item in held for port in item.ports}
        self._rng = rng

    def take_address(self, asked: str = "") -> str:
        """An address: the one that is asked for, or any; RangeRefusalError if it cannot be."""
        if not asked:
            number = _any_free(_ADDRESSES, _ASKED_ADDRESSES, self._addresses, self._rng)
        else:
            number = int(ipaddress.ip_address(asked))
            if ":" in asked or number not in _ADDRESSES:
                raise RangeRefusalError("the provided network does not match the current range")
            if number in self._addresses:
                raise RangeRefusalError("provided IP is already allocated")
        self._addresses.add(number)
        return str(ipaddress.IPv4Address(number))

    def take_port(self, asked: int = 0) -> int:
        """A node port, in the same way."""
        if not asked:
            asked = _any_free(NODE_PORTS, _ASKED_PORTS, self._ports, self._rng)
        elif asked not in NODE_PORTS:
            valid = f"{NODE_PORTS[0]}-{NODE_PORTS[-1]}"
            raise RangeRefusalError(f"provided port is not in the valid range. The range of valid ports is {valid}")
        elif asked in self._ports:
            raise RangeRefusalError("provided port is already allocated")
        self._ports.add(asked)
        return asked


class StoredAllocations:
    """What each stored service has."""

    def __init__(self, services: Bucket) -> None:
        self._services = services
        self._read: dict[tuple[str, str], tuple[int, Allocation]] = {}

    def all_but(self, key: tuple[str, str] | None) -> list[Allocation]:
        """Of all services, or of all others."""
        known, self._read = self._read, {}
        for entry in self._services.entries.values():
            version, held = known.get(entry.key, (0, None))
            if held is None or version != entry.version:
                held = allocation_of(entry.decode()["spec"])
            self._read[entry.key] = (entry.version, held)
        return [held for owner, (_, held) in self._read.items() if owner != key]


def allocation_of(spec: Json) -> Allocation:
    address = spec.get("clusterIP", "")
    has_address = spec.get("type") != EXTERNAL and address not in ("", HEADLESS)
    ports = {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}
    if spec.get("type") not in WITH_NODE_PORTS:
        ports.clear()
    if needs_health_check(spec) and spec.get("healthCheckNodePort"):
        ports.add(spec["healthCheckNodePort"])
    return Allocation(int(ipaddress.ip_address(address)) if has_address else None, frozenset(ports))


def _any_free(numbers: range, reserved: int, taken: Collection[int | None], rng: random.Random) -> int:
    """The first free one after a random one, of the later part if there is any."""
    for part in (numbers[reserved:], numbers[:reserved]):
        for number in chain(part[rng.randrange(len(part)) :], part):
            if number not in taken:
                return number
    raise RangeRefusalError("range is full")
