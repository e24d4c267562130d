"""DefaultBinder: writes to the API server which node a pod goes to."""

from __future__ import annotations

from typing import Final

from kubesched.errors import ClientError
from kubesched.objects import Pod
from kubesched.scheduler.framework import SUCCESS, BindPlugin, CycleState, Handle, Status

NAME: Final = "DefaultBinder"


class DefaultBinder(BindPlugin):
    """Binds through the API server's `binding` subresource. A refusal is an ERROR: the attempt failed, not the pod."""

    name = NAME

    def __init__(self, args: None, handle: Handle) -> None:
        self._handle = handle

    async def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        try:
            await self._handle.api.bind(pod, node_name)
        except ClientError as error:
            return Status.failed(error)
        return SUCCESS
