"""An API server's place taken by memory: what the scheduler writes comes straight back as an event.

For simulations, benchmarks of the core and library use. The objects are the slim ones: nothing else exists here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from msgspec.structs import replace

from kubesched.errors import ApiStatusError
from kubesched.objects import Pod, convert, to_builtins
from kubesched.objects.meta import ObjectMeta
from kubesched.objects.pod import PodCondition
from kubesched.scheduler.framework import NominatingInfo, NominatingMode, ObjectStores

T = TypeVar("T")


class MemoryApi:
    """An `ApiWriter` over the scheduler's own object stores. `updated` and `deleted` are the event handlers' verbs."""

    def __init__(self) -> None:
        self._objects = ObjectStores()
        self._writes = 0
        self.added: Callable[[Any], None] = lambda obj: None
        self.updated: Callable[[Any, Any], None] = lambda old, new: None
        self.deleted: Callable[[Any], None] = lambda obj: None

    def connect(self, objects: ObjectStores, handlers: Any) -> None:
        """Read from these stores, and deliver every write to these handlers."""
        self._objects = objects
        self.added, self.updated, self.deleted = handlers.add, handlers.update, handlers.delete

    async def bind(self, pod: Pod, node_name: str) -> None:
        current = self._current(Pod, pod.metadata.name, pod.metadata.namespace)
        if current.metadata.uid != pod.metadata.uid:
            raise ApiStatusError(409, "Conflict", f"the pod {pod.key} was recreated")
        if current.spec.node_name:
            raise ApiStatusError(409, "Conflict", f"pod {pod.key} is already assigned to node {current.spec.node_name}")
        bound = replace(
            current, spec=replace(current.spec, node_name=node_name), metadata=self._newer(current.metadata)
        )
        self.updated(current, bound)

    async def bind_by(self, pod: Pod, bind: Callable[[], Awaitable[T]]) -> T:
        return await bind()

    async def patch_pod_status(
        self, pod: Pod, condition: PodCondition | None, nominating: NominatingInfo | None
    ) -> None:
        current = self._current(Pod, pod.metadata.name, pod.metadata.namespace)
        status = current.status
        if condition is not None:
            others = tuple(c for c in status.conditions if c.type != condition.type)
            status = replace(status, conditions=(*others, condition))
        if nominating is not None and nominating.mode is NominatingMode.OVERRIDE:
            status = replace(status, nominated_node_name=nominating.node_name)
        if status != current.status:
            self._update(current, replace(current, status=status))

    async def delete_pod(self, pod: Pod) -> None:
        current = self._objects.of(Pod).get(pod.metadata.name, pod.metadata.namespace)
        if current is not None and current.metadata.uid == pod.metadata.uid:
            self.deleted(current)

    async def patch(
        self, kind: type[T], name: str, body: Mapping[str, Any], *, namespace: str = "", subresource: str = ""
    ) -> T:
        current = self._current(kind, name, namespace)
        return self._update(current, convert(_merged(to_builtins(current), body), kind))

    async def create(self, obj: T) -> T:
        self.added(obj)
        return obj

    async def delete(self, kind: type[T], name: str, *, namespace: str = "", uid: str = "") -> None:
        self.deleted(self._current(kind, name, namespace))

    def _update(self, current: T, changed: T) -> T:
        metadata = self._newer(changed.metadata)  # type: ignore[attr-defined]  # every Kubernetes object has it
        written: T = replace(changed, metadata=metadata)  # type: ignore[type-var]  # and is a struct
        self.updated(current, written)
        return written

    def _newer(self, metadata: ObjectMeta) -> ObjectMeta:
        """That of another version: equal versions mean that nothing has changed."""
        self._writes += 1
        return replace(metadata, resource_version=f"memory-{self._writes}")

    def _current(self, kind: type[T], name: str, namespace: str) -> T:
        current = self._objects.of(kind).get(name, namespace)
        if current is None:
            raise ApiStatusError(404, "NotFound", f'{kind.__name__} "{name}" not found')
        return current


def _merged(target: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, Mapping):
        return patch
    result = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key), value)
    return result
