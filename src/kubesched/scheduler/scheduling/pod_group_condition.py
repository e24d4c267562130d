"""The condition of a pod group that reports to users how its scheduling went."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from kubesched.clock import Clock, utc
from kubesched.errors import ApiStatusError, ClientError
from kubesched.objects import PodGroup, to_builtins
from kubesched.objects.meta import Condition
from kubesched.scheduler.framework import ApiWriter, ObjectStores, PodGroupInfo, Status
from kubesched.telemetry.logging import log

INITIALLY_SCHEDULED: Final = "PodGroupInitiallyScheduled"
SCHEDULED: Final = "PodGroupScheduled"
"""What it was called up to Kubernetes 1.36."""
# Seconds before each further try, with what is known of the group by then.
PAUSES: Final = (0.05, 0.25, 1.0, 5.0)


class PodGroupConditions:
    """Writes one condition. A group that was scheduled once stays so, whatever becomes of later pods."""

    def __init__(self, objects: ObjectStores, clock: Clock, condition_type: str = INITIALLY_SCHEDULED) -> None:
        self._type = condition_type
        self._groups = objects.of(PodGroup)
        self._clock = clock
        self._meant: dict[str, Status] = {}

    async def write(self, api: ApiWriter, group: PodGroupInfo, status: Status) -> None:
        """One task writes about a group at a time; a newer status is left to it, and an older one is left out.

        A group that somebody else has changed is looked at again. Hearing of our own last write may take a while, too:
        what happens to a group within that time must not be lost, since nothing else may happen to it.
        """
        key = group.key
        is_being_written = key in self._meant
        self._meant[key] = status
        if is_being_written:
            return
        written = None
        try:
            while self._meant[key] is not written:
                written = self._meant[key]
                await self._write_until_heard(api, group, written)
        finally:
            del self._meant[key]

    async def _write_until_heard(self, api: ApiWriter, group: PodGroupInfo, status: Status) -> None:
        answer: PodGroup | None = None
        for pause in (*PAUSES, None):
            try:
                if answer is None:
                    answer = await self._write_once(api, group, status)
                if answer is None or self._has_heard_of(answer):
                    return
            except ClientError as error:
                is_conflict = isinstance(error, ApiStatusError) and error.code == 409
                if not is_conflict or pause is None:
                    log.error("Failed to update PodGroup status", error, podGroup=group.key)
                    return
            if pause is not None:
                await self._clock.sleep(pause)
                if answer is None and self._meant[group.key] is not status:
                    return

    async def _write_once(self, api: ApiWriter, group: PodGroupInfo, status: Status) -> PodGroup | None:
        """The group as it was written; None where there is nothing to write."""
        known = self._groups.get(group.name, group.namespace)
        if known is None:
            log.warning("Pod group is gone: its status is not written", podGroup=group.key)
            return None
        conditions = self._changed(known, self._condition(status))
        if conditions is None:
            return None
        body = {
            "metadata": {"resourceVersion": known.metadata.resource_version},
            "status": {"conditions": [to_builtins(condition) for condition in conditions]},
        }
        return await api.patch(PodGroup, group.name, body, namespace=group.namespace, subresource="status")

    def _has_heard_of(self, written: PodGroup) -> bool:
        known = self._groups.get(written.metadata.name, written.metadata.namespace)
        if known is None:
            return True
        seen, ours = known.metadata.resource_version, written.metadata.resource_version
        return seen == ours or (seen.isdecimal() and ours.isdecimal() and int(seen) > int(ours))

    def _changed(self, group: PodGroup, new: Condition) -> list[Condition] | None:
        """The group's conditions with the new one; None if there is nothing to write."""
        old = next((condition for condition in group.status.conditions if condition.type == self._type), None)
        if old is not None and old.status == "True" != new.status:
            return None
        is_same_status = old is not None and old.status == new.status
        new = replace(
            new,
            observed_generation=group.metadata.generation,
            last_transition_time=old.last_transition_time if old and is_same_status else utc(self._clock),
        )
        if new == old:
            return None
        return [*(condition for condition in group.status.conditions if condition.type != self._type), new]

    def _condition(self, status: Status) -> Condition:
        if status.is_success:
            return Condition(type=self._type, status="True", reason="Scheduled", message=status.message)
        reason = "Unschedulable" if status.is_rejection else "SchedulerError"
        return Condition(type=self._type, status="False", reason=reason, message=status.message)
