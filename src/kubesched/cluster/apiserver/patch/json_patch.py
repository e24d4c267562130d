"""JSON patch (RFC 6902)."""

from __future__ import annotations

import copy
from typing import Any, Final

from kubesched.cluster.apiserver.patch.errors import PatchError

MAX_OPERATIONS: Final = 10_000  # upstream's limit (`maxJSONPatchOperations`)


def apply_json_patch(target: Any, operations: Any) -> Any:
    """The patched value; `target` is changed in place."""
    if not isinstance(operations, list):
        raise PatchError("error decoding patch: a JSON patch is a list of operations", malformed=True)
    if len(operations) > MAX_OPERATIONS:
        message = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        raise PatchError(message)
    for operation in operations:
        if not isinstance(operation, dict) or not isinstance(operation.get("path"), str):
            raise PatchError("error decoding patch: an operation has an op and a path", malformed=True)
        target = _apply(target, operation)
    return target


def _apply(target: Any, operation: dict[str, Any]) -> Any:
    path = operation["path"]
    match operation.get("op"):
        case "add":
            return _add(target, path, _value(operation))
        case "remove":
            return _remove(target, path)[0]
        case "replace":
            return _replace(target, path, _value(operation))
        case "move":
            target, moved = _remove(target, _source(operation))
            return _add(target, path, moved)
        case "copy":
            return _add(target, path, copy.deepcopy(_get(target, _source(operation))))
        case "test":
            if _get(target, path, missing=None) != operation.get("value"):
                raise PatchError(f"testing value {path} failed: test failed")
            return target
        case other:
            raise PatchError(f"Unexpected kind: {other}")


def _value(operation: dict[str, Any]) -> Any:
    if "value" not in operation:
        raise PatchError(f"{operation['op']} operation of {operation['path']}: missing value")
    return operation["value"]


def _source(operation: dict[str, Any]) -> str:
    source = operation.get("from")
    if not isinstance(source, str):
        raise PatchError(f"{operation['op']} operation of {operation['path']}: missing from")
    return source


def _steps(path: str) -> list[str]:
    if path and not path.startswith("/"):
        raise PatchError(f"invalid path {path}")
    return [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]


_RAISE: Final = object()


def _get(target: Any, path: str, *, missing: Any = _RAISE) -> Any:
    for step in _steps(path):
        if isinstance(target, dict) and step in target:
            target = target[step]
        elif isinstance(target, list) and step.isdecimal() and int(step) < len(target):
            target = target[int(step)]
        elif missing is not _RAISE:
            return missing
        else:
            raise PatchError(f"doc is missing path: {path}: missing value")
    return target


def _parent(target: Any, path: str) -> tuple[Any, str]:
    steps = _steps(path)
    above, _, _ = path.rpartition("/")
    return _get(target, above), steps[-1]


def _add(target: Any, path: str, value: Any) -> Any:
    if not path:
        return value
    parent, step = _parent(target, path)
    if isinstance(parent, dict):
        parent[step] = value
    elif isinstance(parent, list):
        index = len(parent) if step == "-" else _index(step, len(parent), path)
        parent.insert(index, value)
    else:
        raise PatchError(f"add operation does not apply: doc is missing path: {path}: missing value")
    return target


def _replace(target: Any, path: str, value: Any) -> Any:
    if not path:
        return value
    parent, step = _parent(target, path)
    if isinstance(parent, dict):
        parent[step] = value  # also where nothing was: evanphx/json-patch, which upstream uses, allows it
    elif isinstance(parent, list) and step.isdecimal() and int(step) < len(parent):
        parent[int(step)] = value
    else:
        raise PatchError(f"replace operation does not apply: doc is missing key: {path}: missing value")
    return target


def _remove(target: Any, path: str) -> tuple[Any, Any]:
    if not path:
        raise PatchError("remove operation does not apply: the whole document cannot be removed")
    removed = _get(target, path)
    parent, step = _parent(target, path)
    del parent[int(step) if isinstance(parent, list) else step]
    return target, removed


def _index(step: str, length: int, path: str) -> int:
    if not step.isdecimal() or int(step) > length:
        raise PatchError(f"add operation does not apply: Unable to access invalid index: {step}: {path}")
    return int(step)
