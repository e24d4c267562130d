"""Pod groups that make room as a whole: ours and Go's kube-scheduler do the same.

With GenericWorkload since Kubernetes 1.37, and with GangScheduling and WorkloadAwarePreemption, too, in 1.36.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Self

import pytest
import yaml
from tests.e2e.api_client import ApiError
from tests.e2e.conftest import wipe
from tests.e2e.control_plane import SCHEDULER_USER, RealControlPlane, clean_environment
from tests.e2e.manifests import condition, node, pod
from tests.e2e.processes import Process, eventually
from tests.e2e.scheduler import Scheduler, configuration
from tools.controlplane.install import chosen

from kubesched.objects.base import Json

IS_1_36 = chosen() == "1.36"
GATES = "GenericWorkload=true" + (",GangScheduling=true,WorkloadAwarePreemption=true" if IS_1_36 else "")
GATES += ",SchedulerPopFromBackoffQ=false"  # who backs off is not tried earlier
WHOLE, SINGLE = ("PodGroup", "Pod") if IS_1_36 else ({"all": {}}, {"single": {}})
CONDITION = "PodGroupScheduled" if IS_1_36 else "PodGroupInitiallyScheduled"
CLASSES = {"low": 10, "middle": 20, "high": 100, "meek": 100}
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")
GANG = ("g0", "g1")
FAILED, PREEMPTED = "FailedScheduling", "Preempted"
NOTE = 5  # its place in an event, as shown here
NUMBERS = count()
A_LONG_TIME = 3600
ONCE = {"podInitialBackoffSeconds": A_LONG_TIME, "podMaxBackoffSeconds": A_LONG_TIME}
"""Nothing is tried twice: how often it would be, and what is said then, is otherwise a matter of time."""

RunScheduler = Callable[[RealControlPlane, Json], AbstractContextManager[None]]


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A pod (name, class, group) on each of the first nodes, and a gang of two; everybody takes a whole node."""

    nodes: int
    placed: Sequence[tuple[str, str, str]]
    modes: Mapping[str, Any] = field(default_factory=dict)
    """Groups with their disruption modes."""
    protected: Sequence[str] = ()
    """Pods that a budget protects."""
    gang_class: str = "high"
    gang_nodes: Sequence[str] = ()
    """Where each pod of the gang must go; anywhere if empty."""
    victims: frozenset[str] = frozenset()


TRAINING = [("t0", "low", "train"), ("t1", "low", "train"), ("s2", "low", ""), ("s3", "middle", "")]
WHOM_1_36 = [
    pytest.param(
        Scene(nodes=4, placed=TRAINING, modes={"train": WHOLE}, victims=frozenset({"t0", "t1"})),
        id="a group that is disrupted as a whole",
    ),
    pytest.param(
        Scene(nodes=4, placed=TRAINING, modes={"train": SINGLE}, victims=frozenset({"t1", "s2"})),
        id="a group whose pods are disrupted one by one",
    ),
    pytest.param(
        Scene(nodes=4, placed=TRAINING, modes={"train": WHOLE}, protected=["t1"], victims=frozenset({"s2", "s3"})),
        id="a budget protects one pod of a group and thereby all",
    ),
]
# Since 1.37 a gang is placed as if nobody were in its way, and stays there: on equal nodes chance decides who goes.
WHOM_1_37 = [
    pytest.param(
        Scene(
            nodes=4,
            placed=TRAINING,
            modes={"train": WHOLE},
            gang_nodes=["n0", "n2"],
            victims=frozenset({"t0", "t1", "s2"}),
        ),
        id="a group that is disrupted as a whole",
    ),
    pytest.param(
        Scene(
            nodes=4,
            placed=TRAINING,
            modes={"train": SINGLE},
            gang_nodes=["n0", "n2"],
            victims=frozenset({"t0", "s2"}),
        ),
        id="a group whose pods are disrupted one by one",
    ),
]
THAT_PREEMPT = [
    *(WHOM_1_36 if IS_1_36 else WHOM_1_37),
    pytest.param(
        Scene(
            nodes=3,
            placed=[("s0", "low", ""), ("s1", "middle", "")],
            gang_nodes=[] if IS_1_36 else ["n2", "n0"],
            victims=frozenset({"s0"}),
        ),
        id="there is room for one of two",
    ),
]
SCENES = [
    *THAT_PREEMPT,
    pytest.param(
        Scene(nodes=2, placed=[("s0", "low", ""), ("s1", "high", "")]), id="not enough room even without the others"
    ),
    pytest.param(Scene(nodes=2, placed=[("s0", "high", ""), ("s1", "high", "")]), id="nobody is less important"),
    pytest.param(
        Scene(nodes=2, placed=[("s0", "low", ""), ("s1", "low", "")], gang_class="meek"),
        id="a gang that never preempts",
    ),
]


@pytest.mark.parametrize("scene", SCENES)
def test_the_same_victims_and_words(real_control_plane: RealControlPlane, scene: Scene) -> None:
    """The same cluster, once with each scheduler: what the gang's first attempt does and says."""
    with Stage(real_control_plane, scene, grace=A_LONG_TIME) as stage:
        expected = stage.first_attempt(theirs)
    with Stage(real_control_plane, scene, grace=A_LONG_TIME) as stage:
        found = stage.first_attempt(ours)
    assert found == expected, _differences(found, expected)
    assert {name for name, reason, *_ in expected["events"] if reason == PREEMPTED} == scene.victims


@pytest.mark.parametrize("scene", THAT_PREEMPT)
def test_the_same_words_while_the_victims_end(real_control_plane: RealControlPlane, scene: Scene) -> None:
    """The gang is tried again before there is room: a new gang, nominated to the same nodes.

    When a scheduler tries the first one again depends on how soon its requests were answered, and after a restart
    kube-scheduler tries the pods of a gang in any order.
    """
    with Stage(real_control_plane, scene, grace=A_LONG_TIME) as stage:
        stage.first_attempt(ours)
        nodes = stage.nominated_nodes()
        expected = stage.next_attempt(theirs, nodes)
        found = stage.next_attempt(ours, nodes)
    assert found == expected, _differences(found, expected)
    assert not any(reason == PREEMPTED for _, reason, *_ in expected["events"])


def test_the_same_outcome(real_control_plane: RealControlPlane) -> None:
    """A victim that goes at once leaves its node to the gang."""
    placed = [("s0", "low", ""), ("s1", "middle", "")]
    where = [] if IS_1_36 else ["n2", "n0"]
    scene = Scene(nodes=3, placed=placed, gang_nodes=where, victims=frozenset({"s0"}))
    with Stage(real_control_plane, scene, grace=0) as stage:
        expected = stage.outcome(theirs)
    with Stage(real_control_plane, scene, grace=0) as stage:
        found = stage.outcome(ours)
    assert found == expected, _differences(found, expected)
    assert expected["taken"] == {"g0": True, "g1": True, "s1": True}


class Stage:
    """A namespace of its own on wiped nodes. Its groups stay: the controllers that end them are not there."""

    def __init__(self, cluster: RealControlPlane, scene: Scene, *, grace: int) -> None:
        self._cluster, self._admin, self._scene = cluster, cluster.admin, scene
        self._grace = grace
        self._namespace = f"stage-{next(NUMBERS)}"

    def __enter__(self) -> Self:
        self._set()
        return self

    def __exit__(self, *_: object) -> None:
        for kind in ("Pod", "PodDisruptionBudget"):
            self._admin.delete_all(kind, self._namespace)

    def first_attempt(self, run: RunScheduler) -> Json:
        """What comes of the gang's first attempt."""
        with run(self._cluster, ONCE):
            self._create_gang()
            eventually(lambda: self._is_reported(len(self._scene.victims)), "the gang was tried")
            return self._settled()

    def nominated_nodes(self) -> Mapping[str, str]:
        pods = {name: self._admin.get("Pod", name, self._namespace) for name in GANG}
        return {name: found["status"].get("nominatedNodeName", "") for name, found in pods.items()}

    def next_attempt(self, run: RunScheduler, nodes: Mapping[str, str]) -> Json:
        """What comes of a gang whose pods are nominated to these nodes already, while victims are there still."""
        for name in GANG:
            self._admin.delete("Pod", name, self._namespace)
        self._admin.delete_all("Event", self._namespace)
        self._admin.patch("PodGroup", "gang", {"status": {"conditions": None}}, self._namespace, "status")
        with run(self._cluster, ONCE):
            self._create_pods(schedulingGates=[{"name": "example.com/wait"}])
            for name in GANG:
                nominated = {"status": {"nominatedNodeName": nodes[name]}}
                self._admin.patch("Pod", name, nominated, self._namespace, "status")
            for name in GANG:
                self._admin.patch("Pod", name, {"spec": {"schedulingGates": None}}, self._namespace)
            eventually(lambda: self._is_reported(0), "the gang was tried")
            return self._settled()

    def outcome(self, run: RunScheduler) -> Json:
        """What there is when the whole gang is placed; not how often it was tried, or what was said until then."""
        with run(self._cluster, {}):
            self._create_gang()
            eventually(self._is_placed, "the gang is placed")
            picture = self._settled()
        return {**picture, "events": {event for event in picture["events"] if event[1] != FAILED}}

    def _create_gang(self) -> None:
        self._create(_group("gang", self._scene.gang_class, {"gang": {"minCount": len(GANG)}}))
        self._create_pods()

    def _create_pods(self, **spec: Any) -> None:
        """Those of the gang, one after the other: it tries them in this order."""
        belongs: Json = {"schedulingGroup": {"podGroupName": "gang"}, **spec}
        where: list[Json] = [{"affinity": _only_on(name)} for name in self._scene.gang_nodes] or [{} for _ in GANG]
        for name, there in zip(GANG, where, strict=True):
            self._create(pod(name, cpu="2", priorityClassName=self._scene.gang_class, **belongs, **there))

    def _set(self) -> None:
        wipe(self._cluster)
        self._admin.create({"kind": "Namespace", "metadata": {"name": self._namespace}})
        for name, value in CLASSES.items():
            self._admin.delete("PriorityClass", name)
            policy = "Never" if name == "meek" else "PreemptLowerPriority"
            shape = {"kind": "PriorityClass", "value": value, "preemptionPolicy": policy}
            self._admin.create({"metadata": {"name": name}, **shape})
        self._admin.create_all(node(f"n{k}", cpu="2") for k in range(self._scene.nodes))
        for name, mode in self._scene.modes.items():
            self._create(_group(name, "low", {"basic": {}}, disruptionMode=mode))
        for k, (name, priority_class, group) in enumerate(self._scene.placed):
            spec: Json = {"nodeName": f"n{k}", "terminationGracePeriodSeconds": self._grace}
            spec |= {"schedulingGroup": {"podGroupName": group}} if group else {}
            self._create(pod(name, cpu="2", labels={"app": name}, priorityClassName=priority_class, **spec))
            # The kubelet's part; of two that started together Go's kube-scheduler takes one by chance.
            started = {"status": {"startTime": f"2026-01-01T00:0{k}:00Z"}}
            self._admin.patch("Pod", name, started, self._namespace, "status")
        for name in self._scene.protected:
            budget = {"selector": {"matchLabels": {"app": name}}, "minAvailable": 1}
            self._create({"kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": budget})
            # The disruption controller's part.
            status = {"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
            patch = {"status": {**status, "observedGeneration": 1}}
            self._admin.patch("PodDisruptionBudget", name, patch, self._namespace, "status")

    def _create(self, manifest: Json) -> None:
        """Admission may take a moment to hear of a priority class."""
        manifest = {**manifest, "metadata": {**manifest["metadata"], "namespace": self._namespace}}

        def is_created() -> bool:
            try:
                self._admin.create(manifest)
            except ApiError as error:
                if error.code != 403:
                    raise
                return False
            return True

        eventually(is_created, f"{manifest['metadata']['name']} is created")

    def _is_reported(self, victims: int) -> bool:
        """Whether all that an attempt in vain writes is there: events and conditions are written beside it."""
        picture = self._picture()
        conditions, terminating = picture["conditions"], picture["terminating"]
        failed = {(event[0], event[NOTE]) for event in picture["events"] if event[1] == FAILED}
        preempted = {event[0] for event in picture["events"] if event[1] == PREEMPTED}
        return (
            failed == {(name, conditions.get((name, "PodScheduled"), [""])[-1]) for name in GANG}
            and ("gang", CONDITION) in conditions
            and len(preempted) >= victims
            and all((name, "DisruptionTarget") in conditions and name in terminating for name in preempted)
        )

    def _is_placed(self) -> bool:
        picture = self._picture()
        scheduled = {event[0] for event in picture["events"] if event[1] == "Scheduled"}
        return scheduled == set(GANG) and picture["conditions"].get(("gang", CONDITION), [""])[0] == "True"

    def _settled(self) -> Json:
        """What there is, once nothing changes any more."""
        seen: list[Json] = [{}]

        def is_same() -> bool:
            seen.append(self._picture())
            return seen[-1] == seen[-2]

        eventually(is_same, "nothing changes any more", every=0.5)
        return seen[-1]

    def _picture(self) -> Json:
        pods, groups = (self._admin.list(kind, self._namespace) for kind in ("Pod", "PodGroup"))
        return {
            "priorities": {found["metadata"]["name"]: found["spec"]["priority"] for found in (*pods, *groups)},
            "terminating": {found["metadata"]["name"] for found in pods if "deletionTimestamp" in found["metadata"]},
            "nominated": {found["metadata"]["name"] for found in pods if found["status"].get("nominatedNodeName")},
            "taken": {found["metadata"]["name"]: "nodeName" in found["spec"] for found in pods},
            "conditions": {
                (found["metadata"]["name"], kind): [told.get(key) for key in ("status", "reason", "message")]
                for found in (*pods, *groups)
                for kind in ("PodScheduled", "DisruptionTarget", CONDITION)
                if (told := condition({"status": {}, **found}, kind))
            },
            "events": self._events(),
        }

    def _events(self) -> set[tuple[str, ...]]:
        """Each once, whether it is counted in a series or not."""
        return {
            (
                event["regarding"]["name"],
                *(event[name] for name in ("reason", "type", "action", "reportingController")),
                # On which of two equal nodes a pod lands is left to chance.
                UID.sub("…", event["note"]) if event["reason"] != "Scheduled" else "",
                *((event.get("related") or {}).get(name) or "" for name in ("apiVersion", "kind", "name")),
            )
            for event in self._admin.list("Event", self._namespace)
        }


def _differences(found: Json, expected: Json) -> str:
    return "\n".join(f"{key}:\n  {found[key]}\n  {expected[key]}" for key in found if found[key] != expected[key])


def _only_on(node_name: str) -> Json:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node_name]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def _group(name: str, priority_class: str, policy: Json, **spec: Any) -> Json:
    spec = {"schedulingPolicy": policy, "priorityClassName": priority_class, **spec}
    return {"kind": "PodGroup", "metadata": {"name": name}, "spec": spec}


@contextmanager
def ours(cluster: RealControlPlane, config: Json) -> Iterator[None]:
    scheduler = Scheduler(cluster, "groups", config=config, flags=[f"--feature-gates={GATES}"]).wait_until_ready()
    try:
        yield
    finally:
        scheduler.stop()
        print(f"--- ours\n{scheduler.log[-2000:]}")
    scheduler.check_log()


@contextmanager
def theirs(cluster: RealControlPlane, config: Json) -> Iterator[None]:
    program = cluster.program("kube-scheduler")
    if program is None:
        pytest.skip("kube-scheduler is not there")
    config_file, log = cluster.folder / "go-groups.yaml", cluster.folder / "go-groups.log"
    config_file.write_text(yaml.safe_dump(configuration(cluster.kubeconfig(SCHEDULER_USER), **config)))
    log.unlink(missing_ok=True)
    command = [str(program), f"--config={config_file}", "--secure-port=0", "--v=3", f"--feature-gates={GATES}"]
    process = Process(command, log, clean_environment())
    try:
        eventually(lambda: "Caches populated" in process.log, "kube-scheduler is ready")
        yield
    finally:
        process.kill()
        print(f"--- kube-scheduler\n{process.log[-2000:]}")
