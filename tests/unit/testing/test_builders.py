"""The builders say much with little."""

from __future__ import annotations

from kubesched.objects.affinity import Taint, Toleration
from kubesched.testing import (
    make_csi_capacity,
    make_csi_driver,
    make_csi_node,
    make_device_class,
    make_namespace,
    make_node,
    make_pdb,
    make_pod,
    make_pod_group,
    make_priority_class,
    make_pv,
    make_pvc,
    make_replica_set,
    make_replication_controller,
    make_resource_claim,
    make_resource_claim_template,
    make_resource_slice,
    make_service,
    make_stateful_set,
    make_storage_class,
    make_volume_attachment,
)


def test_a_pod_with_simple_arguments() -> None:
    """One container, pending, in the default namespace."""
    pod = make_pod("web", cpu="100m", requests={"example.com/gpu": 1}, host_ports=[80], claims=["data"], gates=["hold"])
    assert pod.metadata.uid == "default/web"
    assert {name: str(amount) for name, amount in pod.spec.containers[0].resources.requests.items()} == {
        "cpu": "100m",
        "example.com/gpu": "1",
    }
    assert pod.spec.containers[0].ports[0].host_port == 80
    assert pod.spec.volumes[0].persistent_volume_claim is not None
    assert pod.spec.scheduling_gates[0].name == "hold"
    assert pod.status.phase == "Pending"
    assert make_pod(node="n1").status.phase == "Running"


def test_tolerations_and_taints_in_short_form() -> None:
    """As kubectl writes taints; structs and dicts do as well."""
    pod = make_pod(tolerations=["a=b:NoSchedule", "a:NoExecute", "a", {"operator": "Exists"}, Toleration(key="z")])
    assert pod.spec.tolerations == (
        Toleration(key="a", operator="Equal", value="b", effect="NoSchedule"),
        Toleration(key="a", operator="Exists", effect="NoExecute"),
        Toleration(key="a", operator="Exists"),
        Toleration(operator="Exists"),
        Toleration(key="z"),
    )
    node = make_node(taints=["a=b:NoSchedule", "a:NoExecute"])
    assert node.spec.taints == (Taint(key="a", value="b", effect="NoSchedule"), Taint(key="a", effect="NoExecute"))


def test_a_node_with_simple_arguments() -> None:
    """It has room, its hostname and zone, and the images it was given."""
    node = make_node("n1", cpu="8", resources={"example.com/gpu": 2}, zone="a", images={"nginx": 5}, features=["X"])
    assert node.status.allocatable["cpu"].value() == 8
    assert node.status.allocatable["pods"].value() == 110
    assert node.status.capacity == node.status.allocatable
    assert node.metadata.labels == {"kubernetes.io/hostname": "n1", "topology.kubernetes.io/zone": "a"}
    assert node.status.images[0].size_bytes == 5
    assert node.status.declared_features == ("X",)


def test_rare_fields_go_into_spec_and_status() -> None:
    """In JSON form, or as structs."""
    pod = make_pod(spec={"hostNetwork": True}, status={"nominatedNodeName": "n2"}, group="gang", deleting=True)
    assert pod.spec.host_network
    assert pod.status.nominated_node_name == "n2"
    assert pod.spec.scheduling_group is not None
    assert pod.metadata.deletion_timestamp is not None


def test_bound_volumes_and_claims_point_at_each_other() -> None:
    """Phase, reference and annotation follow from `claim` and `volume`."""
    volume, claim = make_pv("v", claim="default/c"), make_pvc("c", volume="v", storage_class="fast")
    assert volume.spec.claim_ref is not None
    assert (volume.spec.claim_ref.uid, volume.status.phase) == (claim.metadata.uid, "Bound")
    assert claim.metadata.annotations == {"pv.kubernetes.io/bind-completed": "yes"}
    assert (make_pv().status.phase, make_pvc().status.phase) == ("Available", "Pending")
    local = make_pv(node_affinity={"nodeSelectorTerms": [{"matchExpressions": []}]}, spec={"local": {"path": "/x"}})
    assert local.spec.node_affinity is not None
    assert local.spec.local is not None


def test_storage_reports() -> None:
    """Classes, drivers, limits, capacities and attachments."""
    assert make_storage_class(wait_for_first_consumer=True).volume_binding_mode == "WaitForFirstConsumer"
    drivers = make_csi_node(limits={"a": 3, "b": None}).spec.drivers
    assert [driver.allocatable and driver.allocatable.count for driver in drivers] == [3, None]
    assert make_csi_driver(storage_capacity=True).spec.storage_capacity
    assert str(make_csi_capacity(capacity="5Gi").capacity) == "5Gi"
    assert make_volume_attachment(attacher="a", node="n", volume="v").spec.source.persistent_volume_name == "v"


def test_workload_objects() -> None:
    """Selectors are given as the kind has them: labels or label selectors."""
    selector = {"matchLabels": {"app": "web"}}
    assert make_namespace("shop", labels={"team": "a"}).metadata.labels["kubernetes.io/metadata.name"] == "shop"
    assert make_service(selector={"app": "web"}).spec.selector == {"app": "web"}
    assert make_replication_controller(selector={"app": "web"}).spec.selector == {"app": "web"}
    assert make_replica_set(selector=selector).spec.selector == make_stateful_set(selector=selector).spec.selector
    assert make_pdb(selector=selector, disruptions_allowed=1, disrupted_pods=["p"]).status.disrupted_pods.keys() == {
        "p"
    }
    assert make_priority_class(value=5).value == 5
    assert make_pod_group(min_count=3).spec.scheduling_policy.gang is not None
    assert make_pod_group().spec.scheduling_policy.basic is not None


def test_device_objects() -> None:
    """A claim asks for one device of a class unless told otherwise."""
    offer = make_resource_slice(node="n1", devices=["gpu-0", {"name": "gpu-1", "attributes": {"size": {"int": 3}}}])
    assert (offer.spec.node_name, offer.spec.pool.name) == ("n1", "n1")
    assert [device.name for device in offer.spec.devices] == ["gpu-0", "gpu-1"]
    assert make_resource_slice().spec.all_nodes
    assert make_device_class(selectors=["true"]).spec.selectors[0].cel is not None
    claim, template = make_resource_claim(count=2), make_resource_claim_template(count=2)
    assert claim.spec == template.spec.spec
    assert claim.spec.devices.requests[0].exactly is not None
    assert make_resource_claim(requests=[{"name": "a"}]).spec.devices.requests[0].name == "a"
