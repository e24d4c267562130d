"""Tags are a promise: an event and a pod without a common one would get SKIP."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched.config.plugin_args import PodTopologySpreadArgs
from kubesched.objects import Pod
from kubesched.scheduler.framework import EventHint, Hint, Plugin
from kubesched.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from kubesched.scheduler.plugins.pod_topology_spread import PodTopologySpread
from kubesched.testing import make_pod
from kubesched.testing.handle import FakeHandle

LABELS = st.dictionaries(st.sampled_from("ab"), st.sampled_from("12"), max_size=2)
EXPRESSIONS = st.one_of(
    st.builds(
        lambda key, operator, values: {"key": key, "operator": operator, "values": sorted(values)},
        st.sampled_from("ab"),
        st.sampled_from(("In", "NotIn")),
        st.sets(st.sampled_from("12"), min_size=1),
    ),
    st.builds(
        lambda key, operator: {"key": key, "operator": operator},
        st.sampled_from("ab"),
        st.sampled_from(("Exists", "DoesNotExist")),
    ),
)
SELECTORS = st.one_of(st.none(), st.builds(lambda each: {"matchExpressions": each}, st.lists(EXPRESSIONS, max_size=2)))
TERMS = st.lists(st.builds(lambda selector: {"topologyKey": "zone", "labelSelector": selector}, SELECTORS), max_size=2)
CONSTRAINTS = st.lists(
    st.builds(
        lambda selector, action: {
            "topologyKey": "zone",
            "maxSkew": 1,
            "whenUnsatisfiable": action,
            "labelSelector": selector,
        },
        SELECTORS,
        st.sampled_from(("DoNotSchedule", "ScheduleAnyway")),
    ),
    max_size=2,
)


def affinity(near: list[Any], apart: list[Any]) -> dict[str, Any]:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"podAffinity": {required: near}, "podAntiAffinity": {required: apart}}


PODS = st.builds(
    lambda labels, near, apart, spread: make_pod(
        labels=labels, affinity=affinity(near, apart), spread=spread, node="n"
    ),
    LABELS,
    TERMS,
    TERMS,
    CONSTRAINTS,
)


def tagged(plugin: Plugin) -> list[EventHint]:
    return [hint for hint in plugin.events_to_register() if hint.tags is not None]


HANDLE = FakeHandle()


@pytest.mark.parametrize(
    "plugin", [InterPodAffinity(None, HANDLE), PodTopologySpread(PodTopologySpreadArgs(), HANDLE)], ids=lambda p: p.name
)
@settings(max_examples=150, deadline=None)
@given(rejected=PODS, changed=PODS, is_added=st.booleans())
def test_pods_without_a_common_tag_get_no_hint(plugin: Plugin, rejected: Pod, changed: Pod, is_added: bool) -> None:
    """For any terms and labels, of either pod."""
    info = HANDLE.cluster.templates.info(rejected)
    old, new = (None, changed) if is_added else (changed, None)
    hints = tagged(plugin)
    assert hints
    for each in hints:
        assert each.tags is not None
        assert each.hint is not None
        own, wanted = each.tags.of_pod(info.template), each.tags.of_event(old, new)
        if own is not None and wanted is not None and not set(own) & set(wanted):
            assert each.hint(info, old, new) is Hint.SKIP
