"""Anonymiser: names become pseudonyms, and scheduling cannot tell the difference.

Scheduling compares names, and mostly for equality: so one name becomes one pseudonym, wherever it stands. Where it does
more than compare, pseudonyms keep what it uses:

    node labels, taints   integers stay: node affinity compares them with Gt and Lt, tolerations too
    pods, claims          `a-b` becomes `A-B`: an ephemeral volume's claim is called after its pod and its volume
    zones                 part by part as well: regions are read from them, and volumes list several (`a__b`)
    images                a name without a tag still means `:latest`
    well-known keys       stay, such as `topology.kubernetes.io/zone`; what stands under them is renamed

What is left as it is: resource names, priorities, names of schedulers and of storage and device drivers, devices with
their attributes (CEL expressions read them), and enumerations. Texts written for people are dropped.
Not kept is the order of names: where Kubernetes sorts by name, as it does with pools of devices, a choice may differ.

Every string of every struct is renamed unless a rule below says otherwise, so that a new field cannot leak.
"""

from __future__ import annotations

import base64
import hashlib
import types
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, Union, get_args, get_origin

import msgspec
from msgspec.structs import replace

from kubesched.objects import CSIDriver, Namespace, Node, PersistentVolumeClaim, Pod, PriorityClass
from kubesched.objects.affinity import NodeSelectorRequirement, NodeSelectorTerm, Taint, Toleration
from kubesched.objects.dra import (
    CounterSet,
    Device,
    DeviceAttribute,
    DeviceConstraint,
    DeviceTaint,
    DeviceToleration,
    ResourceClaimConsumerReference,
)
from kubesched.objects.meta import LabelSelector, LabelSelectorRequirement, ObjectMeta, ObjectReference, OwnerReference
from kubesched.objects.node import ContainerImage
from kubesched.objects.pod import Container, ContainerPort, PodSpec
from kubesched.objects.quantity import Quantity
from kubesched.objects.requirements import parse_int64
from kubesched.objects.resource_names import DEVICE_CLASS_PREFIX
from kubesched.objects.scheduling import TopologyConstraint
from kubesched.objects.storage import (
    CSINodeDriver,
    CSIPersistentVolumeSource,
    CSIStorageCapacity,
    TopologySelectorLabelRequirement,
)
from kubesched.objects.volume import (
    AWSElasticBlockStoreVolumeSource,
    ImageVolumeSource,
    PersistentVolumeClaimVolumeSource,
    Volume,
)
from kubesched.objects.workload import (
    PodDisruptionBudgetStatus,
    ReplicationControllerSpec,
    ServiceSpec,
)
from kubesched.traces import well_known
from kubesched.traces.entries import Change, Decision, Entry

SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"

KEPT_FIELDS: Final = frozenset(
    {
        *("access_modes", "action", "allocation_mode", "api_group", "api_version", "attacher"),
        *("binding_conditions", "binding_failure_conditions", "caching_mode", "capacity_key", "counter_set"),
        *("declared_features", "device", "disruption_mode", "distinct_attribute", "driver", "driver_name"),
        *("effect", "expression", "extended_resource_name", "fs_type", "kind", "match_attribute"),
        *("max_unavailable", "min_available", "node_affinity_policy", "node_taints_policy", "operator"),
        *("persistent_volume_reclaim_policy", "phase", "preemption_policy", "protocol", "provisioner"),
        *("pull_policy", "reason", "reclaim_policy", "resize", "resource", "resource_name", "restart_policy"),
        *("scheduler_name", "share_id", "status", "type", "unhealthy_pod_eviction_policy"),
        *("volume_binding_mode", "volume_mode", "when_unsatisfiable"),
    }
)
"""Enumerations, drivers, resources and devices: in whatever struct they stand."""

RESOURCE_MAPS: Final = frozenset(
    {
        *("allocatable", "allocated_resources", "attributes", "capacity", "consumed_capacity", "counters"),
        *("limits", "node_allocatable_resource_mappings", "overhead", "requests", "resources"),
    }
)
"""Maps by the names of resources, or of a device's attributes and counters."""

Rule = Callable[["Anonymiser", Any], Any]


class Anonymiser:
    """Renames consistently by a secret `salt`. Who does not know it cannot find out names, not even by trying them."""

    def __init__(self, salt: bytes) -> None:
        self._salt = salt

    def entry(self, entry: Entry) -> Entry:
        if isinstance(entry, Change):
            return replace(entry, object=self.object(entry.object))
        if isinstance(entry, Decision):
            namespace, _, name = entry.pod.rpartition("/")
            pod = f"{self.namespace(namespace)}/{self.compound(name)}" if namespace else self.compound(name)
            return replace(entry, pod=pod, uid=self.name(entry.uid), node=self.name(entry.node), message="")
        return entry

    def object(self, obj: Any) -> Any:
        """The object with all its names replaced."""
        return replace(_rename_struct(self, obj), metadata=self._metadata(obj))

    def name(self, text: str) -> str:
        """Any name; `a/b` becomes `A/B`."""
        return "/".join(map(self._pseudonym, text.split("/"))) if "/" in text else self._pseudonym(text)

    def compound(self, text: str) -> str:
        """A name that Kubernetes puts together: `a-b` becomes `A-B`."""
        return "-".join(self._pseudonym(part, length=9) for part in text.split("-"))

    def namespace(self, text: str) -> str:
        return text if text in well_known.NAMESPACES else self.name(text)

    def key(self, text: str) -> str:
        """Of a label or a taint: well-known ones stay; of others, a prefix of Kubernetes."""
        if text in well_known.KEYS:
            return text
        prefix, slash, name = text.rpartition("/")
        if prefix.endswith(("kubernetes.io", "k8s.io")):
            return f"{prefix}{slash}{self._pseudonym(name)}"
        return self._pseudonym(text)

    def value(self, key: str, text: str, *, keeps_integers: bool = False) -> str:
        """Of a label with this key."""
        if key in well_known.ZONE_KEYS:
            return self.zone(text)
        if key in well_known.KEYS_WITH_PUBLIC_VALUES or (keeps_integers and parse_int64(text) is not None):
            return text
        return self.namespace(text) if key == well_known.METADATA_NAME else self._pseudonym(text)

    def zone(self, text: str) -> str:
        return "__".join(map(self.compound, text.split("__")))

    def labels(self, labels: Mapping[str, str], *, keeps_integers: bool = False) -> dict[str, str]:
        return {self.key(key): self.value(key, value, keeps_integers=keeps_integers) for key, value in labels.items()}

    def node_labels(self, labels: Mapping[str, str]) -> dict[str, str]:
        return self.labels(labels, keeps_integers=True)

    def pod_image(self, text: str) -> str:
        """A name without a tag gets `:latest` before it is compared (normalizedImageName)."""
        return f"{self._pseudonym(text if _has_tag(text) else f'{text}:latest')}:x" if text else ""

    def node_image(self, text: str) -> str:
        return f"{self._pseudonym(text)}:x" if _has_tag(text) else self._pseudonym(text)

    def volume_handle(self, text: str) -> str:
        """Handles that volumes of in-tree plugins get, too: `vol-…` of AWS, `projects/…/disks/…` of GCE."""
        if text.startswith("vol-"):
            return f"vol-{self._pseudonym(text[4:])}"
        if text.startswith("projects/") and len(parts := text.split("/")) == 6:
            project, place, disk = parts[1], parts[3], parts[5]
            project = project if project == "UNSPECIFIED" else self._pseudonym(project)
            place = place if place == "UNSPECIFIED" else self.zone(place)
            return f"projects/{project}/{parts[2]}/{place}/{parts[4]}/{self._pseudonym(disk)}"
        return self._pseudonym(text)

    def aws_volume(self, text: str) -> str:
        """`aws://<zone>/<id>`, or just the id."""
        if not text.startswith("aws://"):
            return self.volume_handle(text)
        zone, _, volume = text.removeprefix("aws://").partition("/")
        return f"aws://{self.zone(zone)}/{self.volume_handle(volume)}"

    def resource(self, text: str) -> str:
        return (
            f"{DEVICE_CLASS_PREFIX}{self.name(text[len(DEVICE_CLASS_PREFIX) :])}"
            if text.startswith(DEVICE_CLASS_PREFIX)
            else text
        )

    def _metadata(self, obj: Any) -> ObjectMeta:
        metadata: ObjectMeta = obj.metadata
        is_node = isinstance(obj, Node)
        return replace(
            metadata,
            name=_NAME_RULES.get(type(obj), Anonymiser.name)(self, metadata.name),
            generate_name=self.compound(metadata.generate_name),
            namespace=self.namespace(metadata.namespace),
            uid=self._pseudonym(metadata.uid),
            resource_version="",
            labels=self.labels(metadata.labels, keeps_integers=is_node),
            annotations={key: self._annotation(key, value) for key, value in metadata.annotations.items()},
            owner_references=tuple(map(self._owner, metadata.owner_references)),
            finalizers=tuple(map(self.key, metadata.finalizers)),
        )

    def _annotation(self, key: str, value: str) -> str:
        return self.name(value) if key in (SELECTED_NODE, BETA_CLASS) else value

    def _owner(self, owner: OwnerReference) -> OwnerReference:
        is_known = owner.kind in well_known.KINDS_OF_OWNERS
        return replace(
            owner,
            api_version=owner.api_version if is_known else self._pseudonym(owner.api_version),
            kind=owner.kind if is_known else self._pseudonym(owner.kind),
            name=self.compound(owner.name) if owner.kind == "Pod" else self.name(owner.name),
            uid=self._pseudonym(owner.uid),
        )

    def _pseudonym(self, text: str, length: int = 16) -> str:
        """A word that starts with a letter; nothing stays nothing."""
        if not text:
            return ""
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=self._salt, digest_size=10).digest()
        return f"x{base64.b32encode(digest).decode().lower()}"[:length]


def _has_tag(image: str) -> bool:
    return image.rfind(":") > image.rfind("/")


def _requirement(anonymiser: Anonymiser, source: Any, *, keeps_integers: bool) -> Any:
    """A requirement on labels: its values are those of its key."""
    values = tuple(anonymiser.value(source.key, value, keeps_integers=keeps_integers) for value in source.values)
    return replace(source, key=anonymiser.key(source.key), values=values)


def _node_requirement(anonymiser: Anonymiser, source: Any) -> Any:
    return _requirement(anonymiser, source, keeps_integers=True)


def _node_term(anonymiser: Anonymiser, term: NodeSelectorTerm) -> NodeSelectorTerm:
    return replace(
        term,
        match_expressions=tuple(_node_requirement(anonymiser, requirement) for requirement in term.match_expressions),
        match_fields=tuple(_field_requirement(anonymiser, requirement) for requirement in term.match_fields),
    )


def _field_requirement(anonymiser: Anonymiser, source: NodeSelectorRequirement) -> NodeSelectorRequirement:
    """On a node's name: there is no other field to ask for."""
    key = source.key if source.key == "metadata.name" else anonymiser.name(source.key)
    return replace(source, key=key, values=tuple(map(anonymiser.name, source.values)))


def _selector(anonymiser: Anonymiser, selector: LabelSelector, *, keeps_integers: bool = False) -> LabelSelector:
    return replace(
        selector,
        match_labels=anonymiser.labels(selector.match_labels, keeps_integers=keeps_integers),
        match_expressions=tuple(
            _requirement(anonymiser, requirement, keeps_integers=keeps_integers)
            for requirement in selector.match_expressions
        ),
    )


def _taint(anonymiser: Anonymiser, source: Any) -> Any:
    """A taint or a toleration."""
    value = anonymiser.value(source.key, source.value, keeps_integers=True)
    return replace(source, key=anonymiser.key(source.key), value=value)


def _reference(anonymiser: Anonymiser, reference: ObjectReference) -> ObjectReference:
    """A volume's claim, which is called as claims are."""
    return replace(
        reference,
        name=anonymiser.compound(reference.name),
        namespace=anonymiser.namespace(reference.namespace),
        uid=anonymiser.name(reference.uid),
        resource_version="",
        field_path="",
    )


def _consumer(anonymiser: Anonymiser, reference: ResourceClaimConsumerReference) -> ResourceClaimConsumerReference:
    rename = anonymiser.compound if reference.resource == "pods" else anonymiser.name
    return replace(reference, name=rename(reference.name), uid=anonymiser.name(reference.uid))


def _host_ip(anonymiser: Anonymiser, text: str) -> str:
    return text if text in ("", "0.0.0.0", "::", "127.0.0.1") else anonymiser.name(text)  # noqa: S104 - compared only


def _unchanged(anonymiser: Anonymiser, source: Any) -> Any:
    return source


def _dropped(anonymiser: Anonymiser, source: Any) -> str:
    return ""


def _all(rule: Rule) -> Rule:
    return lambda anonymiser, values: tuple(rule(anonymiser, value) for value in values)


_NAME_RULES: Final[dict[type, Callable[[Anonymiser, str], str]]] = {
    Pod: Anonymiser.compound,
    PersistentVolumeClaim: Anonymiser.compound,
    Namespace: Anonymiser.namespace,
    CSIDriver: _unchanged,
    PriorityClass: lambda anonymiser, name: name if name in well_known.PRIORITY_CLASSES else anonymiser.name(name),
}

STRUCT_RULES: Final[dict[type, Rule]] = {
    DeviceAttribute: _unchanged,
    DeviceConstraint: lambda anonymiser, source: replace(source, requests=tuple(map(anonymiser.name, source.requests))),
    DeviceTaint: _taint,
    DeviceToleration: _taint,
    LabelSelector: _selector,
    LabelSelectorRequirement: lambda anonymiser, source: _requirement(anonymiser, source, keeps_integers=False),
    NodeSelectorRequirement: _node_requirement,
    NodeSelectorTerm: _node_term,
    ObjectMeta: lambda anonymiser, source: ObjectMeta(labels=anonymiser.labels(source.labels)),
    ObjectReference: _reference,
    ResourceClaimConsumerReference: _consumer,
    Taint: _taint,
    Toleration: _taint,
    TopologySelectorLabelRequirement: _node_requirement,
}
"""Structs that are renamed as a whole. Metadata here is that of templates; an object's own is `_metadata`."""

FIELD_RULES: Final[dict[tuple[type, str], Rule]] = {
    (AWSElasticBlockStoreVolumeSource, "volume_id"): Anonymiser.aws_volume,
    (CSINodeDriver, "name"): _unchanged,
    (CSIPersistentVolumeSource, "volume_handle"): Anonymiser.volume_handle,
    (CSIStorageCapacity, "node_topology"): lambda anonymiser, selector: (
        None if selector is None else _selector(anonymiser, selector, keeps_integers=True)
    ),
    (Container, "image"): Anonymiser.pod_image,
    (ContainerImage, "names"): _all(Anonymiser.node_image),
    (ContainerPort, "host_ip"): _host_ip,
    (CounterSet, "name"): _unchanged,
    (Device, "name"): _unchanged,
    (ImageVolumeSource, "reference"): Anonymiser.pod_image,
    (PersistentVolumeClaimVolumeSource, "claim_name"): Anonymiser.compound,
    (PodDisruptionBudgetStatus, "disrupted_pods"): lambda anonymiser, pods: {
        anonymiser.compound(name): time for name, time in pods.items()
    },
    (PodSpec, "node_selector"): Anonymiser.node_labels,
    (ReplicationControllerSpec, "selector"): Anonymiser.labels,
    (ServiceSpec, "selector"): Anonymiser.labels,
    (TopologyConstraint, "key"): Anonymiser.key,
    (Volume, "name"): Anonymiser.compound,
}

NAMED_RULES: Final[dict[str, Rule]] = {
    **dict.fromkeys(KEPT_FIELDS, _unchanged),
    "match_label_keys": _all(Anonymiser.key),
    "message": _dropped,
    "mismatch_label_keys": _all(Anonymiser.key),
    "namespace": Anonymiser.namespace,
    "namespaces": _all(Anonymiser.namespace),
    "priority_class_name": _NAME_RULES[PriorityClass],
    "topology_key": Anonymiser.key,
    "topology_keys": _all(Anonymiser.key),
}
"""For fields of these names that `FIELD_RULES` does not know."""

_renamings: Final[dict[type, Rule | None]] = {}


def _renaming(struct: type) -> Rule | None:
    """How a struct is renamed; None if there is nothing in it to rename."""
    if struct not in _renamings:
        _renamings[struct] = STRUCT_RULES.get(struct) or _field_by_field(struct)
    return _renamings[struct]


def _field_by_field(struct: type) -> Rule | None:
    rules = {}
    for field in msgspec.structs.fields(struct):
        rule = _rule_for(struct, field.name, field.type)
        if rule is not None and rule is not _unchanged:
            rules[field.name] = rule
    if not rules:
        return None

    def rename(anonymiser: Anonymiser, source: Any) -> Any:
        changed = {}
        for name, rule in rules.items():
            value = getattr(source, name)
            if value is not None and value != "" and value != () and value != {}:
                changed[name] = rule(anonymiser, value)
        return replace(source, **changed) if changed else source

    return rename


def _rule_for(struct: type, name: str, hint: Any) -> Rule | None:
    if (struct, name) in FIELD_RULES:
        return FIELD_RULES[struct, name]
    if get_origin(hint) is dict and name in RESOURCE_MAPS:
        inner = _rule_of_type(get_args(hint)[1])
        return lambda anonymiser, source: {
            anonymiser.resource(key): inner(anonymiser, value) if inner else value for key, value in source.items()
        }
    return NAMED_RULES.get(name) if _holds_text(hint) and name in NAMED_RULES else _rule_of_type(hint)


def _rule_of_type(hint: Any) -> Rule | None:
    """The rule for a value that no rule is written for: every text in it is a name."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is str:
        return Anonymiser.name
    if origin in (Union, types.UnionType):
        rules = [rule for argument in arguments if (rule := _rule_of_type(argument)) is not None]
        if rules and int in arguments:  # `int | str`: a number is no name
            return lambda anonymiser, value: value if isinstance(value, int) else rules[0](anonymiser, value)
        return rules[0] if rules else None
    if origin is tuple:
        item = _rule_of_type(arguments[0])
        return _all(item) if item is not None else None
    if origin is dict:
        inner = _rule_of_type(arguments[1])
        return lambda anonymiser, source: {
            anonymiser.name(key): inner(anonymiser, value) if inner else value for key, value in source.items()
        }
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return lambda anonymiser, value: _rename_struct(anonymiser, value)
    if hint in (int, float, bool, datetime, Quantity, type(None)):
        return None
    return lambda anonymiser, value: None  # nobody knows what is in it


def _rename_struct(anonymiser: Anonymiser, value: Any) -> Any:
    rule = _renaming(type(value))
    return rule(anonymiser, value) if rule is not None else value


def _holds_text(hint: Any) -> bool:
    return hint is str or any(argument is str for argument in get_args(hint))
