"""The rules that extenders must meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesched.config.field_errors import invalid
from kubesched.config.model import Extender
from kubesched.config.qualified_name import objections_to_label_key


def validate_extenders(extenders: Sequence[Extender]) -> Iterator[str]:
    """Every objection: weights, the names of managed resources, and at most one extender that binds."""
    managed: set[str] = set()
    for index, extender in enumerate(extenders):
        path = f"extenders[{index}]"
        if extender.prioritize_verb and extender.weight <= 0:
            yield invalid(f"{path}.weight", extender.weight, "must have a positive weight applied to it")
        for position, resource in enumerate(extender.managed_resources):
            name_path = f"{path}.managedResources[{position}].name"
            yield from _resource_name(name_path, resource.name)
            if resource.name in managed:
                yield invalid(name_path, resource.name, "duplicate extender managed resource name")
            managed.add(resource.name)
    binders = sum(1 for extender in extenders if extender.bind_verb)
    if binders > 1:
        yield invalid(
            "extenders", f"found {binders} extenders implementing bind", "only one extender can implement bind"
        )


def _resource_name(path: str, name: str) -> Iterator[str]:
    objections = objections_to_label_key(name)
    if objections:
        yield from (invalid(path, name, objection) for objection in objections)
    elif not _is_extended_resource(name):
        yield invalid(path, name, "is an invalid extended resource name")


def _is_extended_resource(name: str) -> bool:
    """IsExtendedResourceName: outside kubernetes.io, and still a label key after quota's `requests.` prefix."""
    native = "/" not in name or "kubernetes.io/" in name
    return not native and not name.startswith("requests.") and not objections_to_label_key(f"requests.{name}")
