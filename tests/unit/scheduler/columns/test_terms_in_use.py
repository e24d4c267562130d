"""TermsInUse: which placed pods' terms speak of a pod."""

from __future__ import annotations

from typing import Any

from kubesched.objects import Pod
from kubesched.objects.codec import convert
from kubesched.scheduler.columns import ClusterTables, TermKind


def pod(uid: str, labels: dict[str, str], *selectors: Any) -> Pod:
    terms = [{"labelSelector": selector, "topologyKey": "zone"} for selector in selectors]
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    metadata = {"name": uid, "uid": uid, "namespace": "default", "labels": labels}
    return convert({"metadata": metadata, "spec": {"affinity": affinity}}, Pod)


def place(cluster: ClusterTables, *args: Any) -> None:
    cluster.place(cluster.templates.info(pod(*args)), "n1")


IN_XY = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["x", "y"]}]}
NOT_Z = {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["z"]}]}


def test_terms_are_found_by_label_or_without_one() -> None:
    """Each distinct term once, whether it asks for a label, for one of several, or only against one."""
    cluster = ClusterTables()
    place(cluster, "p1", {}, {"matchLabels": {"app": "x"}}, IN_XY, NOT_Z, {}, None)
    place(cluster, "p2", {"other": "template"}, IN_XY)
    found = {
        app: len(cluster.terms.speaking_of(cluster.templates.info(pod("in", {"app": app})).template, {}))
        for app in ("x", "y", "z")
    }
    assert found == {"x": 4, "y": 3, "z": 1}


def test_the_version_changes_with_the_set_of_terms_only() -> None:
    """Another pod with a known term changes nothing; the last one that goes does."""
    cluster = ClusterTables()
    place(cluster, "p1", {}, IN_XY)
    version = cluster.terms.version
    place(cluster, "p2", {}, IN_XY)
    place(cluster, "p3", {"a": "b"}, IN_XY)
    cluster.displace("p1")
    cluster.displace("p2")
    assert (cluster.terms.version, cluster.terms.is_empty) == (version, False)
    cluster.displace("p3")
    assert cluster.terms.version != version
    assert cluster.terms.is_empty


def test_equal_terms_of_a_template_add_up() -> None:
    """A term that is said twice weighs twice."""
    cluster = ClusterTables()
    template = cluster.templates.info(pod("p1", {}, IN_XY, IN_XY)).template
    assert [(item.kind, weight) for item, weight in template.carried_terms.items()] == [
        (TermKind.REQUIRED_ANTI_AFFINITY, 2)
    ]
