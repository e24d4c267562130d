"""PodCounts: kept counts agree with a recount, whatever was placed, displaced, dropped or narrowed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched.objects import Node, Pod
from kubesched.objects.codec import convert
from kubesched.scheduler.columns import ABSENT, ClusterTables, PodTemplate
from kubesched.scheduler.columns import pod_counts as module

NODES = 70  # more than the first capacity of a table


def pod(uid: str, app: str, *, is_terminating: bool = False) -> Pod:
    deletion = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if is_terminating else {}
    return convert(
        {"metadata": {"name": uid, "uid": uid, "namespace": "default", "labels": {"app": app}} | deletion}, Pod
    )


def node(number: int, **labels: str) -> Node:
    return convert({"metadata": {"name": f"n{number}", "labels": labels}}, Node)


def is_x(template: PodTemplate) -> int:
    return int(template.labels.get("app") == "x")


steps = st.lists(
    st.tuples(st.integers(0, NODES - 1), st.sampled_from("xy"), st.booleans(), st.booleans()), min_size=1, max_size=20
)


@settings(max_examples=60, deadline=None)
@given(steps, st.integers(0, 20))
def test_kept_counts_agree_with_a_recount(changes: list[Any], asked_after: int) -> None:
    """Per node and per domain, with and without tags, with and without terminating pods, asked early or late."""
    cluster = ClusterTables()
    cluster.set_node(node(0, zone="a"))
    expected = {True: np.zeros(NODES, dtype=np.int64), False: np.zeros(NODES, dtype=np.int64)}
    for number, (where, app, is_terminating, stays) in enumerate(changes):
        if number == asked_after:
            _counts(cluster)
        cluster.place(cluster.templates.info(pod(f"p{number}", app, is_terminating=is_terminating)), f"n{where}")
        if not stays:
            cluster.displace(f"p{number}")
        elif app == "x":
            expected[True][where] += 1
            expected[False][where] += not is_terminating
    for number in range(NODES):
        cluster.set_node(node(number, **({"zone": "ab"[number % 2]} if number % 3 else {})))
    column = cluster.nodes.label("zone")
    for (with_terminating, _), count in _counts(cluster).items():
        rows = [cluster.nodes.row_of[f"n{number}"] for number in range(NODES)]
        assert count.rows[rows].tolist() == expected[with_terminating].tolist()
        assert count.total == expected[with_terminating].sum()
        sums = count.per_domain(column)
        assert sums[ABSENT] == 0
        for zone, value in enumerate(column.values):
            members = [n for n in range(NODES) if n % 3 and "ab"[n % 2] == value]
            assert sums[zone] == expected[with_terminating][members].sum()
        where = np.zeros(len(cluster.nodes), dtype=np.bool_)
        assert not count.per_domain(column, where).any()


def _counts(cluster: ClusterTables) -> dict[tuple[bool, bool], module.PodCount]:
    return {
        (with_terminating, narrowed): cluster.view().count(
            ("x", with_terminating, narrowed),
            is_x,
            counts_terminating=with_terminating,
            tags=[("app", "x")] if narrowed else None,
        )
        for with_terminating in (True, False)
        for narrowed in (True, False)
    }


def test_a_narrowed_count_asks_only_templates_with_a_tag() -> None:
    """Neither when it is made, nor when a template gets its first pod."""
    cluster, asked = ClusterTables(), []

    def weigh(template: PodTemplate) -> int:
        asked.append(template.labels["app"])
        return 1

    cluster.place(cluster.templates.info(pod("p1", "x")), "n1")
    cluster.place(cluster.templates.info(pod("p2", "y")), "n1")
    count = cluster.view().count("key", weigh, tags=[("app", "x"), ("app", "z")])
    cluster.place(cluster.templates.info(pod("p3", "z")), "n2")
    cluster.place(cluster.templates.info(pod("p4", "other")), "n2")
    assert asked == ["x", "z"]
    assert count.total == 2


def test_equal_versions_mean_equal_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even for a count that was dropped and made again in the meantime."""
    monkeypatch.setattr(module, "_FEWEST_KEPT", 1)
    monkeypatch.setattr(module, "_BYTES_FOR_COUNTS", 1)
    cluster = ClusterTables()
    first = cluster.view().count("x", is_x)
    drops, version = cluster.counts.drops, first.version
    other = cluster.view().count("other", is_x)
    assert cluster.counts.drops == drops + 1
    cluster.place(cluster.templates.info(pod("p1", "x")), "n1")
    again = cluster.view().count("x", is_x)
    assert (again.total, first.total, other.total) == (1, 0, 1)
    assert again.version != version


def test_counts_cover_nodes_that_came_after_them() -> None:
    """A view over all rows reads a count although no pod was placed since the table grew."""
    cluster = ClusterTables()
    count = cluster.view().count("x", is_x)
    for number in range(NODES):
        cluster.set_node(node(number, zone="a"))
    assert cluster.view().pods_on_node(count).tolist() == [0] * NODES
    assert cluster.view().pods_in_domain(count, "zone").tolist() == [0] * NODES


def test_a_count_that_nobody_holds_is_given_up() -> None:
    """Also where a pod still has a weight in it; the next template is not weighed against it."""
    cluster, asked = ClusterTables(), []

    def weigh(template: PodTemplate) -> int:
        asked.append(template.labels["app"])
        return 1

    cluster.place(cluster.templates.info(pod("p1", "x")), "n1")
    held = cluster.view().count("held", is_x)
    for number in range(20):
        cluster.view().count(("narrowed", number), weigh, tags=[("app", "x")])
        cluster.view().count(("not narrowed", number), weigh)
    asked.clear()
    cluster.place(cluster.templates.info(pod("p2", "x")), "n1")
    cluster.place(cluster.templates.info(pod("p3", "y")), "n1")
    cluster.displace("p1")
    assert asked == []
    assert (held.total, len(cluster.counts)) == (1, 1)


def test_a_count_that_came_back_is_not_given_up_with_its_predecessor() -> None:
    """Under the same key, before the first one was taken out."""
    cluster = ClusterTables()
    cluster.view().count("x", is_x)
    again = cluster.view().count("x", is_x)
    cluster.place(cluster.templates.info(pod("p1", "x")), "n1")
    assert (again.total, len(cluster.counts)) == (1, 1)
    assert cluster.view().count("x", is_x) is again


def test_changes_since_a_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """By row, added up; nothing is said about a version that is too old, or that another count had."""
    monkeypatch.setattr(module, "_CHANGES_REMEMBERED", 3)
    cluster = ClusterTables()
    for number in range(2):
        cluster.set_node(node(number))
    count, other = cluster.view().count("x", is_x), cluster.view().count("other", is_x)
    versions = [count.version]
    for uid, name in (("p1", "n0"), ("p2", "n1"), ("p3", "n1")):
        cluster.place(cluster.templates.info(pod(uid, "x")), name)
        versions.append(count.version)
    assert [count.changes_since(version) for version in versions] == [{0: 1, 1: 2}, {1: 2}, {1: 1}, {}]
    cluster.displace("p1")
    assert count.changes_since(versions[0]) is None
    assert count.changes_since(versions[1]) == {1: 2, 0: -1}
    assert count.changes_since(other.version) is None
