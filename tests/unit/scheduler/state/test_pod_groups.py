from __future__ import annotations

from kubesched.clock import VirtualClock
from kubesched.scheduler.columns import ClusterTables, PodInfo
from kubesched.scheduler.framework import PodGroupState
from kubesched.scheduler.state.cache import Cache
from kubesched.testing import make_node, make_pod


def group_of(cache: Cache) -> PodGroupState | None:
    return cache.pod_groups.get("default", "g")


def member(cache: Cache, name: str, node: str = "") -> PodInfo:
    return cache.cluster.templates.info(make_pod(name, group="g", node=node))


def new_cache() -> Cache:
    cache = Cache(ClusterTables(), VirtualClock())
    cache.add_node(make_node("n"))
    return cache


def test_the_way_of_a_pod_through_its_group() -> None:
    """It is unscheduled, assumed, unscheduled again after a failure, assumed, and bound in the end."""
    cache = new_cache()
    pending = member(cache, "p")
    cache.pod_groups.add(pending)
    group = group_of(cache)
    assert group is not None
    assert (list(group.unscheduled), group.pod_count, group.scheduled_count) == ([pending.uid], 1, 0)
    cache.assume(pending, "n")
    assert (list(group.assumed), group.unscheduled, group.scheduled_count) == ([pending.uid], {}, 1)
    cache.forget(pending.pod)
    assert (list(group.unscheduled), group.assumed) == ([pending.uid], {})
    cache.assume(pending, "n")
    bound = member(cache, "p", node="n")
    cache.add(bound)
    assert (list(group.assigned), group.assumed, list(group.scheduled())) == ([pending.uid], {}, [bound])
    cache.remove(bound.pod)
    assert group_of(cache) is None


def test_an_update_of_an_assumed_pod_changes_no_place() -> None:
    """The event handlers do not know that the pod is on its way."""
    cache = new_cache()
    pending = member(cache, "p")
    cache.pod_groups.add(pending)
    cache.assume(pending, "n")
    cache.pod_groups.add(pending)
    group = group_of(cache)
    assert group is not None
    assert (group.pod_count, group.scheduled_count) == (1, 1)


def test_a_pod_that_is_deleted_while_it_is_assumed() -> None:
    """Undoing its placement later does not bring it back."""
    cache = new_cache()
    pending, other = member(cache, "p"), member(cache, "q")
    cache.pod_groups.add(pending)
    cache.pod_groups.add(other)
    cache.assume(pending, "n")
    cache.pod_groups.remove(pending.pod)
    cache.forget(pending.pod)
    group = group_of(cache)
    assert group is not None
    assert list(group.unscheduled) == [other.uid]


def test_pods_without_a_group() -> None:
    """They leave no trace."""
    cache = new_cache()
    info = cache.cluster.templates.info(make_pod("p"))
    cache.pod_groups.add(info)
    cache.assume(info, "n")
    cache.forget(info.pod)
    cache.pod_groups.remove(info.pod)
    assert cache.pod_groups.get("default", "") is None
