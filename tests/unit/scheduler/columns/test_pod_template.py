"""Pods that nothing can tell apart share a template, in whatever order they come."""

from __future__ import annotations

import gc

import pytest

from kubesched.objects import Pod
from kubesched.scheduler.columns import ClusterTables
from kubesched.testing.builders import make_pod

EPHEMERAL = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True}


def token(name: str) -> list[dict[str, object]]:
    """A volume that scheduling does not look at."""
    return [{"name": name, "projected": {}}]


@pytest.mark.parametrize(
    ("one", "other", "are_alike"),
    [
        pytest.param(make_pod("a", cpu="1"), make_pod("b", cpu="1"), True, id="replicas"),
        pytest.param(make_pod("a", owner=OWNER), make_pod("b", owner=OWNER), True, id="of one controller"),
        pytest.param(make_pod("a"), make_pod("b", owner=OWNER), False, id="one has a controller"),
        pytest.param(make_pod("a", cpu="1"), make_pod("b", cpu="2"), False, id="of different sizes"),
        pytest.param(make_pod("a"), make_pod("b", labels={"x": "y"}), False, id="one has a label"),
        pytest.param(make_pod("a"), make_pod("b", namespace="other"), False, id="of different namespaces"),
        pytest.param(make_pod("a"), make_pod("b", node="n"), True, id="one is placed"),
        pytest.param(
            make_pod("a", volumes=token("t1")), make_pod("b", volumes=token("t2")), True, id="names of other volumes"
        ),
        pytest.param(
            make_pod("a", volumes=EPHEMERAL), make_pod("b", volumes=EPHEMERAL), False, id="a claim is made for each"
        ),
    ],
)
def test_pods_that_are_alike_share_a_template(one: Pod, other: Pod, are_alike: bool) -> None:
    """Also when another pod came in between."""
    templates = ClusterTables().templates
    first, second = templates.info(one), templates.info(other)
    third, fourth = templates.info(one), templates.info(other)
    assert (first.template is second.template) is are_alike
    assert (first.template, second.template) == (third.template, fourth.template)


def test_a_template_wants_one_node() -> None:
    """Pods that ask for different nodes by name have different templates."""
    templates = ClusterTables().templates
    pod = make_pod("a")
    one, other = templates.info(pod, wanted_node="n1"), templates.info(pod, wanted_node="n2")
    assert (one.template.wanted_node, other.template.wanted_node) == ("n1", "n2")


def test_a_template_is_forgotten_with_its_last_pod() -> None:
    """That it was asked for last does not keep it."""
    templates = ClusterTables().templates
    info = templates.info(make_pod("a"))
    assert len(templates) == 1
    del info
    gc.collect()
    assert len(templates) == 0
    assert templates.info(make_pod("b")).template.exemplar.metadata.name == "b"
