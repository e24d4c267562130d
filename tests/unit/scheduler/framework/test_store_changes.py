from __future__ import annotations

from kubesched.objects import PersistentVolume, PersistentVolumeClaim
from kubesched.scheduler.columns import Follower
from kubesched.scheduler.framework import ObjectStores
from kubesched.testing import make_pv, make_pvc


def test_a_store_names_the_keys_that_change() -> None:
    """Whoever keeps an index over a store looks only at what was set or removed."""
    stores = ObjectStores()
    claims, volumes = stores.of(PersistentVolumeClaim), stores.of(PersistentVolume)
    of_claims, of_volumes = Follower(claims.changes), Follower(volumes.changes)
    of_claims.changed(), of_volumes.changed()
    claims.set(make_pvc("c", namespace="ns"))
    volumes.set(make_pv("v"))
    volumes.remove(make_pv("v"))
    volumes.remove(make_pv("never there"))
    assert of_claims.changed() == ["ns/c"]
    assert of_volumes.changed() == ["v", "v"]
