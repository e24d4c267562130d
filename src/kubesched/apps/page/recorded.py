"""A trace as a cluster whose time can be chosen: any moment of it on the page."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from kubesched.apps.inputs.traces import load_trace
from kubesched.apps.page.decision_view import RECORDED, decision_of
from kubesched.apps.page.policies import Policy
from kubesched.apps.page.source import PageSource
from kubesched.clock import SystemClock
from kubesched.errors import ConfigurationError
from kubesched.objects import Pod
from kubesched.objects.completion import completed
from kubesched.traces import Change, ChangeType
from kubesched.traces.slicing import parse_moment
from kubesched.traces.state import State


class RecordedCluster:
    """Begins at the end of the trace, or `at` a moment. All viewers see the same moment. TraceError."""

    def __init__(self, path: Path, at: str, policy: Policy) -> None:
        self._trace = load_trace(path)
        self._policy = policy
        self._objects: dict[tuple[type, str], Any] = {}
        """As the trace has them, of the present moment."""
        self._seeking = asyncio.Lock()
        assembled = policy.tables()
        self._handlers, self._stores = assembled.handlers, assembled.objects
        moment = parse_moment(at, self._trace.header)
        self.start = self.end = self._trace.header.started
        for entry in self._trace:
            self.end = max(self.end, entry.time)
        self.now = self.end if moment is None else min(max(moment, self.start), self.end)
        self._show(self._at(self.now))
        self.source = PageSource(
            title=str(path),
            kind="trace",
            assembled=assembled,
            clock=SystemClock(),
            policy=policy,
            recorded=self,
        )

    async def seek(self, time: float) -> None:
        """Show another moment. It takes as long as reading the trace until there."""
        if not self.start <= time <= self.end:
            raise ConfigurationError(["this moment is not part of the trace"])
        async with self._seeking:
            found = await asyncio.to_thread(self._at, time)
            self.now = time
            self._show(found)

    async def decision(self, pod: str) -> dict[str, Any] | None:
        """It takes as long as reading the trace until then."""
        async with self._seeking:
            return await asyncio.to_thread(self._decide_again, pod)

    def _decide_again(self, pod: str) -> dict[str, Any] | None:
        moment = self._before_binding(pod)
        if moment is None:
            return None
        time, node, objects = moment
        with self._policy.simulation() as simulation:
            simulation.add(*objects)
            decision = decision_of(simulation, pod, self.source.clock)
        return {**decision, "node": node, "basis": {"kind": RECORDED, "at": time}}

    def _before_binding(self, pod: str) -> tuple[float, str, list[Any]] | None:
        """When the pod got the node that it has now, that node, and all that there was just before."""
        state, found = State(), None
        for entry in self._trace:
            if entry.time > self.now:
                break
            if isinstance(entry, Change) and isinstance(entry.object, Pod) and entry.object.key == pod:
                before, node = state.get(Pod, pod), entry.object.spec.node_name
                if entry.type is ChangeType.DELETED:
                    found = None
                elif node and before is not None and not before.spec.node_name:
                    found = entry.time, node, list(state)
            state.apply(entry)
        return found

    def _at(self, time: float) -> dict[tuple[type, str], Any]:
        return {(type(obj), obj.metadata.key): obj for obj in self._trace.state_at(time)}

    def _show(self, now: dict[tuple[type, str], Any]) -> None:
        """Deliver the differences, as a watch would."""
        before, self._objects = self._objects, now
        for kind, key in before.keys() - now.keys():
            self._handlers.delete(self._stores.of(kind).get(key))
        for (kind, key), obj in now.items():
            was = before.get((kind, key))
            known: Any = self._stores.of(kind).get(key)
            if was is None or known is None:
                self._handlers.add(completed(obj))
            elif was.metadata.uid != obj.metadata.uid:
                self._handlers.delete(known)
                self._handlers.add(completed(obj))
            elif was != obj:
                self._handlers.update(known, completed(obj))
