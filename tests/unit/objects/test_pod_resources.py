"""What pods ask for, for filters, for scores and for the sums on nodes."""

from __future__ import annotations

from typing import Any

import pytest

from kubesched.objects import Pod
from kubesched.objects.pod_resources import (
    PodUsage,
    ResourceFeatures,
    allocation_score_requests,
    balance_score_requests,
    in_units,
    incoming_requests,
    pod_limits,
    pod_requests,
    scheduled_usage,
)
from kubesched.testing import make_pod

MI = 1024 * 1024


def container(
    cpu: str = "", memory: str = "", *, name: str = "c", sidecar: bool = False, **more: str
) -> dict[str, Any]:
    requests = {"cpu": cpu, "memory": memory, **{key.replace("_", "."): value for key, value in more.items()}}
    requests = {key: value for key, value in requests.items() if value}
    policy = {"restartPolicy": "Always"} if sidecar else {}
    return {"name": name, "resources": {"requests": requests, "limits": requests}, **policy}


@pytest.mark.parametrize(
    ("containers", "init_containers", "cpu"),
    [
        pytest.param([container("1"), container("500m")], [], 1500, id="containers add up"),
        pytest.param([container("1")], [container("3"), container("2")], 3000, id="the largest init container counts"),
        pytest.param([container("1"), container("2")], [container("2")], 3000, id="a small init container does not"),
        pytest.param([container("1")], [container("500m", sidecar=True)], 1500, id="a sidecar runs beside"),
        pytest.param(
            [container("1")],
            [container("500m", sidecar=True), container("3")],
            3500,
            id="an init container runs beside the sidecars before it",
        ),
        pytest.param(
            [container("1")],
            [container("3"), container("500m", sidecar=True)],
            3000,
            id="an init container does not wait for sidecars after it",
        ),
        pytest.param([container("0.5m"), container("0.5m")], [], 1, id="rounded once, after the sum"),
    ],
)
def test_containers_init_containers_and_sidecars(containers: list[Any], init_containers: list[Any], cpu: int) -> None:
    """The sum of what runs together, and at least what every step of initialisation needs; limits alike."""
    pod = make_pod(containers=containers, init_containers=init_containers)
    assert incoming_requests(pod) == {"cpu": cpu}
    assert in_units(pod_limits(pod)) == {"cpu": cpu}


def test_overhead_is_added_to_requests_and_to_limits_that_exist() -> None:
    """A resource without a limit stays without one."""
    pod = make_pod(cpu="1", limits={"cpu": "2"}, overhead={"cpu": "100m", "memory": "1Mi"})
    assert incoming_requests(pod) == {"cpu": 1100, "memory": MI}
    assert in_units(pod_limits(pod)) == {"cpu": 2100}


def test_pod_level_requests_replace_the_sums_of_containers() -> None:
    """For cpu, memory and huge pages only; with the gate off they do not exist."""
    level = {"requests": {"cpu": "4", "hugepages-2Mi": "2Mi", "example.com/gpu": 9}, "limits": {"cpu": "8"}}
    pod = make_pod(
        cpu="1", memory="1Mi", requests={"example.com/gpu": 2}, limits={"cpu": "2"}, spec={"resources": level}
    )
    assert incoming_requests(pod) == {"cpu": 4000, "memory": MI, "hugepages-2Mi": 2 * MI, "example.com/gpu": 2}
    assert in_units(pod_limits(pod)) == {"cpu": 8000}
    off = ResourceFeatures(pod_level_resources=False)
    assert incoming_requests(pod, off) == {"cpu": 1000, "memory": MI, "example.com/gpu": 2}


def test_names_that_scheduling_does_not_count_are_left_out() -> None:
    """Extended resources, huge pages and attachable volumes count; unknown native names do not."""
    names = {
        "storage": 1,
        "foo": 1,
        "example.com/gpu": 1,
        "hugepages-1Gi": 1,
        "attachable-volumes-x": 1,
        "kubernetes.io/y": 1,
    }
    pod = make_pod(requests={**names, "ephemeral-storage": 5})
    assert set(incoming_requests(pod)) == set(names) - {"storage", "foo"} | {"ephemeral-storage"}


def resized(reason: str = "", sidecar: bool = False) -> Any:
    """A pod whose container wants 1 cpu, was given 2 and runs with 3."""
    status = {
        "name": "c",
        "allocatedResources": {"cpu": "2"},
        "resources": {"requests": {"cpu": "3"}, "limits": {"cpu": "3"}},
    }
    conditions = [{"type": "PodResizePending", "status": "True", "reason": reason}] if reason else []
    place = "initContainerStatuses" if sidecar else "containerStatuses"
    want = [container("1", sidecar=sidecar)]
    return make_pod(
        containers=[] if sidecar else want,
        init_containers=want if sidecar else [],
        node="n",
        status={place: [status], "conditions": conditions},
    )


@pytest.mark.parametrize("sidecar", [False, True])
def test_a_resize_in_place_counts_with_the_largest_size(sidecar: bool) -> None:
    """What is wanted, promised and used may differ while a resize is under way; only placed pods are asked."""
    pod = resized(sidecar=sidecar)
    assert scheduled_usage(pod).requests == {"cpu": 3000}
    assert incoming_requests(pod) == {"cpu": 1000}
    assert in_units(pod_limits(pod, use_status=True)) == {"cpu": 3000}
    assert scheduled_usage(pod, ResourceFeatures(in_place_resize=False)).requests == {"cpu": 1000}


def test_an_infeasible_resize_does_not_count() -> None:
    """Only what is promised or used."""
    status = {"name": "c", "allocatedResources": {"cpu": "2"}, "resources": {"requests": {"cpu": "1"}}}
    pending = {"type": "PodResizePending", "reason": "Infeasible"}
    pod = make_pod(cpu="9", node="n", status={"containerStatuses": [status], "conditions": [pending]})
    assert scheduled_usage(pod).requests == {"cpu": 2000}
    deferred = make_pod(cpu="9", node="n", status={"containerStatuses": [status]})
    assert scheduled_usage(deferred).requests == {"cpu": 9000}


def test_a_pod_level_resize_counts_with_the_largest_size() -> None:
    """From the pod's own status; a resource that the status does not know counts as asked for."""
    level = {"requests": {"cpu": "2", "memory": "1Mi"}}
    status = {"resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"cpu": "4"}}
    pod = make_pod(node="n", spec={"resources": level}, status=status)
    assert scheduled_usage(pod).requests == {"cpu": 4000, "memory": MI}
    off = ResourceFeatures(in_place_pod_level_resize=False)
    assert scheduled_usage(pod, off).requests == {"cpu": 2000, "memory": MI}


@pytest.mark.parametrize(
    ("pod", "usage"),
    [
        pytest.param(make_pod(), PodUsage(requests={}, non_zero_cpu=100, non_zero_memory=200 * MI), id="nothing asked"),
        pytest.param(
            make_pod(cpu="1"),
            PodUsage(requests={"cpu": 1000}, non_zero_cpu=1000, non_zero_memory=200 * MI),
            id="cpu asked",
        ),
        pytest.param(
            make_pod(cpu="0"), PodUsage(requests={"cpu": 0}, non_zero_cpu=0, non_zero_memory=200 * MI), id="zero asked"
        ),
        pytest.param(
            make_pod(containers=[container("1"), container()]),
            PodUsage(requests={"cpu": 1000}, non_zero_cpu=1100, non_zero_memory=400 * MI),
            id="the defaults hold for each container",
        ),
        pytest.param(
            make_pod(containers=[container(), container()], spec={"resources": {"requests": {"cpu": "1"}}}),
            PodUsage(requests={"cpu": 1000}, non_zero_cpu=1000, non_zero_memory=400 * MI),
            id="no default for what the pod level covers",
        ),
    ],
)
def test_defaults_of_pods_on_nodes(pod: Any, usage: PodUsage) -> None:
    """PodInfo.CalculateResource's non-zero requests."""
    assert scheduled_usage(pod) == usage


def test_defaults_replace_what_an_infeasible_resize_leaves_open() -> None:
    """Then the container's status counts, and its status may say nothing of memory."""
    status = {"name": "c", "allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "1"}}}
    pending = {"type": "PodResizePending", "reason": "Infeasible"}
    pod = make_pod(cpu="2", memory="1Mi", node="n", status={"containerStatuses": [status], "conditions": [pending]})
    assert scheduled_usage(pod) == PodUsage(requests={"cpu": 1000}, non_zero_cpu=1000, non_zero_memory=200 * MI)


def test_scores_of_the_incoming_pod() -> None:
    """NodeResourcesFit scores container sums with defaults; balanced allocation scores true requests."""
    pod = make_pod(cpu="1", spec={"resources": {"requests": {"cpu": "4"}}})
    assert allocation_score_requests(pod) == {"cpu": 1000, "memory": 200 * MI}
    assert balance_score_requests(pod) == {"cpu": 4000}
    assert allocation_score_requests(make_pod()) == {"cpu": 100, "memory": 200 * MI}
    assert balance_score_requests(make_pod()) == {}


FULL = container("1", "1Mi")
STATUS = {"name": "c", "resources": {"requests": {"cpu": "3"}}}


@pytest.mark.parametrize(
    ("pod", "is_plain"),
    [
        pytest.param(make_pod(containers=[FULL, FULL]), True, id="every container says all that counts"),
        pytest.param(make_pod(containers=[FULL], init_containers=[FULL]), True, id="so do init containers"),
        pytest.param(make_pod(containers=[FULL], overhead={"cpu": "1"}), True, id="overhead counts by every rule"),
        pytest.param(make_pod(containers=[FULL, container("1")]), False, id="a default holds for scores only"),
        pytest.param(make_pod(containers=[container("1", "1Mi", foo="1")]), False, id="some rules count any name"),
        pytest.param(
            make_pod(containers=[FULL], spec={"resources": {"requests": {"cpu": "4"}}}),
            False,
            id="some rules heed the pod level",
        ),
        pytest.param(
            make_pod(containers=[FULL], status={"containerStatuses": [STATUS]}), False, id="some rules heed a resize"
        ),
        pytest.param(
            make_pod(
                containers=[FULL],
                status={
                    "nodeAllocatableResourceClaimStatuses": [{"resourceClaimName": "x", "resources": {"cpu": "2"}}]
                },
            ),
            False,
            id="some rules heed claims",
        ),
    ],
)
def test_plain_requests_are_the_same_by_every_rule(pod: Pod, is_plain: bool) -> None:
    """So that they need be worked out once."""
    features = ResourceFeatures(node_allocatable_claims=True)
    usage = scheduled_usage(pod, features)
    rules = [incoming_requests(pod), allocation_score_requests(pod), balance_score_requests(pod, features)]
    assert usage.is_plain == is_plain
    assert all(requests == usage.requests for requests in rules) == is_plain


def test_node_allocatable_claims_count_with_their_gate() -> None:
    """Resources that a claim takes from the node itself."""
    claims = [{"resourceClaimName": "x", "resources": {"cpu": "2"}}]
    pod = make_pod(cpu="1", status={"nodeAllocatableResourceClaimStatuses": claims})
    assert incoming_requests(pod) == {"cpu": 1000}
    assert incoming_requests(pod, ResourceFeatures(node_allocatable_claims=True)) == {"cpu": 3000}


def test_a_computation_leaves_the_pod_alone() -> None:
    """Sums never write into the pod's own maps."""
    pod = make_pod(containers=[container("1"), container("1")], overhead={"cpu": "1"})
    assert pod_requests(pod) == pod_requests(pod)
    assert pod.spec.containers[0].resources.requests["cpu"].value() == 1
