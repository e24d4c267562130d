"""Pods whose Job is gone: nobody will count their end any more, so the finalizer that waits for it is taken off."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.controllers.job import FINALIZER
from kubesched.cluster.records import PodRecord, WorkloadRecord, controller_uid
from kubesched.objects.base import Json

NAME: Final = "job-orphans"


class JobOrphanController:
    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._jobs = context.jobs.index(lambda job: job.metadata.uid)
        context.pods.listen(self._pod_changed)
        context.jobs.listen(self._job_changed)

    def reconcile(self, namespace: str, name: str) -> None:
        pod = self._context.pods.get(name, namespace)
        if pod is None or FINALIZER not in pod.metadata.finalizers or self._jobs[controller_uid(pod.metadata)]:
            return

        def release(value: Json) -> None:
            left = [item for item in value["metadata"].get("finalizers") or () if item != FINALIZER]
            value["metadata"]["finalizers"] = left

        self._context.change(self._context.pods.resource, pod.metadata, release)

    def _pod_changed(self, old: PodRecord | None, new: PodRecord | None) -> None:
        if new is not None and FINALIZER in new.metadata.finalizers and new.metadata.deletion_timestamp is not None:
            self._context.enqueue(NAME, new.metadata)

    def _job_changed(self, old: WorkloadRecord | None, new: WorkloadRecord | None) -> None:
        if old is not None and new is None:
            for pod in self._context.owned_pods.of[old.metadata.uid]:
                self._context.enqueue(NAME, pod.metadata)
