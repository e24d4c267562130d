"""Object metadata, on creation and on update (`ValidateObjectMeta`, `ValidateObjectMetaUpdate` upstream)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kubesched.cluster.apiserver.problems import Problem, forbidden, invalid, required, too_long
from kubesched.cluster.apiserver.validation.names import dns_label_problems
from kubesched.objects.label_syntax import label_key_problems, label_value_problems

NameRule = Callable[[str], list[str]]
ANNOTATIONS_LIMIT: Final = 256 * 1024
STANDARD_FINALIZERS: Final = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
IMMUTABLE: Final = "field is immutable"


def metadata_problems(metadata: dict[str, Any], *, namespaced: bool, name_rule: NameRule) -> list[Problem]:
    problems: list[Problem] = []
    if generate := metadata.get("generateName"):
        # A trailing dash is fine: five characters follow it (`maskTrailingDash`).
        masked = generate[:-2] + "a" if len(generate) > 1 and generate.endswith("-") else generate
        problems.extend(invalid("metadata.generateName", generate, text) for text in name_rule(masked))
    name = metadata.get("name", "")
    if not name:
        problems.append(required("metadata.name", "name or generateName is required"))
    else:
        problems.extend(invalid("metadata.name", name, text) for text in name_rule(name))
    namespace = metadata.get("namespace", "")
    if namespaced:
        problems.extend(invalid("metadata.namespace", namespace, text) for text in dns_label_problems(namespace))
    elif namespace:
        problems.append(forbidden("metadata.namespace", "not allowed on this type"))
    return problems + _common(metadata)


def metadata_update_problems(new: dict[str, Any], old: dict[str, Any]) -> list[Problem]:
    problems: list[Problem] = []
    if old.get("deletionTimestamp"):
        added = sorted(set(new.get("finalizers") or ()) - set(old.get("finalizers") or ()))
        if added:
            shown = "[]string{" + ", ".join(f'"{item}"' for item in added) + "}"
            message = f"no new finalizers can be added if the object is being deleted, found new finalizers {shown}"
            problems.append(forbidden("metadata.finalizers", message))
    problems += [
        invalid(f"metadata.{key}", new.get(key, ""), IMMUTABLE)
        for key in ("name", "namespace", "uid", "creationTimestamp")
        if new.get(key) != old.get(key)
    ]
    return problems + _common(new)


def label_problems(labels: dict[str, str], path: str) -> list[Problem]:
    problems: list[Problem] = []
    for key, value in labels.items():
        problems.extend(invalid(path, key, text) for text in label_key_problems(key))
        problems.extend(invalid(path, value, text) for text in label_value_problems(value))
    return problems


def annotation_problems(annotations: dict[str, str], path: str) -> list[Problem]:
    problems = [invalid(path, key, text) for key in annotations for text in label_key_problems(key.lower())]
    if sum(len(key) + len(value) for key, value in annotations.items()) > ANNOTATIONS_LIMIT:
        problems.append(too_long(path, ANNOTATIONS_LIMIT))
    return problems


def _common(metadata: dict[str, Any]) -> list[Problem]:
    problems: list[Problem] = []
    if labels := metadata.get("labels"):
        problems += label_problems(labels, "metadata.labels")
    if annotations := metadata.get("annotations"):
        problems += annotation_problems(annotations, "metadata.annotations")
    if owners := metadata.get("ownerReferences"):
        problems += _owner_problems(owners)
    return problems + _finalizer_problems(metadata.get("finalizers") or [])


def _finalizer_problems(finalizers: list[str]) -> list[Problem]:
    problems = [invalid("metadata.finalizers", name, text) for name in finalizers for text in label_key_problems(name)]
    message = "name is neither a standard finalizer name nor is it fully qualified"
    plain = [(index, name) for index, name in enumerate(finalizers) if "/" not in name]
    return problems + [
        invalid(f"metadata.finalizers[{index}]", name, message)
        for index, name in plain
        if name not in STANDARD_FINALIZERS
    ]


def _owner_problems(owners: list[dict[str, Any]]) -> list[Problem]:
    problems: list[Problem] = []
    path = "metadata.ownerReferences"
    for index, owner in enumerate(owners):
        if not owner.get("apiVersion"):
            problems.append(invalid(f"{path}.apiVersion", "", "version must not be empty"))
        missing = [key for key in ("kind", "name", "uid") if not owner.get(key)]
        problems += [required(f"{path}[{index}].{key}", "must not be empty") for key in missing]
    controllers = [f"{owner.get('kind')}/{owner.get('name')}" for owner in owners if owner.get("controller")]
    for other in controllers[1:]:
        message = (
            "Only one reference can have Controller set to true. "
            f'Found "true" in references for {controllers[0]} and {other}'
        )
        problems.append(invalid(path, owners, message))
    return problems
