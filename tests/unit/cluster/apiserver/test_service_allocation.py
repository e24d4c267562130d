"""Addresses and node ports of services: what recordings of a server cannot show. The rest is part of the contract."""

from __future__ import annotations

import ipaddress
import random
from typing import Any

import pytest

from kubesched.cluster.apiserver.admission.service_ranges import (
    NODE_PORTS,
    SERVICE_RANGE,
    Allocation,
    Allocator,
    RangeRefusalError,
)
from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.apiserver.options import WriteOptions
from kubesched.errors import RequestRefusedError
from kubesched.objects.base import Json


def create(api: Api, name: str, *, dry_run: bool = False, ports: int = 1, **spec: Any) -> Json:
    service = {
        "metadata": {"name": name},
        "spec": {"ports": [{"name": f"p{n}", "port": 80 + n} for n in range(ports)], **spec},
    }
    made = api.create(api.catalog.named("services"), service, "default", WriteOptions(dry_run=dry_run)).decode()
    found: Json = made["spec"]
    return found


def test_addresses_and_ports_are_handed_out_once(api: Api) -> None:
    """Each of its own, from the part that is not kept for those who ask."""
    made = [create(api, f"s{n}", type="NodePort", ports=3) for n in range(60)]
    addresses = {ipaddress.IPv4Address(spec["clusterIP"]) for spec in made}
    ports = {port["nodePort"] for spec in made for port in spec["ports"]}
    assert len(addresses) == 60
    assert len(ports) == 180
    assert all(address in SERVICE_RANGE and address >= SERVICE_RANGE[257] for address in addresses)
    assert min(ports) >= NODE_PORTS[86]
    assert max(ports) <= NODE_PORTS[-1]


def test_a_full_range_is_refused_and_a_deletion_makes_room(api: Api) -> None:
    """The kept part is handed out last; what a deleted service had is free at once."""
    for n in range(27):
        create(api, f"s{n}", type="NodePort", ports=100)
    create(api, "last", type="NodePort", ports=len(NODE_PORTS) - 2700)
    with pytest.raises(RequestRefusedError) as caught:
        create(api, "more", type="NodePort")
    assert caught.value.message == "Internal error occurred: failed to allocate a nodePort: range is full"
    freed = {port["nodePort"] for port in api.get(api.catalog.named("services"), "s3", "default")["spec"]["ports"]}
    api.delete(api.catalog.named("services"), "s3", "default")
    assert create(api, "more", type="NodePort")["ports"][0]["nodePort"] in freed


def test_a_refused_service_keeps_nothing(api: Api) -> None:
    """Neither do a dry run and a service that is invalid for another reason."""
    create(api, "dry", dry_run=True, type="NodePort", clusterIP="10.96.0.9")
    with pytest.raises(RequestRefusedError, match=r"spec\.sessionAffinity"):
        create(api, "wrong", clusterIP="10.96.0.9", sessionAffinity="Some")
    assert create(api, "right", clusterIP="10.96.0.9")["clusterIPs"] == ["10.96.0.9"]


def test_a_dry_run_is_refused_what_is_taken(api: Api) -> None:
    """As the real creation would be."""
    with pytest.raises(RequestRefusedError, match="provided IP is already allocated"):
        create(api, "dry", dry_run=True, clusterIP="10.96.0.1")


def test_a_change_of_type_frees_what_it_drops(api: Api) -> None:
    """Ports and health check of a load balancer, and the address of what becomes a name."""
    services = api.catalog.named("services")
    create(api, "a", type="LoadBalancer", externalTrafficPolicy="Local", clusterIP="10.96.0.9")
    before = api.get(services, "a", "default")["spec"]

    def rename(value: Json) -> Json:
        value["spec"] |= {"type": "ExternalName", "externalName": "example.com"}
        return value

    api.change(services, "a", "default", rename)
    asked = {"type": "NodePort", "clusterIP": before["clusterIP"]}
    ports = [
        {"name": "a", "port": 1, "nodePort": before["healthCheckNodePort"]},
        {"name": "b", "port": 2, "nodePort": before["ports"][0]["nodePort"]},
    ]
    api.create(services, {"metadata": {"name": "b"}, "spec": {**asked, "ports": ports}}, "default")
    assert api.get(services, "b", "default")["spec"]["clusterIP"] == before["clusterIP"]


@pytest.mark.parametrize("asked", ["10.95.255.255", "10.96.0.0", "10.111.255.255", "10.112.0.0", "::10.96.0.9"])
def test_addresses_outside_the_range(asked: str) -> None:
    """Its first and last are not addresses of a host."""
    with pytest.raises(RangeRefusalError, match="does not match the current range"):
        Allocator([], random.Random(1)).take_address(asked)


def test_what_is_taken_within_one_service(api: Api) -> None:
    """A service cannot have one port twice, once for itself and once for health checks."""
    taken = Allocator([Allocation(None, frozenset({30001}))], random.Random(1))
    assert taken.take_port(30002) == 30002
    for port in (30001, 30002):
        with pytest.raises(RangeRefusalError, match="already allocated"):
            taken.take_port(port)
