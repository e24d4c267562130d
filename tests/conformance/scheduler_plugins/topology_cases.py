"""Random clusters for NodeResourceTopologyMatch: nodes with NUMA zones, and pods of all kinds."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.conformance.scheduler_plugins.builders import config, names, node, pod

from kubesched.contrib.node_resource_topology.fingerprint import fingerprint
from kubesched.objects.base import Json

PLUGIN = "NodeResourceTopologyMatch"
GPU, NIC, HUGE = "example.com/gpu", "example.com/nic", "hugepages-2Mi"
STRATEGIES = ("LeastAllocated", "MostAllocated", "BalancedAllocation", "LeastNUMANodes", "LeastNUMANodes")
POLICIES = ("single-numa-node", "single-numa-node", "single-numa-node", "restricted", "best-effort", "none", "tidy")
DEPRECATED = (
    "SingleNUMANodePodLevel",
    "SingleNUMANodeContainerLevel",
    "SingleNUMANodeContainerLevel",
    "RestrictedPodLevel",
    "BestEffortContainerLevel",
    "Restricted",
    "None",
)
OTHER_SCHEDULER = "another-scheduler"
RESYNC, A_WHILE = 2, 2.6
"""Seconds: the period in which the plugin looks for better reports, and more than that."""
HARDLY_EVER = 3600


def node_resource_topology(random: Random) -> Json:
    """One pod; several in turn, whose nodes are reserved; or several between which reports come."""
    return random.choice((one_pod, one_pod, several_pods, several_pods, reports_between))(random)


def one_pod(random: Random) -> Json:
    found, topologies = machines(random)
    args = arguments(random)
    return {"config": configuration(random, args), "objects": [*found, *topologies], "pod": any_pod(random, "p")}


def several_pods(random: Random) -> Json:
    found, topologies = machines(random)
    args = arguments(random)
    kind = random.choice(("none", "over-reserve", "over-reserve", "discard"))
    if kind == "discard":
        args |= {"discardReservedNodes": True, "cacheResyncPeriodSeconds": random.choice((0, HARDLY_EVER))}
    objects = [*found, *topologies]
    if kind == "over-reserve":
        args |= {"cacheResyncPeriodSeconds": HARDLY_EVER, "cache": cache(random)}
        for i in range(random.choice((0, 0, 1, 2))):
            objects.append(foreign_pod(random, f"f{i}", random.choice(names(found))))
    pods = [any_pod(random, f"p{i}", small=True) for i in range(random.randint(3, 8))]
    return {"config": configuration(random, args), "objects": objects, "pods": pods}


def reports_between(random: Random) -> Json:
    """Pods are sent to nodes; then some of them run there, and new reports come; then others are sent."""
    found, topologies = machines(random, fixed_policy="single-numa-node")
    chosen = cache(random)
    args = arguments(random) | {"cacheResyncPeriodSeconds": RESYNC, "cache": chosen}
    running: dict[str, list[Json]] = {name: [] for name in names(found)}
    for i in range(random.randint(0, 4)):
        on = random.choice(names(found))
        make = random.choice((any_pod, any_pod, foreign_pod))
        one = make(random, f"r{i}") if make is any_pod else foreign_pod(random, f"r{i}", on)
        one["spec"]["nodeName"], one["status"] = on, {"phase": "Running"}
        running[on].append(one)
    before = []
    for i in range(random.randint(2, 5)):
        on = random.choice(names(found))
        before.append(any_pod(random, f"p{i}", small=True, nodeSelector={"kubernetes.io/hostname": on}))
    changed: list[Json] = []
    for one in before:
        if random.random() < 0.8:
            on = one["spec"]["nodeSelector"]["kubernetes.io/hostname"]
            bound = {**one, "spec": {**one["spec"], "nodeName": on}}
            bound["status"] = {"phase": random.choice(("Running", "Running", "Running", "Pending"))}
            changed.append(bound)
            running[on].append(bound)
    for topology in topologies:
        if random.random() < 0.8:
            changed.append(reported_again(random, topology, running[topology["metadata"]["name"]], chosen))
    after = [any_pod(random, f"q{i}", small=True) for i in range(random.randint(2, 4))]
    objects = [*found, *topologies, *[one for pods in running.values() for one in pods if one not in changed]]
    return {
        "config": asked_first(args),
        "objects": objects,
        "pods": [*before, *after],
        "changes": {str(len(before)): {"objects": changed, "seconds": A_WHILE}},
    }


# ---- configurations ----------------------------------------------------------------------------------------------


def arguments(random: Random) -> Json:
    args: Json = {}
    if random.random() < 0.9:
        strategy: Json = {"type": random.choice(STRATEGIES)}
        if random.random() < 0.5:
            chosen = random.sample(("cpu", "memory", GPU, HUGE), random.randint(1, 3))
            strategy["resources"] = [{"name": name, "weight": random.choice((1, 2, 7, 0))} for name in chosen]
        args["scoringStrategy"] = strategy
    return args


def cache(random: Random) -> Json:
    choices = {
        "foreignPodsDetect": ("All", "None", "OnlyExclusiveResources"),
        "resyncMethod": ("Autodetect", "All", "OnlyExclusiveResources"),
        "informerMode": ("Shared", "Dedicated"),
        "resyncScope": ("All", "OnlyResources"),
    }
    return {name: random.choice(values) for name, values in choices.items() if random.random() < 0.6}


def configuration(random: Random, args: Json) -> Json:
    enabled = [{"name": PLUGIN, "weight": random.choice((1, 3))}]
    score = {"disabled": [{"name": "*"}], "enabled": enabled}
    everywhere = {"multiPoint": {"enabled": enabled}, "score": score}
    by_point = {"filter": {"enabled": enabled}, "reserve": {"enabled": enabled}, "score": score}
    return config(random.choice((everywhere, by_point)), {PLUGIN: args})


def asked_first(args: Json) -> Json:
    """No other filter keeps nodes from the plugin: which nodes it has rejected does not hang on them."""
    enabled = [{"name": PLUGIN, "weight": 3}]
    filters = {
        "disabled": [{"name": "*"}],
        "enabled": [*enabled, {"name": "NodeAffinity"}, {"name": "NodeResourcesFit"}],
    }
    score = {"disabled": [{"name": "*"}], "enabled": enabled}
    return config({"filter": filters, "reserve": {"enabled": enabled}, "score": score}, {PLUGIN: args})


# ---- nodes -------------------------------------------------------------------------------------------------------


def machines(random: Random, fixed_policy: str = "") -> tuple[list[Json], list[Json]]:
    """Nodes, and topologies of most of them."""
    found, topologies = [], []
    zones = random.choice((1, 2, 2, 2, 4, 8))
    for i in range(random.randint(2, 6)):
        offered = {GPU: random.choice(("0", "4", "8", "8")), HUGE: "2Gi", NIC: "2", "ephemeral-storage": "100Gi"}
        kept = {name: amount for name, amount in offered.items() if random.random() < 0.93}
        found.append(node(f"n{i}", random.choice(("8", "16", "32")), random.choice(("16Gi", "64Gi")), **kept))
        if random.random() < 0.9:
            count = zones if random.random() < 0.8 else random.randint(1, 4)
            topologies.append(topology(random, f"n{i}", count, fixed_policy))
    return found, topologies


def topology(random: Random, name: str, count: int, fixed_policy: str = "") -> Json:
    made: Json = {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": name},
    }
    if not fixed_policy and random.random() < 0.3:
        made["topologyPolicies"] = random.choices(DEPRECATED, k=random.randint(1, 2))
    else:
        policy = fixed_policy or random.choice(POLICIES)
        made["attributes"] = [{"name": "topologyManagerPolicy", "value": policy}]
        made["attributes"] += [{"name": "topologyManagerScope", "value": random.choice(("pod", "container", "socket"))}]
    if random.random() < 0.3:
        most = random.choice(("8", "16", "1", "x", "5000", "12"))
        made.setdefault("attributes", []).append({"name": "topologyManagerMaxNUMANodes", "value": most})
    listed = [zone(random, number, count) for number in range(count)]
    if random.random() < 0.15:
        random.shuffle(listed)
    if random.random() < 0.15:
        listed.append(zone(random, 1, count) | {"type": "Socket"})
    if random.random() < 0.1:
        listed.append(zone(random, 0, count) | {"name": random.choice(("zone-7", "node-x", "node-99"))})
    made["zones"] = listed
    return made


def zone(random: Random, number: int, count: int) -> Json:
    amounts = {
        "cpu": random.choice(("4", "2", "1500m", "8", "0", "3")),
        "memory": random.choice(("4Gi", "8Gi", "2500M", "1Gi")),
    }
    for name, choices in ((HUGE, ("0", "64Mi", "512Mi")), (GPU, ("0", "1", "2")), (NIC, ("1", "2"))):
        if random.random() < 0.5:
            amounts[name] = random.choice(choices)
    if random.random() < 0.04:
        del amounts[random.choice(("cpu", "memory"))]
    made: Json = {
        "name": f"node-{number}",
        "type": "Node",
        "resources": [
            {"name": name, "capacity": amount, "allocatable": amount, "available": amount}
            for name, amount in amounts.items()
        ],
    }
    if random.random() < 0.7:
        made["costs"] = [
            {"name": f"node-{other}", "value": 10 if other == number else random.choice((12, 20, 21, 28))}
            for other in range(count)
            if random.random() < 0.95
        ]
    return made


def reported_again(random: Random, old: Json, pods: list[Json], chosen: Json) -> Json:
    """With other amounts and, mostly, the fingerprint of the pods that run there; seldom with another policy."""
    new = topology(random, old["metadata"]["name"], len(old["zones"]), "single-numa-node")
    new["zones"] = [zone(random, number, len(old["zones"])) for number in range(len(old["zones"]))]
    attributes = [one for one in old.get("attributes", []) if random.random() < 0.9]
    dedicated = chosen.get("informerMode", "Dedicated") == "Dedicated"
    there = [one for one in pods if one["status"]["phase"] == "Running" or (dedicated and not one["status"]["phase"])]
    method = random.choice(("", "", "all", "with-exclusive-resources"))
    if random.random() < 0.2:
        there = there[1:]
    if random.random() < 0.3:
        there = [one for one in there if "limits" in one["spec"]["containers"][0]["resources"]]
    value = fingerprint((one["metadata"]["namespace"], one["metadata"]["name"]) for one in there)
    if random.random() < 0.15:
        new["metadata"]["annotations"] = {"topology.node.k8s.io/fingerprint": value}
    elif random.random() < 0.95:
        attributes.append({"name": "nodeTopologyPodsFingerprint", "value": value})
        attributes += [{"name": "nodeTopologyPodsFingerprintMethod", "value": method}] if method else []
    new["attributes"] = attributes
    return new


# ---- pods --------------------------------------------------------------------------------------------------------


def any_pod(random: Random, name: str, *, small: bool = False, **spec: Any) -> Json:
    quality = random.choice(("guaranteed", "guaranteed", "guaranteed", "burstable", "best-effort", "devices"))
    containers = [asked(random, quality, small=small) for _ in range(random.choice((1, 1, 2, 3)))]
    made = pod(name, *containers, **spec)
    for i in range(random.choice((0, 0, 0, 1, 2))):
        init = {"name": f"i{i}", "image": "x", "resources": asked(random, quality, small=small)}
        if random.random() < 0.4:
            init["restartPolicy"] = "Always"
        made["spec"].setdefault("initContainers", []).append(init)
    if random.random() < 0.1:
        made["spec"]["overhead"] = {"cpu": "250m", "memory": "64Mi"}
    if random.random() < 0.05 and quality in ("guaranteed", "burstable"):
        whole = {"cpu": "12", "memory": "12Gi"}
        made["spec"]["resources"] = {"requests": whole, "limits": whole}
    return made


def foreign_pod(random: Random, name: str, on: str) -> Json:
    made = any_pod(random, name)
    made["spec"] |= {"schedulerName": OTHER_SCHEDULER, "nodeName": on}
    made["status"] = {"phase": "Running"}
    return made


def asked(random: Random, quality: str, *, small: bool) -> Json:
    cpu = ("1", "500m", "2") if small else ("1", "500m", "2", "3", "6")
    memory = ("256Mi", "1Gi") if small else ("256Mi", "1Gi", "3Gi", "6Gi")
    devices: Json = {}
    if random.random() < 0.25:
        devices[GPU] = random.choice(("1", "2", "0"))
    if random.random() < 0.1:
        devices[NIC] = "1"
    if quality == "best-effort":
        return {}
    if quality == "devices":
        devices = devices or {GPU: "1"}
        return {"requests": devices, "limits": devices}
    requests: Json = {"cpu": random.choice(cpu), "memory": random.choice(memory), **devices}
    if random.random() < 0.2:
        requests[HUGE] = random.choice(("64Mi", "4Mi", "0"))
    limits = dict(requests)
    if quality == "burstable":
        for one in random.sample(("cpu", "memory"), random.randint(1, 2)):
            limits.pop(one)
    if random.random() < 0.1:
        requests["ephemeral-storage"] = "1Gi"
    return {"requests": requests, "limits": limits}
