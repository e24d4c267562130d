"""Pods in their PreBind, which may take its time: preemption may still stop them there."""

from __future__ import annotations

import asyncio

from kubesched.scheduler.framework import Status


class PodInPreBind:
    """A pod whose PreBind runs as a task of its own."""

    def __init__(self, work: asyncio.Task[Status]) -> None:
        self._work = work
        self._reason = ""

    def cancel(self, reason: str) -> bool:
        """Stop the pod; the first reason holds. False if PreBind has succeeded: the pod is about to be bound.

        As CancelPod and MarkPrebound: whoever hears True may rely on it that the pod is not bound.
        """
        if not self._reason:
            if self._has_succeeded():
                return False
            self._reason = reason
            self._work.cancel(reason)
        return True

    async def outcome(self) -> Status:
        """What the plugins say, unless the pod was stopped; then it does not matter whether they noticed."""
        try:
            status = await self._work
        except asyncio.CancelledError:
            if not self._reason:
                self._work.cancel()
                raise
            return Status.failed(self._reason)
        return Status.failed(self._reason) if self._reason and status.is_success else status

    def _has_succeeded(self) -> bool:
        work = self._work
        return work.done() and not work.cancelled() and work.exception() is None and work.result().is_success
