"""Views of the cluster, with pods added and removed hypothetically."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count

import numpy as np
import pytest
from msgspec.structs import replace

from kubesched.objects.affinity import Taint
from kubesched.scheduler.columns import ABSENT, EVERYTHING, ClusterTables, Everything, Journal, LabelColumn, WhatIf
from kubesched.scheduler.framework.node_info import node_info_at
from kubesched.testing import make_node, make_pod
from kubesched.testing.builders import HOSTNAME_LABEL, ZONE_LABEL


@pytest.fixture
def cluster() -> ClusterTables:
    """Nodes a (zone x, a web of 1 CPU), b (zone x, a web that is being deleted), c (no zone, a db of 2 CPU)."""
    made = ClusterTables()
    for name, zone in (("a", "x"), ("b", "x"), ("c", "")):
        made.set_node(make_node(name, cpu="4", zone=zone))
    for pod in (
        make_pod("w1", cpu="1", labels={"app": "web"}, node="a"),
        make_pod("w2", cpu="1", labels={"app": "web"}, node="b", deleting=True),
        make_pod("db", cpu="2", labels={"app": "db"}, node="c"),
    ):
        made.place(made.templates.info(pod), pod.spec.node_name)
    return made


def test_a_view_reads_its_rows(cluster: ClusterTables) -> None:
    """In the order that it was made with."""
    some = cluster.view(np.array([2, 0]))
    assert [some.name(k) for k in range(len(some))] == ["c", "a"]
    assert some.requested("cpu").tolist() == [2000, 1000]
    assert some.position_of("a") == 1
    assert some.position_of("b") is None
    assert some.at(np.array([1])).name(0) == "a"
    assert cluster.view().position_of("nowhere") is None


def test_each_row_is_a_world_of_its_own(cluster: ClusterTables) -> None:
    """What is added on one row is not seen from another, not even in its zone."""
    web = cluster.templates.info(make_pod("new", cpu="3", labels={"app": "web"}))
    nodes = cluster.view()
    count = nodes.count("webs", lambda pod: int(pod.labels.get("app") == "web"))
    supposed = nodes.supposing(WhatIf.added([(0, web), (2, web)]))
    assert supposed.requested("cpu").tolist() == [4000, 1000, 5000]
    assert supposed.pod_count.tolist() == [2, 1, 2]
    assert supposed.pods_on_node(count).tolist() == [2, 1, 1]
    assert supposed.pods_in_domain(count, ZONE_LABEL).tolist() == [3, 2, 0]
    assert nodes.pods_in_domain(count, ZONE_LABEL).tolist() == [2, 2, 0]


def test_pods_removed_in_thought_and_others_added(cluster: ClusterTables) -> None:
    """Both at once; pods that are being deleted count as a count says."""
    nodes = cluster.view(np.array([1, 0]))
    rows = np.array(
        [cluster.pods.row_of(make_pod("w2").metadata.uid), cluster.pods.row_of(make_pod("w1").metadata.uid)]
    )
    web = cluster.templates.info(make_pod("new", labels={"app": "web"}))
    what_if = WhatIf.removed(cluster.pods, rows, np.array([0, 1])) | WhatIf.added([(1, web)])
    supposed = nodes.supposing(what_if)
    assert supposed.requested("cpu").tolist() == [0, 0]
    assert supposed.pod_count.tolist() == [0, 1]
    living = nodes.count("living", lambda pod: int(pod.labels.get("app") == "web"), counts_terminating=False)
    assert nodes.pods_on_node(living).tolist() == [0, 1]
    assert supposed.pods_on_node(living).tolist() == [0, 1]
    assert [info.pod.metadata.name for info in node_info_at(supposed, 1).pod_infos] == ["new"]
    assert node_info_at(supposed, 0).requested == {}


def test_a_node_that_is_gone_keeps_its_pods_until_they_go(cluster: ClusterTables) -> None:
    """Without labels it is in no domain; its row is used again afterwards."""
    row = cluster.nodes.row_of["a"]
    count = cluster.view().count("webs", lambda pod: int(pod.labels.get("app") == "web"))
    cluster.remove_node("a")
    assert cluster.view().position_of("a") is None
    assert cluster.view().pods_in_domain(count, ZONE_LABEL).tolist() == [0, 1, 0]
    cluster.displace(make_pod("w1").metadata.uid)
    assert "a" not in cluster.nodes.row_of
    cluster.set_node(make_node("new", cpu="2"))
    assert cluster.nodes.row_of["new"] == row
    assert cluster.view().allocatable("cpu")[row] == 2000
    assert cluster.view().requested("cpu")[row] == 0


def test_the_first_pod_of_a_node_may_come_before_the_node() -> None:
    """It counts as soon as the node is there."""
    cluster = ClusterTables()
    cluster.place(cluster.templates.info(make_pod("w", cpu="1", node="late")), "late")
    assert cluster.nodes.node_count == 0
    cluster.set_node(make_node("late"))
    assert cluster.view().requested("cpu").tolist() == [1000]


@pytest.mark.parametrize(
    ("limit", "read_at", "found"),
    [
        pytest.param(10, 0, [0, 1, 2, 3, 4, 5], id="from the beginning"),
        pytest.param(10, 4, [4, 5], id="from where one was"),
        pytest.param(10, 6, [], id="nothing new"),
        pytest.param(4, 0, EVERYTHING, id="too long ago"),
        pytest.param(4, 5, [5], id="recent enough"),
    ],
)
def test_a_journal_forgets_what_is_old(limit: int, read_at: int, found: list[int] | Everything) -> None:
    """And says so, instead of leaving something out."""
    journal: Journal[int] = Journal(limit)
    for row in range(6):
        journal.append(row)
    assert journal.position == 6
    assert journal.since(read_at) == found


def test_a_label_column() -> None:
    """Values have small numbers; integers are read as Go reads them."""
    column = LabelColumn("size", 4, count())
    for row, value in enumerate(("7", "-3", "7", "1.5")):
        column.set(row, value)
    rows = slice(0, 4)
    assert column.ids.tolist() == [0, 1, 0, 2]
    assert column.is_in(["7", "1.5", "never seen"], rows).tolist() == [True, False, True, True]
    column.set(2, None)
    assert column.ids[2] == ABSENT
    assert column.is_in(["7", "-3"], rows).tolist() == [True, True, False, False]
    assert column.present(rows).tolist() == [True, True, False, True]
    numbers, is_number = column.integers()
    assert numbers[:2].tolist() == [7, -3]
    assert is_number.tolist() == [True, True, False]
    before = column.domains.tolist()
    column.grow(8)
    assert column.domains.tolist() == [*before, *[ABSENT] * 4]


def test_taints_and_features_that_no_node_has_are_forgotten() -> None:
    """Else each new pod would be compared with all that there ever were."""
    cluster = ClusterTables()
    plain = make_node("a")
    for number in range(50):
        taint = Taint(key=f"key-{number}", effect="NoExecute", time_added=datetime(2026, 1, 1, 0, number, tzinfo=UTC))
        status = replace(plain.status, declared_features=(f"feature-{number}",))
        cluster.set_node(replace(plain, spec=replace(plain.spec, taints=(taint,)), status=status))
    seen: list[object] = []

    def judge(values: object) -> int:
        seen.append(values)
        return 0

    cluster.view().by_taint_set(judge)
    cluster.view().by_feature_set(judge)
    assert len(seen) <= 4
    assert (len(cluster.nodes.taint_sets), len(cluster.nodes.feature_sets)) == (1, 1)
    cluster.remove_node("a")
    assert (len(cluster.nodes.taint_sets), len(cluster.nodes.feature_sets)) == (0, 0)


def test_taints_that_differ_in_their_time_are_one_set() -> None:
    """Every unreachable node has a time of its own."""
    cluster = ClusterTables()
    for number in range(5):
        node = make_node(f"n{number}")
        taint = Taint(key="unreachable", effect="NoExecute", time_added=datetime(2026, 1, 1, 0, number, tzinfo=UTC))
        cluster.set_node(replace(node, spec=replace(node.spec, taints=(taint,))))
    assert len(cluster.nodes.taint_sets) == 1


def test_an_id_serves_another_value_once_no_node_has_its_own() -> None:
    """Else there would be a domain for every node that ever was. What is known about the old value is not inherited."""
    cluster = ClusterTables()
    webs = cluster.view().count("webs", lambda pod: int(pod.labels.get("app") == "web"))
    size = cluster.nodes.label("size")
    for number in range(100):
        cluster.set_node(make_node(f"n{number}", labels={"size": str(number)}))
        cluster.place(cluster.templates.info(make_pod(f"p{number}", labels={"app": "web"})), f"n{number}")
        nodes = cluster.view()
        assert size.integers()[0][nodes.domains("size")][nodes.position_of(f"n{number}")] == number
        assert size.is_in([str(number)], nodes.rows).sum() == 1
        assert nodes.pods_in_domain(webs, "size").sum() == len(cluster.pods)
        if number > 2:
            cluster.remove_node(f"n{number - 3}")
            cluster.displace(make_pod(f"p{number - 3}").metadata.uid)
    assert len(size.values) <= 5
    assert size.id_of("1") not in size.ids


def test_columns_of_keys_that_no_node_carries_are_forgotten() -> None:
    """Those that somebody holds on to are taken up again with the key."""
    cluster = ClusterTables()
    held, version = cluster.nodes.label("key-0"), cluster.nodes.label("key-0").version
    for number in range(50):
        cluster.set_node(make_node("n", labels={f"key-{number}": "x"}))
        cluster.view().domains(f"asked-{number}")
    assert list(cluster.nodes.labels) == [HOSTNAME_LABEL, "key-49"]
    cluster.set_node(make_node("n", labels={"key-0": "y"}))
    assert cluster.nodes.label("key-0") is held
    assert (held.values[held.ids[0]], held.version > version) == ("y", True)


def test_a_column_that_came_back_has_another_version() -> None:
    """Equal versions mean equal columns, although the first one was forgotten in between."""
    cluster = ClusterTables()
    versions = set()
    for value in "abc":
        cluster.set_node(make_node("n", labels={"key": value}))
        versions.add(cluster.nodes.label("key").version)
        cluster.set_node(make_node("n"))
        versions.add(cluster.nodes.label("key").version)
    assert len(versions) == 6
