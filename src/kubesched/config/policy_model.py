"""The old Policy format as it stands in a file (`kind: Policy`, `apiVersion: v1`)."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from kubesched.config.model import Extender, ExtenderManagedResource, ExtenderTLSConfig
from kubesched.config.plugin_args import ConfigStruct, Int32, Int64, ResourceSpec, UtilizationShapePoint


class ServiceAffinity(ConfigStruct, frozen=True):
    """Pods of one service go to nodes that agree on these labels."""

    labels: tuple[str, ...] = ()


class LabelsPresence(ConfigStruct, frozen=True):
    """Nodes must have (or must lack) all of these labels."""

    labels: tuple[str, ...] = ()
    presence: bool = False


class PredicateArgument(ConfigStruct, frozen=True):
    """Exactly one of its members is set."""

    service_affinity: ServiceAffinity | None = None
    labels_presence: LabelsPresence | None = None


class PredicatePolicy(ConfigStruct, frozen=True):
    """A predicate by name; one with an argument may have any name."""

    name: str
    argument: PredicateArgument | None = None


class ServiceAntiAffinity(ConfigStruct, frozen=True):
    """Pods of one service spread over the values of a node label."""

    label: str = ""


class LabelPreference(ConfigStruct, frozen=True):
    """Nodes that have (or lack) a label are preferred."""

    label: str = ""
    presence: bool = False


class RequestedToCapacityRatioArguments(ConfigStruct, frozen=True):
    """The scoring curve and the resources it looks at."""

    shape: tuple[UtilizationShapePoint, ...] = ()
    resources: tuple[ResourceSpec, ...] = ()


class PriorityArgument(ConfigStruct, frozen=True):
    """Exactly one of its members is set."""

    service_anti_affinity: ServiceAntiAffinity | None = None
    label_preference: LabelPreference | None = None
    requested_to_capacity_ratio_arguments: RequestedToCapacityRatioArguments | None = None


class PriorityPolicy(ConfigStruct, frozen=True):
    """A priority function by name, with its weight; one with an argument may have any name."""

    name: str
    weight: Int64
    argument: PriorityArgument | None = None


class LegacyExtender(ConfigStruct, frozen=True):
    """An extender as policies write it: `enableHttps`, and the time-out as a number of nanoseconds."""

    url_prefix: str
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: Int64 = 0
    bind_verb: str = ""
    enable_https: bool = False
    tls_config: ExtenderTLSConfig | None = None
    http_timeout: Int64 = 0
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False

    def upgraded(self) -> Extender:
        """The same extender in today's form."""
        values = msgspec.structs.asdict(self)
        values["http_timeout"] = timedelta(microseconds=self.http_timeout // 1000)
        return Extender(**values)


class Policy(ConfigStruct, frozen=True):
    """A whole policy. Absent lists mean the defaults; empty lists mean none.

    `always_check_all_predicates` changes no decision: it only asked for more reasons per node, and kubesched can
    explain every node anyway.
    """

    predicates: tuple[PredicatePolicy, ...] | None = None
    priorities: tuple[PriorityPolicy, ...] | None = None
    extenders: tuple[LegacyExtender, ...] = ()
    hard_pod_affinity_symmetric_weight: Int32 = 0
    always_check_all_predicates: bool = False
