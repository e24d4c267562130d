"""Garbage collection and namespaces."""

from __future__ import annotations

from typing import Any

from kubesched.cluster.apiserver.options import DeleteOptions

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: %s}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: nginx}]}}
"""


def delete(rig: Any, resource: str, name: str, propagation: str = "", namespace: str = "default") -> None:
    found = rig.api.catalog.named(resource)
    rig.api.delete(found, name, namespace if found.namespaced else "", DeleteOptions(propagation=propagation))


async def test_in_the_background_dependents_follow(rig: Any) -> None:
    """The owner goes at once, what it owned a little later."""
    rig.apply(DEPLOYMENT % "default")
    await rig.advance(2)
    delete(rig, "deployments.apps", "web", "Background")
    assert rig.names("deployments.apps") == []
    await rig.advance(3)
    assert rig.names("replicasets.apps") == []
    assert rig.names("pods") == []


async def test_in_the_foreground_the_owner_waits(rig: Any) -> None:
    """It stays until its dependents, and theirs, are gone."""
    rig.apply(DEPLOYMENT % "default")
    await rig.advance(2)
    delete(rig, "deployments.apps", "web", "Foreground")
    await rig.advance(0.5)
    assert rig.names("deployments.apps") == ["web"]
    assert len(rig.names("pods")) == 2
    await rig.advance(3)
    assert rig.names("deployments.apps") == rig.names("replicasets.apps") == rig.names("pods") == []


async def test_orphans_stay(rig: Any) -> None:
    """With Orphan, the ReplicaSet lives on without an owner; a new Deployment adopts it."""
    rig.apply(DEPLOYMENT % "default")
    await rig.advance(2)
    delete(rig, "deployments.apps", "web", "Orphan")
    await rig.advance(1)
    assert rig.names("deployments.apps") == []
    (left,) = rig.items("replicasets.apps")
    assert not left["metadata"].get("ownerReferences")
    rig.apply(DEPLOYMENT % "default")
    await rig.advance(1)
    (adopted,) = rig.items("replicasets.apps")
    assert adopted["metadata"]["ownerReferences"][0]["kind"] == "Deployment"


async def test_an_object_whose_owner_never_was_goes(rig: Any) -> None:
    """A dangling owner reference is enough."""
    rig.apply(
        """
apiVersion: v1
kind: ConfigMap
metadata:
  name: lost
  ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: 2d7cb1e2-0000-4000-8000-000000000000}]
"""
    )
    await rig.advance(0.5)
    assert "lost" not in rig.names("configmaps")


async def test_a_namespace_is_emptied_before_it_goes(rig: Any) -> None:
    """Deployments, pods and all: nothing is left, and new things are refused meanwhile."""
    rig.apply("{apiVersion: v1, kind: Namespace, metadata: {name: team}}")
    await rig.advance(0.3)
    assert rig.names("serviceaccounts", "team") == ["default"]
    rig.apply(DEPLOYMENT % "team")
    await rig.advance(2)
    assert len(rig.names("pods", "team")) == 2
    delete(rig, "namespaces", "team")
    await rig.advance(5)
    assert "team" not in rig.names("namespaces", "")
    assert rig.names("pods", "team") == rig.names("replicasets.apps", "team") == []
