"""Objects that are as large as an API server takes them: every list of every kind, as long as it can be.

A case is a small story of JSON manifests, with one list (or two that meet) of `n` entries. `Case.largest` is the `n`
at which the largest object of the case still fits into a request of an API server, or Kubernetes' own limit for the
list where there is one. The same cases run against the plugins (tests/hostile), and against a running scheduler
(benchmarks/hostile.py).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

Json = dict[str, Any]
MOST_BYTES: Final = 1_500_000
"""Of one object: etcd's limit for a request (--max-request-bytes)."""

ZONE: Final = "topology.kubernetes.io/zone"
HOSTNAME: Final = "kubernetes.io/hostname"


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    build: Callable[[int], list[Json]]
    limit: int = 1_000_000
    """The longest list that the API allows."""
    gates: str = ""

    @property
    def largest(self) -> int:
        """The longest lists with which every object of the case is small enough."""
        few, many = self._bytes(16), self._bytes(64)
        per_entry = max((many - few) / 48, 0.01)
        return min(self.limit, int((MOST_BYTES - few) / per_entry) + 16)

    def _bytes(self, n: int) -> int:
        return max([len(json.dumps(obj, separators=(",", ":"))) for obj in self.build(n)] or [0])


def base() -> list[Json]:
    """The cluster around a case: three nodes that differ only in their names and zones."""
    return [node(f"n{k}", labels={ZONE: f"z{k}"}) for k in range(3)]


def innocent(name: str = "innocent") -> Json:
    """A pod that has nothing to do with any case."""
    return pod(name, labels={"app": "innocent"})


# --- builders ---------------------------------------------------------------------------------------------------


def meta(name: str, namespace: str = "default", **more: Any) -> Json:
    return {"name": name, **({"namespace": namespace} if namespace else {}), **more}


def pod(name: str, on: str = "", spec: Json | None = None, *, labels: Json | None = None, **metadata: Any) -> Json:
    container = {"name": "c", "image": "registry.example/app:1", "resources": {"requests": {"cpu": "10m"}}}
    metadata = meta(name, labels={"app": "case", **(labels or {})}, **metadata)
    whole = {"containers": [container], **(spec or {}), **({"nodeName": on} if on else {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": whole}


def node(name: str, *, labels: Json | None = None, spec: Json | None = None, status: Json | None = None) -> Json:
    amounts = {"cpu": "4", "memory": "16Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": meta(name, "", labels={HOSTNAME: name, **(labels or {})}),
        "spec": spec or {},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
            **(status or {}),
        },
    }


def containers(n: int, part: Callable[[int], Json]) -> list[Json]:
    return [{"name": f"c{k}", "image": "registry.example/app:1", **part(k)} for k in range(n)]


def trio(spec: Callable[[int], Json], **metadata: Any) -> list[Json]:
    """Two placed pods and one that waits, with what `spec` makes of 0, 1 and 2."""
    return [
        pod("placed-0", "n0", spec(0), **metadata),
        pod("placed-1", "n1", spec(1), **metadata),
        pod("waiting", "", spec(2), **metadata),
    ]


# --- pods -------------------------------------------------------------------------------------------------------


def host_ports(n: int) -> list[Json]:
    def spec(who: int) -> Json:
        ports = [
            {"containerPort": 1 + k % 65535, "hostPort": 1 + k % 65535, "hostIP": f"10.{who}.{k // 65535}.1"}
            for k in range(n)
        ]
        return {"containers": [{"name": "c", "image": "registry.example/app:1", "ports": ports}]}

    return trio(spec)


def same_host_port_on_many_addresses(n: int) -> list[Json]:
    def spec(who: int) -> Json:
        ports = [{"containerPort": 80, "hostPort": 80, "hostIP": f"10.{who}.{k // 256}.{k % 256}"} for k in range(n)]
        return {"containers": [{"name": "c", "image": "registry.example/app:1", "ports": ports}]}

    return trio(spec)


def _volumes(source: Callable[[int, int], Json]) -> Callable[[int], list[Json]]:
    def build(n: int) -> list[Json]:
        return trio(lambda who: {"volumes": [{"name": f"v{k}", **source(who, k)} for k in range(n)]})

    return build


gce_disks = _volumes(lambda who, k: {"gcePersistentDisk": {"pdName": f"d{who}-{k}"}})
aws_disks = _volumes(lambda who, k: {"awsElasticBlockStore": {"volumeID": f"d{who}-{k}"}})
shared_gce_disks = _volumes(lambda who, k: {"gcePersistentDisk": {"pdName": f"d{k}", "readOnly": True}})
iscsi_disks = _volumes(lambda who, k: {"iscsi": {"targetPortal": "10.0.0.1", "iqn": f"iqn.{who}.{k}", "lun": 0}})
one_iscsi_disk = _volumes(
    lambda who, k: {"iscsi": {"targetPortal": "10.0.0.1", "iqn": "iqn.1", "lun": k % 256, "readOnly": True}}
)
rbd_disks = _volumes(lambda who, k: {"rbd": {"monitors": [f"m{who}-{k}"], "image": "i", "pool": "p"}})
azure_disks = _volumes(lambda who, k: {"azureDisk": {"diskName": f"d{who}-{k}", "diskURI": f"/u/{who}/{k}"}})
mixed_disks = _volumes(
    lambda who, k: [
        {"gcePersistentDisk": {"pdName": f"d{who}-{k}"}},
        {"awsElasticBlockStore": {"volumeID": f"d{who}-{k}"}},
        {"cinder": {"volumeID": f"d{who}-{k}"}},
        {"vsphereVolume": {"volumePath": f"d{who}-{k}"}},
        {"portworxVolume": {"volumeID": f"d{who}-{k}"}},
    ][k % 5]
)
ephemeral_volumes = _volumes(
    lambda who, k: {
        "ephemeral": {
            "volumeClaimTemplate": {
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
            }
        }
    }
)
inline_csi_volumes = _volumes(lambda who, k: {"csi": {"driver": f"d{k % 7}.example.com"}})
image_volumes = _volumes(lambda who, k: {"image": {"reference": f"registry.example/i{who}-{k}:1"}})


def rbd_disk_with_many_monitors(n: int) -> list[Json]:
    def spec(who: int) -> Json:
        monitors = [f"m{who}-{k}" for k in range(n // 4)]
        return {
            "volumes": [{"name": f"v{v}", "rbd": {"monitors": monitors, "image": "i", "pool": "p"}} for v in range(4)]
        }

    return trio(spec)


def missing_claims(n: int) -> list[Json]:
    return trio(
        lambda who: {"volumes": [{"name": f"v{k}", "persistentVolumeClaim": {"claimName": f"c{k}"}} for k in range(n)]}
    )


def bound_claims(n: int) -> list[Json]:
    """One pod with many claims that all have their volumes."""
    n = max(n // 8, 1)  # of several objects each
    objects: list[Json] = [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": meta("n0", ""),
            "spec": {"drivers": [{"name": "d.example.com", "nodeID": "n0", "allocatable": {"count": n}}]},
        }
    ]
    for k in range(n):
        objects += [_volume(f"pv{k}", claim=f"c{k}"), _claim(f"c{k}", volume=f"pv{k}")]
    volumes = [{"name": f"v{k}", "persistentVolumeClaim": {"claimName": f"c{k}"}} for k in range(n)]
    return [*objects, pod("placed-0", "n0", {"volumes": volumes}), pod("waiting", "", {"volumes": volumes})]


def claims_to_bind(n: int) -> list[Json]:
    """Many claims that wait for their pod, and as many volumes that are too small but one."""
    n = max(n // 8, 1)
    storage_class = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": meta("late", ""),
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    volumes = [_volume(f"pv{k}", storage_class="late") for k in range(n)]
    claims = [_claim(f"c{k}", storage_class="late") for k in range(n)]
    uses = [{"name": f"v{k}", "persistentVolumeClaim": {"claimName": f"c{k}"}} for k in range(n)]
    return [storage_class, *volumes, *claims, pod("waiting", "", {"volumes": uses})]


def _volume(name: str, *, claim: str = "", storage_class: str = "", spec: Json | None = None) -> Json:
    whole: Json = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "csi": {"driver": "d.example.com", "volumeHandle": name},
        **({"storageClassName": storage_class} if storage_class else {}),
        **({"claimRef": {"namespace": "default", "name": claim, "uid": f"default/{claim}"}} if claim else {}),
        **(spec or {}),
    }
    phase = "Bound" if claim else "Available"
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": meta(name, ""),
        "spec": whole,
        "status": {"phase": phase},
    }


def _claim(name: str, *, volume: str = "", storage_class: str = "", spec: Json | None = None) -> Json:
    annotations = {"pv.kubernetes.io/bind-completed": "yes"} if volume else {}
    whole: Json = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": storage_class,
        **({"volumeName": volume} if volume else {}),
        **(spec or {}),
    }
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": meta(name, annotations=annotations, uid=f"default/{name}"),
        "spec": whole,
        "status": {"phase": "Bound" if volume else "Pending"},
    }


def tolerations_and_taints(n: int) -> list[Json]:
    tolerations = [{"key": f"t{k}", "operator": "Exists", "effect": "NoSchedule"} for k in range(n)]
    taints = [{"key": f"t{k}", "value": "v", "effect": "NoSchedule"} for k in reversed(range(n))]
    return [node("tainted", spec={"taints": taints}), *trio(lambda who: {"tolerations": tolerations})]


def tolerations_that_do_not_help(n: int) -> list[Json]:
    tolerations = [{"key": f"t{k}", "operator": "Equal", "value": "a", "effect": "NoSchedule"} for k in range(n)]
    taints = [{"key": f"t{k}", "value": "b", "effect": "PreferNoSchedule"} for k in range(n)]
    return [node("tainted", spec={"taints": taints}), *trio(lambda who: {"tolerations": tolerations})]


def _node_affinity(part: Callable[[int], Json]) -> Callable[[int], list[Json]]:
    return lambda n: trio(lambda who: {"affinity": {"nodeAffinity": part(n)}})


_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"

node_selector_terms = _node_affinity(
    lambda n: {
        _REQUIRED: {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": f"k{k}", "operator": "In", "values": ["v"]}]} for k in range(n)
            ]
        }
    }
)
node_selector_values = _node_affinity(
    lambda n: {
        _REQUIRED: {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [f"v{k}" for k in range(n)]}]}
            ]
        }
    }
)
node_selector_expressions = _node_affinity(
    lambda n: {
        _REQUIRED: {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": f"k{k}", "operator": "DoesNotExist"} for k in range(n)]}
            ]
        }
    }
)
node_field_terms = _node_affinity(
    lambda n: {
        _REQUIRED: {
            "nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [f"m{k}"]}]} for k in range(n)
            ]
        }
    }
)
preferred_nodes = _node_affinity(
    lambda n: {
        _PREFERRED: [
            {
                "weight": 1 + k % 100,
                "preference": {"matchExpressions": [{"key": f"k{k}", "operator": "Exists"}]},
            }
            for k in range(n)
        ]
    }
)


def node_selector(n: int) -> list[Json]:
    wanted = {f"k{k}": "v" for k in range(n)}
    return [node("labelled", labels=wanted), *trio(lambda who: {"nodeSelector": wanted})]


def _pod_affinity(kind: str, rule: str, term: Callable[[int], Json]) -> Callable[[int], list[Json]]:
    def build(n: int) -> list[Json]:
        terms: list[Json] = [term(k) for k in range(n)]
        if rule == _PREFERRED:
            terms = [{"weight": 1 + k % 100, "podAffinityTerm": entry} for k, entry in enumerate(terms)]
        return trio(lambda who: {"affinity": {kind: {rule: terms}}})

    return build


def _term(k: int) -> Json:
    return {"topologyKey": ZONE, "labelSelector": {"matchLabels": {f"l{k}": "v"}}}


def _term_with_key(k: int) -> Json:
    return {"topologyKey": f"key-{k}", "labelSelector": {"matchLabels": {"app": "case"}}}


pod_affinity_terms = _pod_affinity("podAffinity", _REQUIRED, _term)
pod_anti_affinity_terms = _pod_affinity("podAntiAffinity", _REQUIRED, _term)
preferred_pods = _pod_affinity("podAffinity", _PREFERRED, _term)
avoided_pods = _pod_affinity("podAntiAffinity", _PREFERRED, _term)
pod_anti_affinity_keys = _pod_affinity("podAntiAffinity", _REQUIRED, _term_with_key)
preferred_pod_keys = _pod_affinity("podAffinity", _PREFERRED, _term_with_key)


def pod_affinity_selector(n: int) -> list[Json]:
    expressions = [{"key": f"l{k}", "operator": "NotIn", "values": ["v"]} for k in range(n)]
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "case"}, "matchExpressions": expressions}}
    return trio(lambda who: {"affinity": {"podAntiAffinity": {_REQUIRED: [term]}}})


def pod_affinity_namespaces(n: int) -> list[Json]:
    term = {
        "topologyKey": ZONE,
        "labelSelector": {"matchLabels": {"app": "case"}},
        "namespaces": [f"ns{k}" for k in range(n)],
    }
    return trio(lambda who: {"affinity": {"podAntiAffinity": {_REQUIRED: [term]}}})


def pod_affinity_label_keys(n: int) -> list[Json]:
    labels = {f"l{k}": "v" for k in range(n)}
    term = {
        "topologyKey": ZONE,
        "labelSelector": {"matchExpressions": [{"key": f"l{k}", "operator": "In", "values": ["v"]} for k in range(n)]},
        "matchLabelKeys": [f"l{k}" for k in range(n)],
    }
    return trio(lambda who: {"affinity": {"podAntiAffinity": {_REQUIRED: [term]}}}, labels=labels)


def _spread(part: Callable[[int], Json]) -> Callable[[int], list[Json]]:
    def build(n: int) -> list[Json]:
        constraints = [{"maxSkew": 1, **part(k)} for k in range(n)]
        return trio(lambda who: {"topologySpreadConstraints": constraints})

    return build


_SELECTS: Final[Json] = {"labelSelector": {"matchLabels": {"app": "case"}}}
spread_keys = _spread(lambda k: {"topologyKey": f"key-{k}", "whenUnsatisfiable": "ScheduleAnyway", **_SELECTS})
required_spread_keys = _spread(lambda k: {"topologyKey": f"key-{k}", "whenUnsatisfiable": "DoNotSchedule", **_SELECTS})
spread_selectors = _spread(
    lambda k: {
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "maxSkew": k + 1,
        "labelSelector": {"matchLabels": {f"l{k}": "v"}},
    }
)
soft_spread_selectors = _spread(
    lambda k: {
        "topologyKey": ZONE,
        "whenUnsatisfiable": "ScheduleAnyway",
        "maxSkew": k + 1,
        "labelSelector": {"matchLabels": {f"l{k}": "v"}},
    }
)


def spread_label_keys(n: int) -> list[Json]:
    labels = {f"l{k}": "v" for k in range(n)}
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "case"}},
        "matchLabelKeys": list(labels),
    }
    return trio(lambda who: {"topologySpreadConstraints": [constraint]}, labels=labels)


def init_containers(n: int) -> list[Json]:
    def part(k: int) -> Json:
        return {"resources": {"requests": {"cpu": "1m", "memory": "1Ki"}}}

    return trio(lambda who: {"initContainers": containers(n, part)})


def sidecars(n: int) -> list[Json]:
    def part(k: int) -> Json:
        return {"restartPolicy": "Always", "resources": {"requests": {"memory": "1Ki", f"example.com/r{k % 99}": 1}}}

    return trio(lambda who: {"initContainers": containers(n, part)})


def many_containers(n: int) -> list[Json]:
    def part(k: int) -> Json:
        return {"resources": {"requests": {"cpu": "1m"}, "limits": {"memory": "1Mi"}}}

    return trio(lambda who: {"containers": containers(n, part)})


def requested_resources(n: int) -> list[Json]:
    requests = {f"example.com/r{k}": "1" for k in range(n)}
    only = {"name": "c", "image": "i", "resources": {"requests": requests, "limits": requests}}
    amounts = {"cpu": "4", "memory": "16Gi", "pods": "110", **dict.fromkeys(requests, "9")}
    rich = node("rich", status={"allocatable": amounts, "capacity": amounts})
    placed = {"containers": [only]}
    return [rich, pod("placed-0", "rich", placed), pod("placed-1", "n1", placed), pod("waiting", "", placed)]


def resources_of_many_containers(n: int) -> list[Json]:
    def part(k: int) -> Json:
        amounts = {f"example.com/r{k}": "1"}
        return {"resources": {"requests": amounts, "limits": amounts}}

    return trio(lambda who: {"containers": containers(n, part)})


def overhead(n: int) -> list[Json]:
    return trio(lambda who: {"overhead": {f"example.com/r{k}": "1" for k in range(n)}})


def scheduling_gates(n: int) -> list[Json]:
    return [pod("gated", "", {"schedulingGates": [{"name": f"g{k}"} for k in range(n)]})]


def pod_labels(n: int) -> list[Json]:
    selector = {"matchExpressions": [{"key": f"l{k}", "operator": "Exists"} for k in range(n)]}
    term = {"topologyKey": ZONE, "labelSelector": selector}
    spec = {"affinity": {"podAffinity": {_PREFERRED: [{"weight": 1, "podAffinityTerm": term}]}}}
    return trio(lambda who: spec, labels={f"l{k}": "v" for k in range(n)})


def owner_references(n: int) -> list[Json]:
    owners = [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"r{k}", "uid": f"u{k}", "controller": False}
        for k in range(n)
    ]
    return trio(lambda who: {}, ownerReferences=owners)


def services_that_select(n: int) -> list[Json]:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": meta("s"),
        "spec": {"selector": {f"l{k}": "v" for k in range(n)}},
    }
    return [service, *trio(lambda who: {}, labels={f"l{k}": "v" for k in range(n)})]


def images(n: int) -> list[Json]:
    held = [{"names": [f"registry.example/i{k}:1"], "sizeBytes": 100_000_000} for k in range(n)]
    wanted = [{"name": f"c{k}", "image": f"registry.example/i{k}:1"} for k in range(n)]
    return [node("full", status={"images": held}), *trio(lambda who: {"containers": wanted})]


def names_of_one_image(n: int) -> list[Json]:
    held = [{"names": [f"registry.example/i{k}:1" for k in range(n)], "sizeBytes": 100_000_000}]
    return [node("full", status={"images": held}), *trio(lambda who: {})]


def environment(n: int) -> list[Json]:
    variables = [{"name": f"V{k}", "value": "x"} for k in range(n)]
    return trio(lambda who: {"containers": [{"name": "c", "image": "i", "env": variables}]})


def pod_conditions(n: int) -> list[Json]:
    pods = trio(lambda who: {})
    conditions = [{"type": f"example.com/c{k}", "status": "True"} for k in range(n)]
    return [{**one, "status": {"phase": "Pending", "conditions": conditions}} for one in pods]


def pod_resource_claims(n: int) -> list[Json]:
    claims = [{"name": f"c{k}", "resourceClaimName": f"rc{k}"} for k in range(n)]
    return trio(lambda who: {"resourceClaims": claims})


def claims_from_templates(n: int) -> list[Json]:
    claims = [{"name": f"c{k}", "resourceClaimTemplateName": "t"} for k in range(n)]
    statuses = [{"name": f"c{k}", "resourceClaimName": "one"} for k in range(n)]
    pods = trio(lambda who: {"resourceClaims": claims})
    for one in pods:
        one["metadata"]["uid"] = f"uid-{one['metadata']['name']}"
    shared = device_claim("one", [request(0)])
    shared["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "Pod", "name": "waiting", "uid": "uid-waiting", "controller": True}
    ]
    return [shared, *({**one, "status": {"resourceClaimStatuses": statuses}} for one in pods)]


def low_priority_victims(n: int) -> list[Json]:
    """Preemption looks at placed pods with long lists, and at disruption budgets with long selectors."""
    ports = [
        {"containerPort": 1 + k % 60000, "hostPort": 1 + k % 60000, "hostIP": f"10.0.{k // 60000}.1"} for k in range(n)
    ]
    only = {"name": "c", "image": "i", "ports": ports, "resources": {"requests": {"cpu": "3"}}}
    expressions = [{"key": f"l{k}", "operator": "DoesNotExist"} for k in range(n)]
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": meta("b"),
        "spec": {"selector": {"matchExpressions": expressions}},
        "status": {"disruptionsAllowed": 0, "disruptedPods": {f"p{k}": "2024-01-01T00:00:00Z" for k in range(n)}},
    }
    victims = [pod(f"victim-{k}", f"n{k}", {"containers": [only], "priority": 0}) for k in range(3)]
    return [budget, *victims, pod("waiting", "", {"containers": [only], "priority": 1000})]


# --- nodes and storage ------------------------------------------------------------------------------------------


def node_labels(n: int) -> list[Json]:
    return [node(f"labelled-{k}", labels={f"k{i}": "v" for i in range(n)}) for k in range(3)]


def node_taints(n: int) -> list[Json]:
    taints = [{"key": f"t{k}", "value": "v", "effect": "NoSchedule"} for k in range(n)]
    return [node(f"tainted-{k}", spec={"taints": taints}) for k in range(3)]


def node_resources(n: int) -> list[Json]:
    amounts = {"cpu": "4", "memory": "16Gi", "pods": "110", **{f"example.com/r{k}": "1" for k in range(n)}}
    return [node(f"rich-{k}", status={"allocatable": amounts, "capacity": amounts}) for k in range(3)]


def declared_features(n: int) -> list[Json]:
    return [node(f"featured-{k}", status={"declaredFeatures": [f"F{i}" for i in range(n)]}) for k in range(3)]


def _with_volume(volume: Json, *others: Json) -> list[Json]:
    uses = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    return [*others, volume, _claim("c", volume=volume["metadata"]["name"]), pod("waiting", "", {"volumes": uses})]


def volume_node_affinity(n: int) -> list[Json]:
    terms = [{"matchExpressions": [{"key": f"k{k}", "operator": "In", "values": ["v"]}]} for k in range(n)]
    return _with_volume(_volume("pv", claim="c", spec={"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}))


def volume_zones(n: int) -> list[Json]:
    volume = _volume("pv", claim="c")
    volume["metadata"]["labels"] = {ZONE: "__".join(f"z{k}" for k in range(n))}
    return _with_volume(volume)


def volume_access_modes(n: int) -> list[Json]:
    return _with_volume(_volume("pv", claim="c", spec={"accessModes": ["ReadWriteOnce"] * n}))


def allowed_topologies(n: int) -> list[Json]:
    topologies = [{"matchLabelExpressions": [{"key": f"k{k}", "values": ["v"]}]} for k in range(n)]
    storage_class = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": meta("picky", ""),
        "provisioner": "d.example.com",
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowedTopologies": topologies,
    }
    uses = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    return [storage_class, _claim("c", storage_class="picky"), pod("waiting", "", {"volumes": uses})]


def csi_node_drivers(n: int) -> list[Json]:
    drivers = [
        {"name": f"d{k}.example.com", "nodeID": "n0", "allocatable": {"count": 1}, "topologyKeys": [f"k{k}"]}
        for k in range(n)
    ]
    csi_node = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": meta("n0", ""),
        "spec": {"drivers": drivers},
    }
    return [csi_node, *bound_claims(8)[1:]]


# --- devices ----------------------------------------------------------------------------------------------------

DRIVER: Final = "gpu.example.com"
_DEVICES: Final = "resource.k8s.io/v1"


def request(k: int, **more: Any) -> Json:
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1, **more}
    return {"name": f"r{k}", "exactly": exactly}


def device_claim(name: str, requests: list[Json], **more: Any) -> Json:
    spec = {"devices": {"requests": requests, **more}}
    metadata = meta(name, uid=f"default/{name}")
    return {"apiVersion": _DEVICES, "kind": "ResourceClaim", "metadata": metadata, "spec": spec}


def device_class(*expressions: str) -> Json:
    selectors = [{"cel": {"expression": expression}} for expression in expressions]
    return {
        "apiVersion": _DEVICES,
        "kind": "DeviceClass",
        "metadata": meta("gpu", ""),
        "spec": {"selectors": selectors},
    }


def device_slice(node_name: str, devices: list[Json], **more: Any) -> Json:
    pool = {"name": node_name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "pool": pool, "nodeName": node_name, "devices": devices, **more}
    return {"apiVersion": _DEVICES, "kind": "ResourceSlice", "metadata": meta(f"slice-{node_name}", ""), "spec": spec}


def device(k: int, **more: Any) -> Json:
    return {"name": f"dev-{k}", **more}


def claiming_pod(name: str = "waiting", claim: str = "claim") -> Json:
    return pod(name, "", {"resourceClaims": [{"name": "d", "resourceClaimName": claim}]})


def _devices_case(
    slices: list[Json], requests: list[Json], *, of_class: tuple[str, ...] = (), **more: Any
) -> list[Json]:
    return [device_class(*of_class), *slices, device_claim("claim", requests, **more), claiming_pod()]


def many_devices(n: int) -> list[Json]:
    slices = [device_slice(f"n{k}", [device(i, attributes={"n": {"int": i}}) for i in range(n)]) for k in range(3)]
    requests = [request(0, selectors=[{"cel": {"expression": f'device.attributes["{DRIVER}"].n < 0'}}])]
    return _devices_case(slices, requests)


def matching_attribute(n: int) -> list[Json]:
    """An ordinary claim: 10 devices with the same value, where every value exists less often."""
    slices = [
        device_slice(
            f"n{k}", [device(i, attributes={"n": {"int": i}, "numa": {"int": i % (1 + n // 9)}}) for i in range(n)]
        )
        for k in range(3)
    ]
    constraints = [{"matchAttribute": f"{DRIVER}/numa"}]
    return _devices_case(slices, [request(k) for k in range(10)], constraints=constraints)


def distinct_attribute(n: int) -> list[Json]:
    slices = [
        device_slice(f"n{k}", [device(i, attributes={"n": {"int": i}, "numa": {"int": i % 9}}) for i in range(n)])
        for k in range(3)
    ]
    constraints = [{"distinctAttribute": f"{DRIVER}/numa"}]
    return _devices_case(slices, [request(k) for k in range(10)], constraints=constraints)


def device_requests(n: int) -> list[Json]:
    """As many requests as devices but one, all of them different: no way to satisfy the last request."""
    slices = [device_slice(f"n{k}", [device(i, attributes={"n": {"int": i}}) for i in range(n)]) for k in range(3)]
    impossible = request(n, selectors=[{"cel": {"expression": f'device.attributes["{DRIVER}"].n < 0'}}])
    return _devices_case(slices, [*(request(k) for k in range(n - 1)), impossible])


def counters(n: int) -> list[Json]:
    """Partitions of devices that use up counters in different amounts."""
    shared = [{"name": "memory", "counters": {f"m{k}": {"value": "10"} for k in range(32)}}]
    devices = [
        device(
            i,
            attributes={"n": {"int": i}},
            consumesCounters=[{"counterSet": "memory", "counters": {f"m{i % 32}": {"value": str(1 + i % 7)}}}],
        )
        for i in range(n)
    ]
    slices: list[Json] = []
    for k in range(3):
        first, second = device_slice(f"n{k}", devices), device_slice(f"n{k}", [], sharedCounters=shared)
        for part, one in enumerate((first, second)):
            one["spec"]["pool"]["resourceSliceCount"] = 2
            one["metadata"]["name"] += f"-{part}"
            slices.append(one)
        del second["spec"]["devices"]
    return _devices_case(slices, [request(k) for k in range(32)])


def prioritised_lists(n: int) -> list[Json]:
    """Every request has eight alternatives, none of the last one's can be had."""
    slices = [device_slice(f"n{k}", [device(i, attributes={"n": {"int": i}}) for i in range(16)]) for k in range(3)]

    def alternatives(expression: str) -> list[Json]:
        return [
            {
                "name": f"s{k}",
                "deviceClassName": "gpu",
                "allocationMode": "ExactCount",
                "count": 1,
                "selectors": [{"cel": {"expression": expression}}],
            }
            for k in range(8)
        ]

    requests = [{"name": f"r{k}", "firstAvailable": alternatives("true")} for k in range(n)]
    return _devices_case(slices, [*requests, {"name": "last", "firstAvailable": alternatives("false")}])


def device_selectors(n: int) -> list[Json]:
    """Selectors that are admitted, and take their time."""
    devices = [device(i, attributes={"n": {"int": i}}) for i in range(8)]
    slices = [device_slice(f"n{k}", devices) for k in range(3)]
    expressions = [copying_selector(k) for k in range(n)]
    requests = [request(0, selectors=[{"cel": {"expression": expression}} for expression in expressions])]
    return _devices_case(slices, requests)


def slow_selector(k: int = 0, digits: int = 5) -> str:
    """A bounded number of steps, by the estimate of Kubernetes below its limit."""
    numbers = "[" + ",".join("0123456789"[:9]) + "]"
    inner = "true"
    for level in range(digits):
        inner = f"{numbers}.all(x{level}, {inner})"
    return f"{inner} && {k} >= 0"


def growing_selector(levels: int) -> str:
    """A list that doubles on each level: cheap by the estimate of Kubernetes, where lists are joined lazily."""
    text = f"v{levels - 1}.size() > 0"
    for level in reversed(range(1, levels)):
        text = f"cel.bind(v{level}, v{level - 1} + v{level - 1}, {text})"
    return f"cel.bind(v0, [1] + [1], {text})"


def copying_selector(k: int = 0) -> str:
    """Joins a list of some thousands to itself some thousand times: a second, by Kubernetes' estimate nothing much."""
    inner = f"(v + v).size() > {k}"
    for level in range(4):
        inner = f"[0, 1, 2, 3, 4, 5, 6, 7, 8].all(x{level}, {inner})"
    text = f"cel.bind(v, v11, {inner})"
    for level in reversed(range(1, 12)):
        text = f"cel.bind(v{level}, v{level - 1} + v{level - 1}, {text})"
    return f"cel.bind(v0, [1] + [1], {text})"


def growing_selectors(n: int) -> list[Json]:
    slices = [device_slice(f"n{k}", [device(0)]) for k in range(3)]
    return _devices_case(slices, [request(0, selectors=[{"cel": {"expression": growing_selector(n)}}])])


def class_selectors(n: int) -> list[Json]:
    slices = [device_slice(f"n{k}", [device(0)]) for k in range(3)]
    return _devices_case(slices, [request(0)], of_class=tuple(f"{k} >= 0" for k in range(n)))


def device_attributes(n: int) -> list[Json]:
    attributes = {f"a{k}": {"string": "x" * 64} for k in range(n)}
    capacity = {f"c{k}": {"value": "1"} for k in range(n)}
    devices = [device(i, attributes=attributes, capacity=capacity) for i in range(8)]
    return _devices_case([device_slice(f"n{k}", devices) for k in range(3)], [request(0)])


def device_taints(n: int) -> list[Json]:
    taints = [{"key": f"t{k}", "value": "v", "effect": "NoSchedule"} for k in range(n)]
    tolerations = [{"key": f"t{k}", "operator": "Exists"} for k in reversed(range(n))]
    slices = [device_slice(f"n{k}", [device(i, taints=taints) for i in range(4)]) for k in range(3)]
    return _devices_case(slices, [request(0, tolerations=tolerations)])


def constraints_of_a_claim(n: int) -> list[Json]:
    attributes = {f"a{k}": {"int": 1} for k in range(32)}
    slices = [device_slice(f"n{k}", [device(i, attributes=attributes) for i in range(8)]) for k in range(3)]
    constraints = [{"matchAttribute": f"{DRIVER}/a{k % 32}"} for k in range(n)]
    return _devices_case(slices, [request(k) for k in range(4)], constraints=constraints)


def claim_configurations(n: int) -> list[Json]:
    slices = [device_slice(f"n{k}", [device(0)]) for k in range(3)]
    configs = [{"requests": ["r0"], "opaque": {"driver": DRIVER, "parameters": {"k": k}}} for k in range(n)]
    return _devices_case(slices, [request(0)], config=configs)


def reserved_for(n: int) -> list[Json]:
    """An allocated claim with as many users, and as many devices, as there can be."""
    results = [{"request": "r0", "driver": DRIVER, "pool": "n0", "device": f"dev-{k}"} for k in range(n)]
    claim = device_claim("claim", [request(0)])
    claim["status"] = {
        "allocation": {"devices": {"results": results}},
        "reservedFor": [{"resource": "pods", "name": f"p{k}", "uid": f"u{k}"} for k in range(n)],
        "devices": [{"driver": DRIVER, "pool": "n0", "device": f"dev-{k}"} for k in reversed(range(n))],
    }
    return [device_class(), device_slice("n0", [device(k) for k in range(n)]), claim, claiming_pod()]


def awaited_devices(n: int) -> list[Json]:
    """Binding conditions of an allocated claim, with the statuses in the other order."""
    results = [
        {"request": "r0", "driver": DRIVER, "pool": "n0", "device": f"dev-{k}", "bindingConditions": ["Ready"]}
        for k in range(n)
    ]
    claim = device_claim("claim", [request(0)])
    claim["status"] = {
        "allocation": {"devices": {"results": results}},
        "devices": [
            {
                "driver": DRIVER,
                "pool": "n0",
                "device": f"dev-{k}",
                "conditions": [{"type": "Ready", "status": "True"}],
            }
            for k in reversed(range(n))
        ],
    }
    return [device_class(), claim, claiming_pod()]


MANY_OBJECTS: Final = (bound_claims, claims_to_bind)
"""Cases with as many objects as entries: their number is limited by whoever creates them."""
LIMITS: Final[dict[Callable[[int], list[Json]], int]] = {
    **dict.fromkeys(MANY_OBJECTS, 4000),
    **dict.fromkeys((class_selectors, constraints_of_a_claim, claim_configurations), 32),  # resource.k8s.io's own
}
LISTS: Final = tuple(
    Case(name, build, limit=LIMITS.get(build, 1_000_000))
    for name, build in {
        "host ports": host_ports,
        "one host port on many addresses": same_host_port_on_many_addresses,
        "GCE disks": gce_disks,
        "GCE disks that are shared": shared_gce_disks,
        "AWS disks": aws_disks,
        "iSCSI disks": iscsi_disks,
        "one iSCSI disk": one_iscsi_disk,
        "RBD disks": rbd_disks,
        "monitors of RBD disks": rbd_disk_with_many_monitors,
        "Azure disks": azure_disks,
        "disks of many kinds": mixed_disks,
        "ephemeral volumes": ephemeral_volumes,
        "inline CSI volumes": inline_csi_volumes,
        "image volumes": image_volumes,
        "claims that are missing": missing_claims,
        "claims with volumes": bound_claims,
        "claims to bind": claims_to_bind,
        "tolerations and taints": tolerations_and_taints,
        "tolerations that do not help": tolerations_that_do_not_help,
        "node selector terms": node_selector_terms,
        "values of a node selector": node_selector_values,
        "expressions of a node selector": node_selector_expressions,
        "node names in terms": node_field_terms,
        "preferred nodes": preferred_nodes,
        "node selector": node_selector,
        "pod affinity terms": pod_affinity_terms,
        "pod anti-affinity terms": pod_anti_affinity_terms,
        "preferred pods": preferred_pods,
        "avoided pods": avoided_pods,
        "topology keys of anti-affinity": pod_anti_affinity_keys,
        "topology keys of preferred pods": preferred_pod_keys,
        "expressions of a pod selector": pod_affinity_selector,
        "namespaces of a pod affinity term": pod_affinity_namespaces,
        "label keys of a pod affinity term": pod_affinity_label_keys,
        "spread constraints": spread_keys,
        "required spread constraints": required_spread_keys,
        "selectors of spread constraints": spread_selectors,
        "selectors of soft spread constraints": soft_spread_selectors,
        "label keys of a spread constraint": spread_label_keys,
        "init containers": init_containers,
        "sidecars": sidecars,
        "containers": many_containers,
        "requested resources": requested_resources,
        "resources of many containers": resources_of_many_containers,
        "overhead": overhead,
        "scheduling gates": scheduling_gates,
        "pod labels": pod_labels,
        "owner references": owner_references,
        "selector of a service": services_that_select,
        "images": images,
        "names of one image": names_of_one_image,
        "environment": environment,
        "pod conditions": pod_conditions,
        "resource claims of a pod": pod_resource_claims,
        "resource claims from templates": claims_from_templates,
        "victims and disruption budgets": low_priority_victims,
        "node labels": node_labels,
        "node taints": node_taints,
        "node resources": node_resources,
        "declared features": declared_features,
        "node affinity of a volume": volume_node_affinity,
        "zones of a volume": volume_zones,
        "access modes of a volume": volume_access_modes,
        "allowed topologies": allowed_topologies,
        "drivers of a CSI node": csi_node_drivers,
        "devices": many_devices,
        "class selectors": class_selectors,
        "device attributes": device_attributes,
        "device taints": device_taints,
        "constraints of a claim": constraints_of_a_claim,
        "configurations of a claim": claim_configurations,
        "users of a claim": reserved_for,
        "devices to wait for": awaited_devices,
    }.items()
)
"""What must take time in proportion to its length, or nearly."""

SEARCHES: Final = (
    Case("matching attribute", matching_attribute, limit=128),
    Case("distinct attribute", distinct_attribute, limit=128),
    Case("device requests", device_requests, limit=31),
    Case("counters", counters, limit=128),
    Case("prioritised lists", prioritised_lists, limit=31),
    Case("slow device selectors", device_selectors, limit=32),
    Case("growing device selectors", growing_selectors, limit=26),
)
"""What can take for ever, and must not: a decision ends when its budget is used up."""
