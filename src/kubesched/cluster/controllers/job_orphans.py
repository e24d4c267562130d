"""Pods whose Job is gone: nobody will count their end any more, so the finalizer that waits for it is taken off."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.controllers.job import FINALIZER
from kubesched.cluster.controllers.world import World
from kubesched.cluster.views import PodView, WorkloadView, controller_uid
from kubesched.objects.base import Json

NAME: Final = "job-orphans"


class JobOrphanController:
    def __init__(self, world: World) -> None:
        self._world = world
        self._jobs = world.jobs.index(lambda job: job.metadata.uid)
        world.pods.listen(self._pod_changed)
        world.jobs.listen(self._job_changed)

    def reconcile(self, namespace: str, name: str) -> None:
        pod = self._world.pods.get(name, namespace)
        if pod is None or FINALIZER not in pod.metadata.finalizers or self._jobs[controller_uid(pod.metadata)]:
            return

        def release(value: Json) -> None:
            left = [item for item in value["metadata"].get("finalizers") or () if item != FINALIZER]
            value["metadata"]["finalizers"] = left

        self._world.change(self._world.pods.resource, pod.metadata, release)

    def _pod_changed(self, old: PodView | None, new: PodView | None) -> None:
        if new is not None and FINALIZER in new.metadata.finalizers and new.metadata.deletion_timestamp is not None:
            self._world.enqueue(NAME, new.metadata)

    def _job_changed(self, old: WorkloadView | None, new: WorkloadView | None) -> None:
        if old is not None and new is None:
            for pod in self._world.owned_pods.of[old.metadata.uid]:
                self._world.enqueue(NAME, pod.metadata)
