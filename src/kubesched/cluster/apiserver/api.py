"""All verbs in one place, for whoever lives in this process: the HTTP layer, controllers, kubelets, tests.

Objects go in and out as plain JSON dicts, with full defaulting, admission and validation. Every call is synchronous
and atomic. A refusal is a `RequestRefusedError` that carries the Status.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from kubesched.clock import Clock
from kubesched.cluster.apiserver.admission.chain import Admission
from kubesched.cluster.apiserver.catalog import CATALOG
from kubesched.cluster.apiserver.options import (
    DELETE_DEFAULTS,
    WRITE_DEFAULTS,
    DeleteOptions,
    ListOptions,
    WatchOptions,
    WriteOptions,
)
from kubesched.cluster.apiserver.resource import Resource
from kubesched.cluster.apiserver.storage import Bucket, Entry, Store
from kubesched.cluster.apiserver.verbs.applying import Applier
from kubesched.cluster.apiserver.verbs.binding import Binder
from kubesched.cluster.apiserver.verbs.deletion import Deleter, Deletion
from kubesched.cluster.apiserver.verbs.eviction import Evictor
from kubesched.cluster.apiserver.verbs.reading import Page, Reader
from kubesched.cluster.apiserver.verbs.scaling import Scaler
from kubesched.cluster.apiserver.verbs.watching import Watch
from kubesched.cluster.apiserver.verbs.writing import Writer
from kubesched.objects.base import Json


class Api:
    def __init__(self, *, store: Store, clock: Clock, rng: random.Random) -> None:
        self.store = store
        self.clock = clock
        self.catalog = CATALOG
        for resource in CATALOG:  # every history begins here: a version that any list gave can be watched from
            store.bucket(resource.bucket_name, resource.read_fields)
        admission = Admission(store, CATALOG.resources, self.stored, rng)
        self.quotas = admission.quotas
        self.reader = Reader(store, self.stored, clock)
        self.writer = Writer(store, admission, clock, rng)
        self.deleter = Deleter(store, self.writer, clock)
        pods, budgets = CATALOG.named("pods"), CATALOG.named("poddisruptionbudgets.policy")
        self.binder = Binder(self.writer, pods, CATALOG.named("nodes"))
        self.evictor = Evictor(self.reader, self.writer, self.deleter, pods, budgets)
        self.applier = Applier(self.writer)
        self.scaler = Scaler(self.reader, self.writer)

    def stored(self, name: str) -> Bucket:
        """The objects of a resource, by its qualified name."""
        resource = self.catalog.named(name)
        return self.store.bucket(resource.bucket_name, resource.read_fields)

    def get(self, resource: Resource, name: str, namespace: str = "") -> Json:
        return self.reader.get(resource, name, namespace).decode()

    def list(self, resource: Resource, namespace: str = "", options: ListOptions | None = None) -> Page:
        return self.reader.list(resource, namespace, options)

    def watch(self, resource: Resource, namespace: str = "", options: WatchOptions | None = None) -> Watch:
        return Watch(self.store, resource, namespace, options or WatchOptions())

    def create(
        self, resource: Resource, value: Json, namespace: str = "", options: WriteOptions = WRITE_DEFAULTS
    ) -> Entry:
        return self.writer.create(resource, value, namespace, options)

    def update(
        self,
        resource: Resource,
        value: Json,
        namespace: str = "",
        *,
        subresource: str = "",
        options: WriteOptions = WRITE_DEFAULTS,
    ) -> Entry:
        """Replace an object by `value`, which is taken over. Its resourceVersion, if any, must be the current one."""
        name = value["metadata"]["name"]
        return self.writer.update(resource, name, namespace, lambda _: value, subresource=subresource, options=options)[
            0
        ]

    def change(
        self,
        resource: Resource,
        name: str,
        namespace: str,
        change: Callable[[Json], Json],
        *,
        subresource: str = "",
        options: WriteOptions = WRITE_DEFAULTS,
    ) -> Entry:
        """Replace an object by what `change` makes of the current one."""
        return self.writer.update(
            resource, name, namespace, change, subresource=subresource, patched=True, options=options
        )[0]

    def delete(
        self, resource: Resource, name: str, namespace: str = "", options: DeleteOptions = DELETE_DEFAULTS
    ) -> Deletion:
        return self.deleter.delete(resource, name, namespace, options)

    def bind(self, binding: Json, name: str, namespace: str, *, dry_run: bool = False) -> Entry:
        return self.binder.bind(binding, name, namespace, dry_run=dry_run)

    def evict(self, eviction: Json, name: str, namespace: str, *, dry_run: bool = False) -> None:
        self.evictor.evict(eviction, name, namespace, dry_run=dry_run)
