"""Fakes that write down what they were asked to do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from kubesched.objects import Pod
from kubesched.objects.pod import PodCondition
from kubesched.scheduler.framework import NominatingInfo

T = TypeVar("T")


@dataclass
class RecordingApi:
    """An `ApiWriter` that succeeds at everything and remembers it; set `error` to make it fail."""

    bindings: dict[str, str] = field(default_factory=dict)
    conditions: list[tuple[str, PodCondition | None, NominatingInfo | None]] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    patches: list[tuple[str, str, Mapping[str, Any], str]] = field(default_factory=list)
    created: list[Any] = field(default_factory=list)
    error: Exception | None = None

    def _fail(self) -> None:
        if self.error is not None:
            raise self.error

    async def bind(self, pod: Pod, node_name: str) -> None:
        self._fail()
        self.bindings[pod.key] = node_name

    async def bind_by(self, pod: Pod, bind: Callable[[], Awaitable[T]]) -> T:
        return await bind()

    async def patch_pod_status(
        self, pod: Pod, condition: PodCondition | None, nominating: NominatingInfo | None
    ) -> None:
        self._fail()
        self.conditions.append((pod.key, condition, nominating))

    async def delete_pod(self, pod: Pod) -> None:
        self._fail()
        self.deleted.append(pod.key)

    async def patch(
        self, kind: type[T], name: str, body: Mapping[str, Any], *, namespace: str = "", subresource: str = ""
    ) -> T:
        self._fail()
        self.patches.append((kind.__name__, f"{namespace}/{name}" if namespace else name, body, subresource))
        return kind()

    async def create(self, obj: T) -> T:
        self._fail()
        self.created.append(obj)
        return obj

    async def delete(self, kind: type[T], name: str, *, namespace: str = "", uid: str = "") -> None:
        self._fail()
        self.deleted.append(f"{namespace}/{name}" if namespace else name)


@dataclass
class RecordingRecorder:
    """An `EventRecorder` that keeps (pod, type, reason, note)."""

    events: list[tuple[str, str, str, str]] = field(default_factory=list)

    def event(self, regarding: Pod, event_type: str, reason: str, action: str, note: str, **_: object) -> None:
        self.events.append((regarding.key, event_type, reason, note))
