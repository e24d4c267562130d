"""Carries out a `WriteOrder`: who has a call to make waits for its turn, sends it, and says how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Protocol, TypeVar

from kubesched.client.write_order import SEND_NOW, Action, Call, Instruction, WriteOrder
from kubesched.clock import Clock

# One HTTP/2 connection to kube-apiserver carries 100 requests at a time, of which some twenty are watches. More writes
# would wait inside the HTTP library, where nothing can hold them back any more.
MOST_IN_FLIGHT: Final = 64
# Bindings and evictions never wait for the statuses of pods that fit nowhere, however many these are.
MOST_STATUS_PATCHES: Final = 32

T = TypeVar("T")


class CallObserver(Protocol):
    """Who measures calls: the `scheduler_async_api_call_*` metrics. Must be cheap."""

    def call_finished(self, call_type: str, *, succeeded: bool, seconds: float) -> None: ...

    def read_waiting(self, read: Callable[[], Mapping[str, int]]) -> None:
        """`read` says how many calls wait, by type."""
        ...


class Dispatcher:
    """Use: `if dispatcher.begin(call) or await dispatcher.turn(call)`, then send, and `finished` whatever happens."""

    def __init__(
        self,
        clock: Clock,
        observer: CallObserver | None = None,
        *,
        most: int = MOST_IN_FLIGHT,
        most_status_patches: int = MOST_STATUS_PATCHES,
    ) -> None:
        self._order = WriteOrder(most=most, most_patient=most_status_patches)
        self._turns: dict[Call, asyncio.Future[bool]] = {}
        self._clock = clock
        self._observer = observer
        self.gives_way = self._order.gives_way
        if observer is not None:
            observer.read_waiting(self._order.waiting)

    def begin(self, call: Call) -> bool:
        """Put the call behind all others about its object. True if it may be sent at once; if not, await its `turn`."""
        instructions = self._order.add(call)
        if self._observer is not None:
            call.began = self._clock.monotonic()
        if instructions is SEND_NOW:
            return True
        may_send = False
        for instruction in instructions:
            if instruction.call is call:
                may_send = True
            else:
                self._wake(instruction)
        return may_send

    async def turn(self, call: Call) -> bool:
        """Wait until the call may be sent; False if it is superseded, and not to be sent."""
        turn: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._turns[call] = turn
        try:
            may_send = await turn
        except asyncio.CancelledError:
            if self._turns.pop(call, None) is not None:
                self._wake_all(self._order.withdraw(call))
            elif not turn.cancelled() and turn.result():
                self._wake_all(self._order.finished(call, succeeded=False))
            raise
        call.began = self._clock.monotonic()
        return may_send

    def finished(self, call: Call, *, succeeded: bool) -> None:
        """A call whose turn it was has been answered, or given up."""
        if self._observer is not None:
            seconds = self._clock.monotonic() - call.began
            self._observer.call_finished(call.type, succeeded=succeeded, seconds=seconds)
        if instructions := self._order.finished(call, succeeded=succeeded):
            self._wake_all(instructions)

    async def in_turn(self, call: Call, send: Callable[[], Awaitable[T]]) -> T:
        """Send a call that nothing supersedes."""
        if not self.begin(call):
            await self.turn(call)
        succeeded = False
        try:
            answer = await send()
            succeeded = True
            return answer
        finally:
            self.finished(call, succeeded=succeeded)

    def _wake_all(self, instructions: Sequence[Instruction]) -> None:
        for instruction in instructions:
            self._wake(instruction)

    def _wake(self, instruction: Instruction) -> None:
        may_send = instruction.action is Action.SEND
        turn = self._turns.pop(instruction.call)
        if not turn.done():
            turn.set_result(may_send)
        elif may_send:  # cancelled in this very moment
            self._wake_all(self._order.finished(instruction.call, succeeded=False))
