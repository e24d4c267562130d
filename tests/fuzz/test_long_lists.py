"""Lists of every kind, with thousands of items: no request takes a second of CPU time.

They are a tenth as long as they could be; what grows faster than its list takes far longer than that. The lists are
found in the field table, so a field that is served tomorrow is tried, too. Each is tried with equal items and with
different ones, created, and then replaced and patched where it could be created. A few lists of each kind are tried,
chosen by FUZZ_SEED; all of them with FUZZ_SECONDS=60.
"""

from __future__ import annotations

import copy
import json
import os
import sys
from collections.abc import Iterator
from random import Random
from typing import Any, Final

import pytest
from tests.contract.harness import MEDIA
from tests.fuzz.cluster import FuzzedCluster, Request

from kubesched.cluster.apiserver.catalog import CATALOG
from kubesched.cluster.apiserver.resource import Resource
from kubesched.cluster.apiserver.schema import FieldType, Shape, struct

MOST_BYTES: Final = 120_000
LONGEST: Final = 3.0
SECONDS: Final = float(os.environ.get("FUZZ_SECONDS", "10"))
SEED: Final = int(os.environ.get("FUZZ_SEED", "1"))
FEW: Final = 4
DEEPEST: Final = 9
KINDS: Final = ("pods", "nodes", "deployments.apps", "services", "persistentvolumeclaims", "persistentvolumes")
MORE_KINDS: Final = ("resourceclaims.resource.k8s.io", "resourceslices.resource.k8s.io", "poddisruptionbudgets.policy")
SCALARS: Final[dict[Shape, Any]] = {
    Shape.INT32: 1,
    Shape.INT64: 1,
    Shape.NUMBER: 1,
    Shape.BOOLEAN: True,
    Shape.QUANTITY: "1",
    Shape.INT_OR_STRING: 1,
    Shape.TIME: "2024-01-01T00:00:00Z",
    Shape.MICRO_TIME: "2024-01-01T00:00:00.000000Z",
}
TEMPLATE: Final = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
BASES: Final[dict[str, dict[str, Any]]] = {
    "pods": {"spec": {"containers": [{"name": "c", "image": "i"}]}},
    "deployments.apps": {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}},
    "services": {"spec": {"ports": [{"port": 80}]}},
}


def longest() -> float:
    """LONGEST, or more where every line is traced: coverage makes Python several times as slow."""
    return LONGEST if sys.gettrace() is None else 8 * LONGEST


Path = tuple[str, ...]


def lists_of(struct_name: str, path: Path = ()) -> Iterator[tuple[Path, FieldType]]:
    """The lists and maps of a struct, each by the fields that lead to it."""
    if len(path) > DEEPEST:
        return
    for name, kind in struct(struct_name).fields.items():
        if name in ("managedFields", "status") or name in path:
            continue
        if kind.shape in (Shape.LIST, Shape.MAP):
            yield (*path, name), kind
        inner = kind.item if kind.shape is Shape.LIST else kind
        if inner is not None and inner.shape is Shape.STRUCT and not path.count(name):
            yield from lists_of(inner.struct_name, (*path, name))


def item_of(kind: FieldType, number: int, depth: int = 0) -> Any:
    """A small value of that type; `number` makes it different."""
    match kind.shape:
        case Shape.STRUCT:
            fields = struct(kind.struct_name).fields.items()
            wanted = [(name, field) for name, field in fields if field.required or name in ("name", "key", "effect")]
            return {name: item_of(field, number, depth + 1) for name, field in wanted if depth < 3}
        case Shape.LIST | Shape.MAP:
            return [] if kind.shape is Shape.LIST else {}
        case shape:
            return SCALARS.get(shape, f"x{number}")


def long_list(kind: FieldType, *, equal: bool) -> Any:
    assert kind.item is not None
    size = len(json.dumps(item_of(kind.item, 12345), separators=(",", ":"))) + 1
    count = MOST_BYTES // (size + (10 if kind.shape is Shape.MAP else 0))
    items = (item_of(kind.item, 0 if equal else number) for number in range(count))
    return {f"k{number}": item for number, item in enumerate(items)} if kind.shape is Shape.MAP else list(items)


def put(value: Any, path: Path, struct_name: str, item: Any) -> None:
    """Set the field at the path, and make what leads to it."""
    kind = struct(struct_name).fields[path[0]]
    if len(path) == 1:
        value[path[0]] = item
        return
    if kind.shape is Shape.LIST:
        assert kind.item is not None
        inner = value.setdefault(path[0], [item_of(kind.item, 0)])
        put(inner[0], path[1:], kind.item.struct_name, item)
    else:
        put(value.setdefault(path[0], {}), path[1:], kind.struct_name, item)


def collection(resource: Resource) -> str:
    root = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    return f"{root}/namespaces/default/{resource.plural}" if resource.namespaced else f"{root}/{resource.plural}"


def requests(resource: Resource, value: dict[str, Any]) -> Iterator[Request]:
    where, name = collection(resource), value["metadata"]["name"]
    body = json.dumps(value, separators=(",", ":")).encode()
    yield Request("POST", f"{where}?fieldValidation=Strict", body)
    yield Request("PUT", f"{where}/{name}", body)
    yield Request("PATCH", f"{where}/{name}", body, MEDIA["strategic"])
    yield Request("PATCH", f"{where}/{name}", body, MEDIA["merge"])
    whole = {"kind": resource.kind, "apiVersion": resource.api_version} | value
    yield Request("PATCH", f"{where}/{name}?fieldManager=m&force=true", json.dumps(whole).encode(), MEDIA["apply"])


def _some(lists: list[tuple[Path, FieldType]]) -> list[tuple[Path, FieldType]]:
    few = min(FEW, len(lists))
    return lists if SECONDS >= 60 else [*lists[:few], *Random(SEED).sample(lists[few:], min(FEW, len(lists) - few))]


@pytest.mark.slow
@pytest.mark.parametrize("name", [*KINDS, *MORE_KINDS])
async def test_no_list_is_too_long(name: str) -> None:
    """Of any kind that schedulers and their users write."""
    resource, errors = CATALOG.named(name), list[str]()
    slow: list[str] = []
    cluster = FuzzedCluster(1, errors)
    for number, (path, kind) in enumerate(_some(list(lists_of(resource.struct_name)))):
        for equal in (True, False):
            value = copy.deepcopy(BASES.get(name, {})) | {"metadata": {"name": f"o{number}-{int(equal)}"}}
            put(value, path, resource.struct_name, long_list(kind, equal=equal))
            for request in requests(resource, value):
                answer = await cluster.send(request)
                if answer.seconds > longest() or answer.code == 500:
                    items = "equal" if equal else "different"
                    where = f"{'.'.join(path)}, {items} items: {request.method} {request.content_type}"
                    slow.append(f"{where}: {answer.code} after {answer.seconds:.1f} s")
                if request.method == "POST" and answer.code != 201:
                    break
    await cluster.stop()
    assert not slow, "\n".join(slow)
    assert not errors
