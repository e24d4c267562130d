"""Operations, on the scheduler's core."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from kubesched.apps.bench.core_target import CoreTarget
from kubesched.apps.bench.results import Result
from kubesched.objects import CSINode, Namespace, Node, PersistentVolumeClaim, Pod, ResourceClaim

RunOperations = Callable[..., Awaitable[tuple[Result, CoreTarget]]]

NODES = "{opcode: createNodes, count: 2, nodeTemplatePath: node.yaml}"


def pods(target: CoreTarget) -> dict[str, str]:
    return {pod.key: pod.spec.node_name for pod in target.assembled.objects.of(Pod)}


async def test_pods_are_created_scheduled_and_measured(run_operations: RunOperations) -> None:
    """In a namespace named after the operation's position, unless it names one."""
    result, target = await run_operations(
        NODES,
        "{opcode: createPods, count: 2, podTemplatePath: pod.yaml}",
        "{opcode: createPods, count: 3, namespace: test, podTemplatePath: pod.yaml, collectMetrics: true}",
    )
    assert result.problem == ""
    assert [(stretch.name, stretch.pods) for stretch in result.collected] == [("test", 3)]
    assert set(pods(target)) == {"namespace-1/p-0", "namespace-1/p-1", "test/p-0", "test/p-1", "test/p-2"}
    assert {namespace.metadata.name for namespace in target.assembled.objects.of(Namespace)} == {"namespace-1", "test"}


async def test_nodes_get_what_their_strategies_say(run_operations: RunOperations) -> None:
    """A hostname always; labels in turns; resources and CSI drivers with limits."""
    _, target = await run_operations(
        "{opcode: createNodes, count: 3, nodeTemplatePath: node.yaml,"
        " labelNodePrepareStrategy: {labelKey: zone, labelValues: [a, b]},"
        " nodeAllocatableStrategy: {nodeAllocatable: {gpu: '2'}, csiNodeAllocatable: {disk: {count: 5}}}}",
        "{opcode: createNodes, count: 1, uniqueNodeLabelStrategy: {labelKey: rack}}",
    )
    *three, last = target.assembled.objects.of(Node)
    assert [node.metadata.labels["zone"] for node in three] == ["a", "b", "a"]
    assert three[0].metadata.labels["kubernetes.io/hostname"] == "n-0"
    assert str(three[0].status.allocatable["gpu"]) == "2"
    assert "rack" in last.metadata.labels
    limits = {node.metadata.name: node.spec.drivers[0].allocatable for node in target.assembled.objects.of(CSINode)}
    assert {name: found.count for name, found in limits.items() if found} == {"n-0": 5, "n-1": 5, "n-2": 5}


async def test_pod_sets_have_a_namespace_each(run_operations: RunOperations) -> None:
    """With labels of the namespaces' template, if createNamespaces made them before."""
    _, target = await run_operations(
        NODES,
        "{opcode: createNamespaces, prefix: set, count: 2}",
        "{opcode: createPodSets, count: 2, namespacePrefix: set,"
        " createPodsOp: {opcode: createPods, count: 1, podTemplatePath: pod.yaml}}",
    )
    assert set(pods(target)) == {"set-0/p-0", "set-1/p-0"}


async def test_a_barrier_waits_for_attempts_or_for_nodes(run_operations: RunOperations) -> None:
    """Pods that fit nowhere were tried; chosen ones are waited for until they have a node."""
    result, target = await run_operations(
        NODES,
        "{opcode: createPods, count: 2, podTemplatePath: large.yaml, skipWaitToCompletion: true}",
        "{opcode: createPods, count: 2, podTemplatePath: pod.yaml, skipWaitToCompletion: true}",
        "{opcode: barrier, stageRequirement: Attempted}",
        "{opcode: barrier, labelSelector: {type: plain}}",
    )
    assert result.problem == ""
    assert sum(1 for node in pods(target).values() if node) == 2
    assert len(target.pods.attempted) == 2


async def test_a_workload_that_cannot_end_says_whom_it_waits_for(run_operations: RunOperations) -> None:
    """One line with the pods that are missing."""
    result, _ = await run_operations(
        NODES, "{opcode: createPods, count: 1, podTemplatePath: large.yaml}", time_limit=0.2
    )
    assert result.problem.startswith("not finished after 0 s: 1 pods were not scheduled, namespace-1/large-")


async def test_gated_pods_count_as_tried_and_go_when_the_gate_does(run_operations: RunOperations) -> None:
    """As with an API server, which gives gated pods their condition."""
    result, target = await run_operations(
        NODES,
        "{opcode: createPods, count: 2, namespace: x, podTemplatePath: gated.yaml, skipWaitToCompletion: true}",
        "{opcode: barrier, stageRequirement: Attempted}",
        "{opcode: updateAny, count: 2, namespace: x, templatePath: ungated.yaml, updatePerSecond: 1000}",
        "{opcode: barrier}",
    )
    assert result.problem == ""
    assert [bool(node) for node in pods(target).values()] == [True, True]


async def test_updating_what_is_not_there_is_an_error(run_operations: RunOperations) -> None:
    """A typo in a template's name must not go unseen."""
    result, _ = await run_operations("{opcode: updateAny, namespace: x, templatePath: pod.yaml}")
    assert "there is no Pod x/p-0" in result.problem


async def test_pods_are_deleted_unless_something_holds_them(run_operations: RunOperations) -> None:
    """A finalizer keeps a pod there, terminating."""
    _, target = await run_operations(
        NODES,
        "{opcode: createPods, count: 2, namespace: x, podTemplatePath: pod.yaml}",
        "{opcode: createPods, count: 2, namespace: x, podTemplatePath: held.yaml}",
        "{opcode: deletePods, namespace: x, deletePodsPerSecond: 1000}",
    )
    left = list(target.assembled.objects.of(Pod))
    assert [pod.metadata.name for pod in left] == ["h-0", "h-1"]
    assert all(pod.is_terminating for pod in left)


async def test_churn_creates_and_deletes_beside_the_other_operations(run_operations: RunOperations) -> None:
    """Until the workload ends; one of each template per tick."""
    result, target = await run_operations(
        NODES,
        "{opcode: churn, mode: recreate, number: 1, templatePaths: [large.yaml], intervalMilliseconds: 5}",
        "{opcode: churn, mode: create, number: 3, templatePaths: [large.yaml], namespace: c, intervalMilliseconds: 5}",
        "{opcode: sleep, duration: 100ms}",
    )
    assert result.problem == ""
    assert sum(pod.startswith("c/") for pod in pods(target)) == 3
    assert sum(pod.startswith("namespace-1/") for pod in pods(target)) <= 1


async def test_what_is_collected_is_chosen_by_namespace_and_labels(run_operations: RunOperations) -> None:
    """Pods of other namespaces and with other labels do not count."""
    result, _ = await run_operations(
        NODES,
        "{opcode: startCollectingMetrics, name: chosen, namespaces: [x], labelSelector: {type: plain}}",
        "{opcode: createPods, count: 2, namespace: x, podTemplatePath: pod.yaml}",
        "{opcode: createPods, count: 1, namespace: x, podTemplatePath: ungated.yaml}",
        "{opcode: createPods, count: 1, namespace: y, podTemplatePath: pod.yaml}",
        "{opcode: stopCollectingMetrics}",
    )
    assert [(stretch.name, stretch.pods) for stretch in result.collected] == [("chosen", 2)]


async def test_collecting_twice_at_a_time_is_an_error(run_operations: RunOperations) -> None:
    """As it is upstream."""
    result, _ = await run_operations(
        "{opcode: startCollectingMetrics, namespaces: [x]}", "{opcode: startCollectingMetrics, namespaces: [x]}"
    )
    assert result.problem == "metrics are being collected already"


async def test_pods_get_volumes_of_their_own(run_operations: RunOperations) -> None:
    """A claim and a volume per pod, bound to each other."""
    result, target = await run_operations(
        NODES,
        "{opcode: createPods, count: 2, namespace: x, podTemplatePath: pod.yaml,"
        " persistentVolumeTemplatePath: volume.yaml, persistentVolumeClaimTemplatePath: volume-claim.yaml}",
    )
    assert result.problem == ""
    claims = {
        claim.metadata.name: claim.spec.volume_name for claim in target.assembled.objects.of(PersistentVolumeClaim)
    }
    assert claims == {"pvc-0": "x-vol-0", "pvc-1": "x-vol-1"}


async def test_devices_are_published_allocated_and_used_in_a_steady_state(run_operations: RunOperations) -> None:
    """Claims without a pod take two of four devices; pods with claims of their own come and go on the others."""
    result, target = await run_operations(
        NODES,
        "{opcode: createResourceDriver, driverName: gpu.example.com, nodes: n-*, maxClaimsPerNode: 2}",
        "{opcode: createAny, templatePath: class.yaml}",
        "{opcode: createAny, templatePath: claim.yaml, namespace: held, count: 2}",
        "{opcode: allocResourceClaims, namespace: held}",
        "{opcode: createAny, templatePath: claim-template.yaml, namespace: test}",
        "{opcode: createPods, namespace: test, count: 2, steadyState: true, duration: 1s,"
        " podTemplatePath: pod-with-gpu.yaml, collectMetrics: true}",
    )
    assert result.problem == ""
    assert result.collected[0].pods >= 2
    assert {claim.metadata.namespace for claim in target.assembled.objects.of(ResourceClaim)} == {"held"}


async def test_more_claims_than_devices_is_an_error(run_operations: RunOperations) -> None:
    """The workload's numbers do not fit together."""
    result, _ = await run_operations(
        "{opcode: createAny, templatePath: claim.yaml, namespace: held}", "{opcode: allocResourceClaims}"
    )
    assert result.problem == "no node has devices left for claim claim-0"


async def test_a_broken_template_ends_the_workload_with_its_name(run_operations: RunOperations) -> None:
    """Also if it is one that nobody made."""
    result, _ = await run_operations("{opcode: createAny, templatePath: absent.yaml}")
    assert "absent.yaml" in result.problem
