"""Claims in columns."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched.scheduler.columns import ClusterTables, PodInfo, WhatIf
from kubesched.scheduler.engine.nominations import Nominations
from kubesched.scheduler.state.nominator import PodNominator
from kubesched.testing import make_node, make_pod

NODES = [f"n{k}" for k in range(6)]


def claim(cluster: ClusterTables, name: str, node: str, priority: int = 0, cpu: str = "1") -> PodInfo:
    return cluster.templates.info(make_pod(name, nominated_node=node, priority=priority, cpu=cpu))


def names_at(what_if: WhatIf | None, position: int) -> set[str]:
    return set() if what_if is None else {info.pod.metadata.name for info in what_if.changes_at(position)[1]}


def test_every_claim_is_seen_at_once() -> None:
    """Also the one for which the columns have to grow."""
    cluster, nominator = ClusterTables(), PodNominator()
    cluster.set_node(make_node("n0"))
    nominations, pod = Nominations(nominator, cluster), claim(cluster, "p", "")
    for k in range(300):
        nominator.add(claim(cluster, f"c{k}", "n0"), None)
        assert nominations.everywhere(pod).rows.tolist() == [0]
        what_if = nominations.upon(pod, cluster.view())
        assert what_if is not None
        assert len(what_if.positions) == k + 1


def test_templates_of_ended_claims_are_forgotten() -> None:
    """However many kinds of pods had claims in the course of time."""
    cluster, nominator = ClusterTables(), PodNominator()
    cluster.set_node(make_node("n0"))
    nominations, pod = Nominations(nominator, cluster), claim(cluster, "p", "")
    for k in range(300):
        nominator.add(claim(cluster, "c", "n0", cpu=f"{k}m"), None)
        what_if = nominations.upon(pod, cluster.view())
        assert what_if is not None
        assert len(what_if.templates) < 100
        (template_id,) = what_if.template_ids.tolist()
        template = what_if.templates[template_id]
        assert template is not None
        assert template.requests.get("cpu", 0) == k


STEPS = st.one_of(
    st.tuples(st.just("claim"), st.integers(0, 9), st.sampled_from(NODES), st.integers(0, 2)),
    st.tuples(st.just("end"), st.integers(0, 9)),
    st.tuples(st.just("node"), st.sampled_from(NODES)),
    st.tuples(st.just("no node"), st.sampled_from(NODES)),
    st.tuples(st.just("ask"), st.integers(0, 9), st.integers(0, 2)),
)


@settings(max_examples=100, deadline=None)
@given(steps=st.lists(STEPS, max_size=40))
def test_agrees_with_a_look_at_every_claim(steps: list[tuple[object, ...]]) -> None:
    """Whatever came and went, nodes included."""
    cluster, nominator = ClusterTables(), PodNominator()
    nominations = Nominations(nominator, cluster)
    for step in steps:
        match step:
            case ("claim", int(k), str(node), int(priority)):
                nominator.add(claim(cluster, f"c{k}", node, priority), None)
            case ("end", int(k)):
                nominator.remove(make_pod(f"c{k}"))
            case ("node", str(name)):
                cluster.set_node(make_node(name))
            case ("no node", str(name)) if name in cluster.nodes.row_of:
                cluster.remove_node(name)
            case ("ask", int(k), int(priority)):
                pod = claim(cluster, f"c{k}", "", priority)
                everywhere = cluster.view()
                odd = cluster.view(everywhere.row_ids()[1::2])
                for view in (everywhere, odd):
                    what_if = nominations.upon(pod, view)
                    for position in range(len(view)):
                        assert names_at(what_if, position) == {
                            other.pod.metadata.name
                            for other in nominator.on_node(view.name(position))
                            if other.priority >= priority and other.uid != pod.uid
                        }
                asked, claimed = nominations.upon(pod, everywhere), nominations.everywhere(pod)
                rows = [] if asked is None else sorted(set(asked.positions.tolist()))
                assert claimed.rows.tolist() == rows
                for position, row in enumerate(rows):
                    assert names_at(claimed.pods, position) == names_at(asked, row)
