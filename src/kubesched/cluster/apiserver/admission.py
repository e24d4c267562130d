"""What other objects have to say about a new one: namespace, classes of priority, runtime and storage, limits, quotas.

A real server also mounts service account tokens, protects volumes in use by finalizers and taints new nodes as not
ready. It is left out here because the controllers that would undo it are: a claim could never be deleted, and a node
that somebody applies as ready would never take a pod.
"""

from __future__ import annotations

import random
from typing import Final

from kubesched.cluster.apiserver import status
from kubesched.cluster.apiserver.catalog import Catalog
from kubesched.cluster.apiserver.quotas import Quotas
from kubesched.cluster.apiserver.resource import Resource
from kubesched.cluster.apiserver.runtime_classes import RuntimeClasses
from kubesched.cluster.apiserver.service_allocation import ServiceAllocator
from kubesched.cluster.apiserver.storage import Bucket, Entry, Store
from kubesched.cluster.apiserver.tables.volumes import CLASS_ANNOTATION, DEFAULT_CLASS
from kubesched.objects.base import Json
from kubesched.objects.quantity import Quantity

NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
TOLERATION_SECONDS: Final = 300
TOPOLOGY_LABELS: Final = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
LIMIT_RANGER_ANNOTATION: Final = "kubernetes.io/limit-ranger"


class Admission:
    """Changes new objects in place, or refuses them."""

    def __init__(self, store: Store, catalog: Catalog, rng: random.Random) -> None:
        self._pods = catalog.named("pods")
        self._namespaces = _bucket(store, catalog, "namespaces")
        self._nodes = _bucket(store, catalog, "nodes")
        self._limit_ranges = _bucket(store, catalog, "limitranges")
        self._priority_classes = _bucket(store, catalog, "priorityclasses.scheduling.k8s.io")
        self._storage_classes = _bucket(store, catalog, "storageclasses.storage.k8s.io")
        self._runtime_classes = RuntimeClasses(store, catalog)
        self.services = ServiceAllocator(store, catalog, rng)
        self.quotas = Quotas(store, catalog)

    def admit(self, resource: Resource, value: Json) -> None:
        metadata = value["metadata"]
        if resource.namespaced:
            self._require_namespace(resource, metadata)
        match resource.qualified:
            case "pods":
                self._default_account(value)
                self._apply_limit_ranges(value)
                self._apply_priority(value)
                _tolerate_node_failures(value["spec"])
                self._runtime_classes.admit(value)
            case "podgroups.scheduling.k8s.io":
                self._apply_group_priority(resource, value)
            case "persistentvolumeclaims":
                self._default_storage_class(value)
            case "priorityclasses.scheduling.k8s.io":
                self.require_one_default(resource, value)
            case "services":
                self.services.create(value)

    def topology_labels(self, node_name: str) -> dict[str, str]:
        """What a pod learns of where its node is, when it is bound (`PodTopologyLabels` upstream)."""
        node = self._nodes.get("", node_name)
        return {} if node is None else {key: node.labels[key] for key in TOPOLOGY_LABELS if key in node.labels}

    def require_one_default(self, resource: Resource, value: Json) -> None:
        if not value.get("globalDefault"):
            return
        name = value["metadata"].get("name", "")
        for other in self._global_defaults():
            if other.name != name:
                message = f"PriorityClass {other.name} is already marked as default. Only one default can exist"
                raise status.forbidden(resource, name, message)

    def _require_namespace(self, resource: Resource, metadata: Json) -> None:
        name = metadata.get("namespace", "")
        found = self._namespaces.get("", name)
        if found is None:
            raise status.not_found(_Named("", "Namespace", "namespaces"), name)
        if found.fields.get("status.phase") == "Terminating":
            message = f"unable to create new content in namespace {name} because it is being terminated"
            raise status.forbidden(resource, metadata.get("name", ""), message, cause="NamespaceTerminating")

    def _default_account(self, pod: Json) -> None:
        spec = pod["spec"]
        if not spec.get("serviceAccountName"):
            spec["serviceAccountName"] = spec["serviceAccount"] = "default"

    def _apply_priority(self, pod: Json) -> None:
        spec, name = pod["spec"], pod["metadata"].get("name", "")
        chosen = self._priority_class(self._pods, spec, name)
        value, policy = 0, "PreemptLowerPriority"
        if chosen is not None:
            spec["priorityClassName"] = chosen["metadata"]["name"]
            value, policy = chosen.get("value", 0), chosen.get("preemptionPolicy", policy)
        if spec.get("priority", value) != value:
            message = (
                f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
                f"priority admission controller computed {value} from the given PriorityClass name"
            )
            raise status.forbidden(self._pods, name, message)
        if spec.get("preemptionPolicy", policy) != policy:
            message = (
                f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be provided in pod spec; "
                f"priority admission controller computed {policy} from the given PriorityClass name"
            )
            raise status.forbidden(self._pods, name, message)
        spec["priority"], spec["preemptionPolicy"] = value, policy

    def _apply_group_priority(self, groups: Resource, group: Json) -> None:
        """As with the gate WorkloadAwarePreemption; but a group to which no class applies stays without a priority."""
        spec, name = group["spec"], group["metadata"].get("name", "")
        chosen = self._priority_class(groups, spec, name)
        value = chosen.get("value", 0) if chosen is not None else 0
        if spec.get("priority", value) != value:
            message = (
                f"priority set in the pod group ({spec['priority']}) must match the priority computed ({value}) "
                "based on the priority class set in the spec"
            )
            raise status.forbidden(groups, name, message)
        if chosen is not None:
            spec["priorityClassName"], spec["priority"] = chosen["metadata"]["name"], value

    def _priority_class(self, resource: Resource, spec: Json, name: str) -> Json | None:
        if wanted := spec.get("priorityClassName"):
            found = self._priority_classes.get("", wanted)
            if found is None:
                raise status.forbidden(resource, name, f"no PriorityClass with name {wanted} was found")
            return found.decode()
        defaults = [entry.decode() for entry in self._global_defaults()]
        return min(defaults, key=lambda item: item.get("value", 0), default=None)

    def _global_defaults(self) -> list[Entry]:
        return [entry for entry in self._priority_classes.in_order() if b'"globalDefault":true' in entry.raw]

    def _default_storage_class(self, claim: Json) -> None:
        spec, annotations = claim["spec"], claim["metadata"].get("annotations") or {}
        if "storageClassName" in spec or CLASS_ANNOTATION in annotations:
            return
        classes = [entry.decode()["metadata"] for entry in self._storage_classes.in_order()]
        marked = [
            item for item in classes if any((item.get("annotations") or {}).get(k) == "true" for k in DEFAULT_CLASS)
        ]
        if marked:
            newest = max(marked, key=lambda item: (item["creationTimestamp"], item["name"]))
            spec["storageClassName"] = newest["name"]

    def _apply_limit_ranges(self, pod: Json) -> None:
        for entry in self._limit_ranges.in_order(pod["metadata"].get("namespace", "")):
            limits = (entry.decode().get("spec") or {}).get("limits") or ()
            changes = [
                text for item in limits if item.get("type") == "Container" for text in _default_limits(pod, item)
            ]
            if changes:
                annotations = pod["metadata"].setdefault("annotations", {})
                annotations[LIMIT_RANGER_ANNOTATION] = "LimitRanger plugin set: " + "; ".join(changes)
            problems = [text for item in limits for text in _limit_problems(pod, item)]
            if problems:
                listed = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
                raise status.forbidden(self._pods, pod["metadata"].get("name", ""), listed)


class _Named:
    def __init__(self, group: str, kind: str, plural: str) -> None:
        self.group, self.kind, self.plural = group, kind, plural


def _bucket(store: Store, catalog: Catalog, qualified: str) -> Bucket:
    resource = catalog.named(qualified)
    return store.bucket(resource.bucket_name, resource.read_fields)


def _tolerate_node_failures(spec: Json) -> None:
    """`DefaultTolerationSeconds` upstream: five minutes on a failed node, unless the pod says otherwise."""
    tolerations = spec.setdefault("tolerations", [])
    for key in (NOT_READY, UNREACHABLE):
        said = any(
            item.get("key") in (key, None, "") and item.get("effect") in ("NoExecute", None, "") for item in tolerations
        )
        if not said:
            toleration = {"key": key, "operator": "Exists", "effect": "NoExecute"}
            tolerations.append(toleration | {"tolerationSeconds": TOLERATION_SECONDS})


def _default_limits(pod: Json, item: Json) -> list[str]:
    """Fill in a limit range's defaults; returns what was set, in the words of the annotation."""
    changes = []
    spec = pod["spec"]
    for kind, label in (("containers", "container"), ("initContainers", "init container")):
        for container in spec.get(kind) or ():
            resources = container.setdefault("resources", {})
            for source, target, word in (("defaultRequest", "requests", "request"), ("default", "limits", "limit")):
                added = [name for name in item.get(source) or {} if name not in (resources.get(target) or {})]
                for name in added:
                    resources.setdefault(target, {})[name] = item[source][name]
                if added:
                    changes.append(f"{', '.join(sorted(added))} {word} for {label} {container['name']}")
    return changes


def _limit_problems(pod: Json, item: Json) -> list[str]:
    spec, kind = pod["spec"], item.get("type")
    if kind == "Container":
        subjects = [container.get("resources") or {} for container in spec.get("containers") or ()]
    elif kind == "Pod":
        subjects = [_summed(spec)]
    else:
        return []
    problems = []
    for resources in subjects:
        requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
        for name, least in (item.get("min") or {}).items():
            if name not in requests:
                problems.append(f"minimum {name} usage per {kind} is {least}.  No request is specified")
            elif Quantity.parse(requests[name]) < Quantity.parse(least):
                problems.append(f"minimum {name} usage per {kind} is {least}, but request is {requests[name]}")
        for name, most in (item.get("max") or {}).items():
            if name not in limits:
                problems.append(f"maximum {name} usage per {kind} is {most}.  No limit is specified")
            elif Quantity.parse(limits[name]) > Quantity.parse(most):
                problems.append(f"maximum {name} usage per {kind} is {most}, but limit is {limits[name]}")
    return problems


def _summed(spec: Json) -> Json:
    total: dict[str, dict[str, Quantity]] = {"requests": {}, "limits": {}}
    for container in spec.get("containers") or ():
        for kind, sums in total.items():
            for name, amount in ((container.get("resources") or {}).get(kind) or {}).items():
                sums[name] = sums.get(name, Quantity.ZERO) + Quantity.parse(amount)
    return {kind: {name: str(amount) for name, amount in sums.items()} for kind, sums in total.items()}
