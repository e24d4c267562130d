"""What the server knows of one resource. The resources themselves stand in `catalog`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

from kubesched.cluster.apiserver.problems import Problem
from kubesched.cluster.apiserver.storage import Bucket
from kubesched.cluster.apiserver.tables.layout import NAME_AND_AGE, TableLayout
from kubesched.cluster.apiserver.validation.names import dns_subdomain_problems
from kubesched.objects.base import Json
from kubesched.objects.quantity import Quantity

Usage = dict[str, Quantity]
ALL_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subresource:
    """A subresource as discovery shows it; `kind`, `group` and `version` are those of what it takes and answers."""

    name: str
    kind: str
    group: str = ""
    version: str = ""
    verbs: tuple[str, ...] = ("get", "patch", "update")


Stored = Callable[[str], Bucket]
"""The objects of a resource, by its qualified name."""


class AdmissionContext(NamedTuple):
    """What a resource's admission plugin is made with."""

    resource: Resource
    stored: Stored
    rng: random.Random


class AdmissionPlugin:
    """What other stored objects have to say about a written one. `old` is what it replaces; None for a new object."""

    def admit(self, value: Json, old: Json | None) -> None:
        """Before validation: may change `value` in place, or refuse it."""

    def validate(self, value: Json, old: Json | None) -> None:
        """After validation: may refuse it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaEvaluator:
    """What quotas know of a kind (`quota.Evaluator` upstream)."""

    usage: Callable[[Json], Usage] = lambda _: {}
    """By the names that quotas use, besides `count/…`."""
    missing: Callable[[Json, Mapping[str, object]], str] = lambda value, hard: ""
    """What an object has to say because a quota limits it, and does not; empty if nothing."""
    is_in_scope: Callable[[Json, Json], bool] = lambda scope, value: False
    grows: bool = False  # a change can use more than before


COUNTED_ONLY: Final = QuotaEvaluator()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionRules:
    """How objects of a kind go (`rest.RESTGracefulDeleteStrategy` upstream)."""

    grace_period: Callable[[Json, int | None], int] | None = None
    """The seconds that an object has to finish, given those that the request asks for. Without it, none has any."""
    mark: Callable[[Json], None] | None = None
    """What changes, in place, when an object waits for its finalizers."""
    forbidden: Mapping[str, str] = field(default_factory=dict)
    """Objects that every cluster has: names, and why they stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How objects of a kind come into being and change. Each function works on its own copy of the object.

    `default` fills in what the writer left out; `prepare` resets what a creator may not set; `prepare_update(new, old)`
    keeps what a writer may not touch. Validators return all problems that they find.
    """

    default: Callable[[Json], None] | None = None
    prepare: Callable[[Json], None] | None = None
    prepare_update: Callable[[Json, Json], None] | None = None
    validate: Callable[[Json], list[Problem]] | None = None
    validate_update: Callable[[Json, Json], list[Problem]] | None = None
    validate_status: Callable[[Json, Json], list[Problem]] | None = None
    name_rule: Callable[[str], list[str]] = dns_subdomain_problems
    keeps_status_on_create: bool = False
    counts_generations: bool = False
    counts_annotations: bool = False  # their changes make a generation, too
    unconditional_update: bool = True  # an update without a resourceVersion overwrites
    create_on_update: bool = False  # an update of what does not exist creates it
    returns_deleted: bool = False  # a deletion answers with the object instead of a Status
    admission: Callable[[AdmissionContext], AdmissionPlugin] | None = None
    quota: QuotaEvaluator = COUNTED_ONLY
    deletion: DeletionRules = DeletionRules()


@dataclass(frozen=True, slots=True)
class SelectableField:
    """A field that selectors can ask for: at the top (`key` empty), or under `part`."""

    part: str
    key: str = ""
    default: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """How a resource shows objects that another one stores: both directions of the conversion, in place."""

    to_stored: Callable[[Json], None]
    from_stored: Callable[[Json], None]


@dataclass(frozen=True, slots=True)
class Derivation:
    """Objects that are computed from stored ones whenever they are read, and never stored themselves."""

    objects: Callable[[Stored, str, str, float], Iterable[Json]]
    """In order, given a namespace (all if empty), a name (all if empty) and the time."""


@dataclass(frozen=True, kw_only=True)
class Resource:
    group: str
    version: str
    kind: str
    plural: str
    struct_name: str
    namespaced: bool = True
    verbs: tuple[str, ...] = ALL_VERBS
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[Subresource, ...] = ()
    table: TableLayout = NAME_AND_AGE
    rules: Rules = Rules()
    fields: Mapping[str, SelectableField] = field(default_factory=dict)  # selectable besides metadata.*
    bucket: str = ""  # where objects are stored, if not under the resource's own name
    conversion: Conversion | None = None
    derivation: Derivation | None = None
    is_review: bool = False  # answered, never stored

    @cached_property
    def singular(self) -> str:
        return self.kind.lower()

    @cached_property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @cached_property
    def qualified(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @cached_property
    def bucket_name(self) -> str:
        return self.bucket or self.qualified

    @cached_property
    def head(self) -> bytes:
        """What stands before an entry's JSON to make it an object of this kind."""
        return f'{{"kind":"{self.kind}","apiVersion":"{self.api_version}",'.encode()

    @cached_property
    def has_status(self) -> bool:
        return any(subresource.name == "status" for subresource in self.subresources)

    @cached_property
    def selectable(self) -> frozenset[str]:
        always = {"metadata.name", "metadata.namespace"} if self.namespaced else {"metadata.name"}
        return frozenset(always | set(self.fields))

    def subresource(self, name: str) -> Subresource | None:
        return next((found for found in self.subresources if found.name == name), None)

    @cached_property
    def _fields_by_part(self) -> list[tuple[str, list[tuple[str, str, str]]]]:
        parts: dict[str, list[tuple[str, str, str]]] = {}
        for name, found in self.fields.items():
            parts.setdefault(found.part, []).append((name, found.key, found.default))
        return list(parts.items())

    def read_fields(self, value: Json) -> Mapping[str, str]:
        """The values that field selectors of this resource compare."""
        metadata = value["metadata"]
        read = {"metadata.name": metadata["name"], "metadata.namespace": metadata.get("namespace", "")}
        for part, wanted in self._fields_by_part:
            inside = value.get(part)
            for name, key, default in wanted:
                found = inside.get(key) if key and inside else None if key else inside
                if found is None:
                    read[name] = default
                elif found.__class__ is str:
                    read[name] = found
                else:
                    read[name] = str(found).lower()  # Go's true, and numbers
        return read
