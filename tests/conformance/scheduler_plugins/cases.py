"""Random small clusters for each ported plugin, by seed: the inputs of recordings."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.conformance.scheduler_plugins.builders import (
    FUTURE,
    PAST,
    WATCHER,
    config,
    names,
    node,
    nodes,
    only_score,
    pod,
    resources,
)
from tests.conformance.scheduler_plugins.topology_cases import node_resource_topology

from kubesched.objects.base import Json


def allocatable(random: Random) -> Json:
    found = nodes(random)
    for one in found:
        if random.random() < 0.4:
            one["status"]["allocatable"]["example.com/gpu"] = random.choice(("1", "8"))
        if random.random() < 0.4:
            one["status"]["allocatable"]["ephemeral-storage"] = random.choice(("10Gi", "100Gi"))
        if random.random() < 0.3:
            one["status"]["allocatable"]["cpu"] = random.choice(("1900m", "3", "1500m"))
    args: Json = {}
    if random.random() < 0.8:
        args["mode"] = random.choice(("Least", "Most"))
    if random.random() < 0.7:
        every = ("cpu", "memory", "ephemeral-storage", "example.com/gpu", "pods", "storage", "hugepages-2Mi")
        chosen = random.sample(every, random.randint(1, 4))
        args["resources"] = [{"name": name, "weight": random.choice((1, 3, 1 << 20, 17))} for name in chosen]
    return {
        "config": only_score("NodeResourcesAllocatable", args, random.choice((1, 7))),
        "objects": found,
        "pod": pod("p", resources(random)),
    }


def qos_sort(random: Random) -> Json:
    pods = []
    for i in range(random.randint(4, 10)):
        containers = [resources(random) for _ in range(random.randint(1, 2))]
        same = {"cpu": "500m", "memory": "1Gi"}
        if random.random() < 0.3:
            containers = [{"requests": same, "limits": same}] * len(containers)
        one = pod(f"p{i}", *containers, priority=random.choice((0, 0, 0, 10)))
        if random.random() < 0.3:
            one["spec"]["initContainers"] = [{"name": "i", "image": "x", "resources": resources(random)}]
        if random.random() < 0.2:
            one["spec"]["resources"] = random.choice((resources(random), {"requests": same, "limits": same}, {}))
        pods.append(one)
    queue_sort = {"disabled": [{"name": "*"}], "enabled": [{"name": "QOSSort"}]}
    return {
        "asks": "sort",
        "config": config({"queueSort": queue_sort}),
        "objects": [],
        "pods": pods,
        "times": random.sample(range(100), len(pods)),
    }


def pod_state(random: Random) -> Json:
    found = nodes(random)
    objects = list(found)
    for i in range(random.randint(2, 16)):
        one = pod(f"r{i}", on=random.choice(names(found)))
        if random.random() < 0.5:
            one["metadata"] |= {"deletionTimestamp": PAST, "deletionGracePeriodSeconds": 30, "finalizers": ["a/b"]}
        objects.append(one)
    for i in range(random.randint(0, 5)):
        one = pod(f"w{i}", priority=random.choice((0, 5)))
        one["status"] = {"nominatedNodeName": random.choice(names(found))}
        objects.append(one)
    return {"config": only_score("PodState"), "objects": objects, "pod": pod("p", priority=3)}


def preemption_toleration(random: Random) -> Json:
    found = [node(f"n{i}", random.choice(("2", "3"))) for i in range(random.randint(2, 6))]
    classes: list[Json] = []
    prefix = "preemption-toleration.scheduling.x-k8s.io/"
    for i in range(random.randint(2, 4)):
        annotations = {}
        if random.random() < 0.7:
            annotations[prefix + "minimum-preemptable-priority"] = random.choice(
                ("50", "100", "150", "x", "99999999999")
            )
        if random.random() < 0.7:
            annotations[prefix + "toleration-seconds"] = random.choice(("-1", "0", "3600", "many"))
        classes.append(
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": f"class-{i}", "annotations": annotations},
                "value": random.choice((0, 10, 60)),
            }
        )
    objects = [*found, *classes]
    for one in found:
        for i in range(random.randint(1, 4)):
            chosen = random.choice(classes)
            name = f"{one['metadata']['name']}-r{i}"
            cpu = random.choice(("500m", "1"))
            running = pod(name, {"requests": {"cpu": cpu}}, on=one["metadata"]["name"], priority=chosen["value"])
            if random.random() < 0.85:
                running["spec"]["priorityClassName"] = chosen["metadata"]["name"]
            elif random.random() < 0.1:
                running["spec"]["priorityClassName"] = "gone"
            if random.random() < 0.8:
                status, since = random.choice(("True", "True", "False")), random.choice((PAST, FUTURE))
                condition = {"type": "PodScheduled", "status": status, "lastTransitionTime": since}
                running["status"]["conditions"] = [condition]
            running["metadata"]["labels"] = {"app": random.choice("ab")}
            objects.append(running)
    if random.random() < 0.4:
        budget = {"selector": {"matchLabels": {"app": "a"}}, "minAvailable": 1}
        metadata = {"name": "budget", "namespace": "default"}
        objects.append(
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": metadata,
                "spec": budget,
                "status": {"disruptionsAllowed": random.choice((0, 1))},
            }
        )
    wanted = pod("p", {"requests": {"cpu": random.choice(("1", "2", "2500m"))}}, priority=random.choice((100, 40)))
    if random.random() < 0.1:
        wanted["spec"]["preemptionPolicy"] = "Never"
    if random.random() < 0.15:
        wanted["status"] = {"nominatedNodeName": found[0]["metadata"]["name"]}
        if len(objects) > len(found) + len(classes) and random.random() < 0.7:
            leaving = next(o for o in objects if o["kind"] == "Pod")
            leaving["metadata"] |= {"deletionTimestamp": PAST, "deletionGracePeriodSeconds": 1, "finalizers": ["a/b"]}
    post_filter = {"disabled": [{"name": "*"}], "enabled": [{"name": "PreemptionToleration"}]}
    args = {"minCandidateNodesPercentage": 100, "minCandidateNodesAbsolute": 100}
    plugins = {"postFilter": post_filter, "score": {"disabled": [{"name": "*"}]}}
    return {"config": config(plugins, {"PreemptionToleration": args}), "objects": objects, "pod": wanted}


def pod_group(random: Random, name: str, namespace: str = "default") -> Json:
    spec: Json = {"minMember": random.randint(1, 5)}
    if random.random() < 0.4:
        spec["minResources"] = {"cpu": random.choice(("1", "4", "12", "7500m"))}
        if random.random() < 0.5:
            spec["minResources"]["memory"] = random.choice(("1Gi", "30Gi", "1500M"))
        if random.random() < 0.2:
            spec["minResources"]["example.com/gpu"] = "1"
    if random.random() < 0.3:
        spec["scheduleTimeoutSeconds"] = random.choice((0, 10, 600))
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}"}
    if random.random() < 0.9:
        metadata["creationTimestamp"] = f"2024-01-01T00:00:{random.randint(10, 59)}Z"
    return {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": metadata, "spec": spec}


def with_label(one: Json, key: str, value: str) -> Json:
    one["metadata"].setdefault("labels", {})[key] = value
    return one


GROUP_LABEL = "scheduling.x-k8s.io/pod-group"


def coscheduling(random: Random) -> Json:
    """Every third case is about the queue, the others about pods that wait for each other."""
    args: Json = {}
    if random.random() < 0.5:
        args["podGroupRejectPercentage"] = random.choice((0, 10, 50, 100))
    if random.random() < 0.3:
        args["podGroupBackoffSeconds"] = 300
    if random.random() < 0.3:
        args["permitWaitingTimeSeconds"] = random.choice((30, 120))
    plugins = {
        "multiPoint": {"enabled": [{"name": "Coscheduling"}]},
        "queueSort": {"disabled": [{"name": "*"}], "enabled": [{"name": "Coscheduling"}]},
        "postFilter": {"disabled": [{"name": "*"}], "enabled": [{"name": "Coscheduling"}]},
        "score": {"disabled": [{"name": "*"}]},
    }
    groups = [pod_group(random, f"g{i}", random.choice(("default", "other"))) for i in range(random.randint(1, 3))]
    asks_sort = random.random() < 0.3
    found = [node(f"n{i}", random.choice(("1", "2", "3"))) for i in range(random.randint(1, 4))]
    objects = [*found, *groups]
    pods = []
    for i in range(random.randint(3, 9)):
        chosen = random.choice(groups)["metadata"]
        cpu = random.choice(("500m", "1", "1500m"))
        one = pod(f"p{i}", {"requests": {"cpu": cpu}}, namespace=chosen["namespace"], priority=random.choice((0, 0, 5)))
        if random.random() < 0.85:
            with_label(one, GROUP_LABEL, chosen["name"] if random.random() < 0.95 else "unknown")
        pods.append(one)
    for i in range(random.randint(0, 4)):
        chosen = random.choice(groups)["metadata"]
        one = pod(f"s{i}", {"requests": {"cpu": "200m"}}, namespace=chosen["namespace"])
        if random.random() < 0.6:
            one["spec"]["nodeName"] = random.choice(names(found))
        elif random.random() < 0.4:
            one["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
        objects.append(with_label(one, GROUP_LABEL, chosen["name"]))
    case = {"config": config(plugins, {"Coscheduling": args}), "objects": objects, "pods": pods}
    if not asks_sort:
        return {"asks": "gang", **case}
    start = 1704067200  # the day on which the groups were created
    times = [start + random.choice((0, 30, 45, 70, 100)) for _ in pods]
    return {"asks": "sort", **case, "times": times}


OPERATORS = (("AVG", "STD"), ("Latest",), ("AVG", "STD", "Latest"), ("STD",), ("Latest", "AVG"))


def measured(random: Random, found: list[Json]) -> Json:
    """The answer of a load watcher about these nodes; about some of them it knows nothing."""
    by_node = {}
    for name in names(found):
        if random.random() < 0.12:
            continue
        metrics = []
        for kind in random.choice((("CPU", "Memory"), ("CPU", "Memory"), ("CPU",), ("Memory",))):
            operators = random.choice(
                (("AVG", "STD"), ("Latest",), ("AVG", "STD", "Latest"), ("STD",), ("Latest", "AVG"))
            )
            for operator in operators:
                most = 30 if operator == "STD" else 110
                value = random.choice((0, round(random.uniform(0, most), 2), random.randint(0, most)))
                metrics.append({"name": "x", "type": kind, "operator": operator, "rollup": "15m", "value": value})
        by_node[name] = {"metrics": metrics, "tags": {}, "metadata": {"dataCenter": ""}}
    window = {"duration": "15m", "start": 0, "end": random.choice((10, 4102444800))}
    return {"timestamp": 0, "window": window, "source": "Prometheus", "data": {"NodeMetricsMap": by_node}}


def loaded(random: Random, plugin: str, args: Json) -> Json:
    found = nodes(random)
    for one in found:
        if random.random() < 0.3:
            one["status"]["allocatable"]["cpu"] = "1900m"
    objects = list(found)
    for i in range(random.randint(0, 12)):
        objects.append(pod(f"r{i}", *(resources(random) for _ in range(2)), on=random.choice(names(found))))
    wanted = pod("p", *(resources(random) for _ in range(random.randint(1, 2))))
    if random.random() < 0.2:
        wanted["spec"]["initContainers"] = [{"name": "i", "image": "x", "resources": resources(random)}]
    if random.random() < 0.2:
        wanted["spec"]["overhead"] = {"cpu": "150m", "memory": "32Mi"}
    return {
        "config": only_score(plugin, args),
        "objects": objects,
        "pod": wanted,
        "watcher": measured(random, found),
    }


def target_load_packing(random: Random) -> Json:
    args: Json = {"watcherAddress": WATCHER}
    if random.random() < 0.6:
        args["targetUtilization"] = random.choice((10, 40, 60, 75, 99, 0))
    if random.random() < 0.4:
        args["defaultRequests"] = {"cpu": random.choice(("250m", "2"))}
    if random.random() < 0.4:
        args["defaultRequestsMultiplier"] = random.choice(("1", "1.7", "0.33"))
    return loaded(random, "TargetLoadPacking", args)


def load_variation_risk_balancing(random: Random) -> Json:
    args: Json = {"watcherAddress": WATCHER}
    if random.random() < 0.6:
        args["safeVarianceMargin"] = random.choice((0, 1, 2.5, -1))
    if random.random() < 0.6:
        args["safeVarianceSensitivity"] = random.choice((0.5, 1, 2, -1))
    return loaded(random, "LoadVariationRiskBalancing", args)


def low_risk_overcommitment(random: Random) -> Json:
    args: Json = {"watcherAddress": WATCHER}
    if random.random() < 0.5:
        args["smoothingWindowSize"] = random.choice((1, 5, 9, 0))
    if random.random() < 0.5:
        args["riskLimitWeights"] = {"cpu": random.choice((0, 0.25, 1, 3)), "memory": random.choice((0.5, 0.9))}
    return loaded(random, "LowRiskOverCommitment", args)


def peaks(random: Random) -> Json:
    model = {
        f"n{i}": {"k0": 300.0, "k1": round(random.uniform(-400, -100), 3), "k2": round(random.uniform(-0.1, -0.01), 4)}
        for i in range(6)
    }
    case = loaded(random, "Peaks", {"WatcherAddress": WATCHER, "NodePowerModel": model})
    # Without a request the jump is 0 but for the last bit of an exponential, which libraries round differently.
    for container in case["pod"]["spec"]["containers"]:
        container["resources"].setdefault("requests", {})["cpu"] = random.choice(("100m", "250m", "1"))
    return case


def capacity_scheduling(random: Random) -> Json:
    found = [node(f"n{i}", random.choice(("2", "3", "4"))) for i in range(random.randint(2, 5))]
    objects = list(found)
    for namespace in ("a", "b", "c"):
        if random.random() < 0.8:
            least = {"cpu": random.choice(("1", "2", "3", "4")), "memory": random.choice(("1Gi", "4Gi"))}
            spec: Json = {"min": least}
            if random.random() < 0.75:
                spec["max"] = {"cpu": random.choice(("2", "4", "6")), "memory": random.choice(("4Gi", "8Gi"))}
            if random.random() < 0.2:
                spec["min"]["example.com/gpu"] = "1"
            metadata = {"name": "quota", "namespace": namespace, "uid": f"uid-quota-{namespace}"}
            kind = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "ElasticQuota"}
            objects.append({**kind, "metadata": metadata, "spec": spec})
    started = list(range(60))
    random.shuffle(started)
    for one in found:
        for i in range(random.randint(1, 4)):
            asked = {"cpu": random.choice(("500m", "1", "1500m"))}
            if random.random() < 0.4:
                asked["memory"] = random.choice(("256Mi", "1Gi"))
            name = f"{one['metadata']['name']}-r{i}"
            namespace, priority = random.choice("abc"), random.choice((0, 0, 5, 10))
            running = pod(name, {"requests": asked}, namespace=namespace, on=one["metadata"]["name"], priority=priority)
            running["status"]["startTime"] = f"2020-01-01T00:00:{started.pop():02}Z"
            running["metadata"]["labels"] = {"app": random.choice("xy")}
            objects.append(running)
    if random.random() < 0.3:
        namespace = random.choice("abc")
        budget = {"selector": {"matchLabels": {"app": "x"}}, "minAvailable": 1}
        objects.append(
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": "budget", "namespace": namespace},
                "spec": budget,
                "status": {"disruptionsAllowed": 0},
            }
        )
    for i in range(random.choice((0, 0, 1, 2))):
        waiting = pod(
            f"w{i}", {"requests": {"cpu": "500m"}}, namespace=random.choice("abc"), priority=random.choice((0, 9))
        )
        waiting["status"] = {"nominatedNodeName": random.choice(names(found))}
        objects.append(waiting)
    asked = {"cpu": random.choice(("500m", "1", "2")), "memory": "128Mi"}
    wanted = pod("p", {"requests": asked}, namespace=random.choice("abc"), priority=random.choice((0, 5, 20)))
    if random.random() < 0.2:
        wanted["spec"]["initContainers"] = [{"name": "i", "image": "x", "resources": {"requests": {"cpu": "1500m"}}}]
    if random.random() < 0.1:
        wanted["status"] = {"nominatedNodeName": found[0]["metadata"]["name"]}
    plugins = {
        "multiPoint": {"enabled": [{"name": "CapacityScheduling"}]},
        "postFilter": {"disabled": [{"name": "*"}], "enabled": [{"name": "CapacityScheduling"}]},
        "score": {"disabled": [{"name": "*"}]},
    }
    return {"config": config(plugins), "objects": objects, "pod": wanted}


CASES: dict[str, Callable[[Random], Json]] = {
    "NodeResourcesAllocatable": allocatable,
    "QOSSort": qos_sort,
    "PodState": pod_state,
    "PreemptionToleration": preemption_toleration,
    "Coscheduling": coscheduling,
    "CapacityScheduling": capacity_scheduling,
    "TargetLoadPacking": target_load_packing,
    "LoadVariationRiskBalancing": load_variation_risk_balancing,
    "LowRiskOverCommitment": low_risk_overcommitment,
    "Peaks": peaks,
    "NodeResourceTopologyMatch": node_resource_topology,
}


def random_case(plugin: str, seed: int) -> Json:
    return {"name": f"{plugin}-{seed:03}", **CASES[plugin](Random(f"{plugin} {seed}"))}
