"""A profile's extension points after Score, timed: one attempt in ten runs these instead of the profile's own."""

from __future__ import annotations

from typing import Protocol

from kubesched.objects import Pod
from kubesched.scheduler.framework import CycleState, Status, Stopwatch
from kubesched.scheduler.runtime.profile import Profile


class Points(Protocol):
    """What an attempt runs once its node is chosen; a `Profile` is one."""

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status: ...
    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None: ...
    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Status: ...
    async def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status: ...
    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None: ...


class TimedPoints:
    """The same points, with the time that each takes reported."""

    def __init__(self, profile: Profile, stopwatch: Stopwatch) -> None:
        self._profile = profile
        self._stopwatch = stopwatch

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        return self._stopwatch.point("Reserve", self._profile.reserve, state, pod, node_name)

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        self._stopwatch.point("Unreserve", self._profile.unreserve, state, pod, node_name)

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        return self._stopwatch.point("Permit", self._profile.permit, state, pod, node_name)

    async def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        return await self._stopwatch.point_async("Bind", self._profile.bind, state, pod, node_name)

    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        self._stopwatch.point("PostBind", self._profile.post_bind, state, pod, node_name)


def points_of(profile: Profile, state: CycleState) -> Points:
    """What an attempt with this state runs: asked once, when its node is chosen."""
    return profile if state.stopwatch is None else TimedPoints(profile, state.stopwatch)
