"""How many modules one pod crosses: what somebody who follows it through the code must open.

    python tools/crossings.py

A warm replica is a pod like many before it; a node update is a changed label and the next such pod. Counted are the
modules in which a function ran, and the calls that lead from one module into another: all of them, and those that stay
within the engine.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import Any

PACKAGE = "kubesched."
ENGINE = "kubesched.scheduler.engine"
WARM = 24
"""Replicas before the one that is followed. Every tenth attempt is timed: the next one is not."""


class Trail:
    """The modules and classes that were entered while it was followed."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.classes: set[str] = set()
        self.switches = 0
        self.engine_switches = 0
        self.calls = 0

    def follow(self, frame: FrameType, event: str, _: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        if event != "call" or not module.startswith(PACKAGE) or module.startswith("kubesched.apps"):
            return
        self.calls += 1
        self.modules.add(module)
        if module.startswith(ENGINE) and "self" in frame.f_locals:
            self.classes.add(type(frame.f_locals["self"]).__name__)
        caller = frame.f_back
        while caller is not None and not caller.f_globals.get("__name__", "").startswith(PACKAGE):
            caller = caller.f_back
        origin = caller.f_globals["__name__"] if caller is not None else ""
        if origin != module:
            self.switches += 1
            self.engine_switches += origin.startswith(ENGINE) and module.startswith(ENGINE)

    async def along(self, way: Callable[[], Awaitable[None]]) -> None:
        sys.setprofile(self.follow)
        try:
            await way()
        finally:
            sys.setprofile(None)

    def told(self) -> str:
        engine = sorted(module for module in self.modules if module.startswith(ENGINE))
        return (
            f"{len(self.modules)} modules, {self.switches} switches between them, {self.calls} calls; of the engine"
            f" {len(engine)} modules, {self.engine_switches} switches, {len(self.classes)} classes"
        )


async def main() -> None:
    from kubesched.apps.bench.core_target import CoreTarget
    from kubesched.clock import SystemClock

    target = CoreTarget({}, SystemClock())
    await target.start()

    def node(number: int, **labels: str) -> dict[str, Any]:
        capacity = {"cpu": "400", "memory": "3200Gi", "pods": "11000"}
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"node-{number}", "labels": labels},
            "status": {"capacity": capacity, "conditions": [{"type": "Ready", "status": "True"}]},
        }

    def pod(number: int) -> dict[str, Any]:
        container = {"name": "pause", "image": "pause", "resources": {"requests": {"cpu": "100m", "memory": "500Mi"}}}
        metadata = {"name": f"pod-{number}", "namespace": "default", "uid": f"uid-{number}"}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}

    async def schedule(*numbers: int) -> None:
        prepared = [target.prepare(pod(number)) for number in numbers]
        await target.create(prepared)
        await target.pods.until_scheduled([one.key for one in prepared])

    await target.create([target.prepare(node(number)) for number in range(100)])
    target.settle()
    await schedule(*range(WARM))
    replica, update = Trail(), Trail()
    await replica.along(lambda: schedule(WARM))

    async def updated() -> None:
        await target.update(node(3, disk="ssd"))
        await schedule(WARM + 1)

    await update.along(updated)
    print(f"a warm replica: {replica.told()}")
    print(f"a node update and the next replica: {update.told()}")
    if "--engine" in sys.argv:
        print(*sorted(module for module in update.modules if module.startswith(ENGINE)), sep="\n")
    await target.stop()


if __name__ == "__main__":
    asyncio.run(main())
