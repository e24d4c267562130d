from __future__ import annotations

import pytest

from kubesched.errors import PluginError
from kubesched.scheduler.framework import Placement, PodGroupAssignments, PodGroupInfo
from kubesched.scheduler.plugins.pod_group_pods_count import PodGroupPodsCount
from kubesched.testing import make_pod
from kubesched.testing.handle import FakeHandle

GROUP = PodGroupInfo("default", "g")


def test_more_pods_are_better() -> None:
    """Pods that have a node already count in every placement."""
    handle = FakeHandle()
    handle.pod_groups.assign(handle.cluster.templates.info(make_pod("bound", node="n", group="g")))
    plugin, placement = PodGroupPodsCount(None, handle), Placement("", handle.cluster.view())
    raw = [
        plugin.score_placement(GROUP, PodGroupAssignments(placement, dict.fromkeys(uids, "n"))) for uids in ("ab", "a")
    ]
    assert raw == [3, 2]
    assert plugin.normalize_placement_scores(GROUP, raw) == [100, 66]


def test_no_pod_at_all() -> None:
    """A placement that holds nobody should not have been offered."""
    with pytest.raises(PluginError, match="no pods from pod group are assigned"):
        PodGroupPodsCount(None, FakeHandle()).normalize_placement_scores(GROUP, [0, 0])
