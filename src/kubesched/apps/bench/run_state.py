"""A workload under way: what its operations have made so far, and what they share."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

from kubesched.apps.bench.collecting import Collector
from kubesched.apps.bench.device_pool import DevicePool
from kubesched.apps.bench.manifests import with_metadata
from kubesched.apps.bench.target import Target
from kubesched.apps.bench.templates import Manifest, Template
from kubesched.apps.bench.workload import Workload
from kubesched.clock import Clock

_NAMESPACE: Manifest = {"apiVersion": "v1", "kind": "Namespace"}


@dataclass
class Run:
    """One workload on one target."""

    workload: Workload
    target: Target
    clock: Clock
    collector: Collector
    random: Random
    holds: bool = False
    """Measured pods wait for the scheduler, not the scheduler for them."""
    position: int = 0
    """Of the operation under way."""
    nodes: list[str] = field(default_factory=list)
    pod_labels: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """All pods that operations ever created."""
    deleted: set[str] = field(default_factory=set)
    awaited: set[str] = field(default_factory=set)
    """Pods that were created and not waited for."""
    pod_claims: dict[str, list[str]] = field(default_factory=dict)
    claim_templates: dict[str, dict[str, Manifest]] = field(default_factory=lambda: defaultdict(dict))
    claims: list[Manifest] = field(default_factory=list)
    background: list[asyncio.Task[None]] = field(default_factory=list)
    _templates: dict[str, Template] = field(default_factory=dict)
    _namespaces: set[str] = field(default_factory=set)
    _numbers: Iterator[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        self.devices = DevicePool(self.random)
        self.collector.labels_of = lambda pod: self.pod_labels.get(pod, {})

    def rendered(self, path: str, index: int = 0, total: int = 1) -> Manifest:
        known = self._templates.get(path)
        if known is None:
            known = self._templates[path] = Template(self.workload.folder / path)
        return known.render(index, total)

    def name_of(self, manifest: Manifest) -> str:
        """The object's name, or a new one as generateName gives it."""
        metadata = manifest.get("metadata") or {}
        return str(metadata.get("name") or f"{metadata.get('generateName') or 'any-'}{next(self._numbers)}")

    async def ensure_namespace(self, name: str, manifest: Manifest = _NAMESPACE) -> None:
        if name not in self._namespaces:
            self._namespaces.add(name)
            await self.target.create([self.target.prepare(with_metadata(manifest, name=name))])

    def remember(self, manifest: Manifest) -> None:
        """Keep what later operations refer to."""
        metadata = manifest["metadata"]
        if manifest["kind"] == "ResourceClaimTemplate":
            self.claim_templates[metadata["namespace"]][metadata["name"]] = manifest
        elif manifest["kind"] == "ResourceClaim":
            self.claims.append(manifest)

    def claims_in(self, namespace: str) -> list[Manifest]:
        """Claims that operations created; of all namespaces if none is named."""
        return [claim for claim in self.claims if namespace in ("", claim["metadata"]["namespace"])]

    def pods_in(self, namespaces: Collection[str], labels: Mapping[str, str]) -> list[str]:
        """Pods that were not deleted: of some namespaces (of all, if none is named), with these labels."""
        return [
            pod
            for pod, has in self.pod_labels.items()
            if pod not in self.deleted
            and (not namespaces or pod.partition("/")[0] in namespaces)
            and labels.items() <= has.items()
        ]

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Let something go on beside the operations that follow."""
        self.background.append(asyncio.create_task(work))

    def raise_from_background(self) -> None:
        """What went wrong beside the operations goes wrong here."""
        for task in self.background:
            if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                raise error
