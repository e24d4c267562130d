"""`kubesched shadow` beside Go's kube-scheduler on a real API server: it agrees, or names what differs."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e.control_plane import READER, RealControlPlane, clean_environment
from tests.e2e.manifests import node, pod
from tests.e2e.processes import PATIENCE, Process, eventually
from tests.e2e.scheduler import configuration, profile
from tools.controlplane.install import chosen

from kubesched import replay
from kubesched.apps.shadow.judge import AGREEMENT
from kubesched.objects.base import Json
from kubesched.traces import Decision, DecisionType, Trace

NODES = 100  # of more, kube-scheduler looks at a sample
PODS = int(os.environ.get("KUBESCHED_SHADOW_PODS", "400"))

ROLES = ("system:kube-scheduler", "system:volume-scheduler")
USER = f"--user={READER}"


def mixed_pods(count: int) -> list[Json]:
    """Of every size, some with affinity, some that spread."""
    chance = random.Random(1)
    pods = []
    for number in range(count):
        app = f"app-{chance.randrange(12)}"
        made = pod(
            f"p{number}", cpu=f"{chance.choice([50, 100, 250, 500])}m", memory=f"{chance.choice([64, 256, 512])}Mi"
        )
        made["metadata"]["labels"] = {"app": app}
        match = {"matchLabels": {"app": app}}
        kind = chance.randrange(5)
        if kind == 0:
            made["spec"]["topologySpreadConstraints"] = [
                {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": match}
            ]
        elif kind == 1:
            term = {"weight": 10, "podAffinityTerm": {"topologyKey": "zone", "labelSelector": match}}
            made["spec"]["affinity"] = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
        elif kind == 2:
            made["spec"]["nodeSelector"] = {"zone": f"z{chance.randrange(3)}"}
        pods.append(made)
    return pods


class Shadowed:
    """kube-scheduler with a configuration, and a shadow with another, on a cluster of 100 nodes."""

    def __init__(self, cluster: RealControlPlane, theirs: Json, folder: Path) -> None:
        program = cluster.program("kube-scheduler")
        if program is None:
            pytest.skip("no kube-scheduler was built")
        self._cluster, self._folder = cluster, folder
        cluster.admin.create_all(
            node(
                f"n{number}",
                cpu=f"{32 + 16 * (number // 3 % 3)}",
                memory="128Gi",
                pods=250,
                labels={"zone": f"z{number % 3}"},
            )
            for number in range(NODES)
        )
        self.trace = folder / "shadowed.jsonl.zst"
        self._shadow = self._start_shadow()
        file = folder / "theirs.yaml"
        file.write_text(yaml.safe_dump(theirs))
        command = [str(program), f"--config={file}", "--secure-port=0", "--leader-elect=false"]
        self._scheduler = Process(command, folder / "theirs.log", clean_environment())

    def _start_shadow(self) -> Process:
        kubeconfig = self._cluster.kubeconfig(READER)
        for role in ROLES:
            self._cluster.kubectl("create", "clusterrolebinding", f"{READER}-{role[7:]}", f"--clusterrole={role}", USER)
        command = [
            *(sys.executable, "-m", "kubesched", "shadow", f"--kubeconfig={kubeconfig}", "-o", "json"),
            f"--emulated-version={chosen()}",
            *(f"--record={self.trace}", f"--report={self._folder / 'judgements.jsonl'}"),
        ]
        shadow = Process(command, self._folder / "shadow.json", clean_environment())
        eventually(lambda: self.trace.exists() or not shadow.is_running, "the shadow has begun")
        assert shadow.is_running, shadow.log
        return shadow

    def run(self, pods: list[Json]) -> Json:
        """Let kube-scheduler bind all pods; what the shadow says in the end."""
        admin, first = self._cluster.admin, pods[0]
        admin.create(first)  # once it is bound, the scheduler runs: what it lists when it starts has no order
        eventually(lambda: admin.node_of(first["metadata"]["name"]), "the first is bound")
        admin.create_all(pods[1:])
        patience = max(PATIENCE, len(pods) / 10)
        eventually(lambda: self._bindings_seen() == len(pods), "the shadow has seen them all", patience, every=1.0)
        self._shadow.signal(signal.SIGINT)
        assert self._shadow.wait(patience) == 0, self._shadow.log
        self._scheduler.kill()
        summary: Json = json.loads(self._shadow.log.splitlines()[-1])
        return summary

    def _bindings_seen(self) -> int:
        decisions = (entry for entry in Trace.open(self.trace) if isinstance(entry, Decision))
        return sum(decision.type is DecisionType.BOUND for decision in decisions)

    def writes(self) -> list[Any]:
        return self._cluster.writes_of(READER)

    def stop(self) -> None:
        self._scheduler.kill()
        self._shadow.kill()
        for role in ROLES:
            self._cluster.kubectl("delete", "clusterrolebinding", f"{READER}-{role[7:]}")


def test_it_agrees_with_kube_scheduler_and_writes_nothing(real_cluster: RealControlPlane, tmp_path: Path) -> None:
    """Bindings are best or tied, in the order of decisions; its recording replays to the same placements, twice."""
    shadowed = Shadowed(real_cluster, configuration(real_cluster.kubeconfig("system:kube-scheduler")), tmp_path)
    try:
        summary = shadowed.run(mixed_pods(PODS))
    finally:
        shadowed.stop()
    assert summary["bindings"] == PODS
    assert set(summary["verdicts"]) <= set(AGREEMENT), summary["examples"]
    assert shadowed.writes() == []
    run = replay(shadowed.trace, ties="recorded", emulated_version=chosen())
    assert run.hash == replay(shadowed.trace, ties="recorded", emulated_version=chosen()).hash
    assert [(pod.pod, pod.node) for pod in run.scheduled_here() if pod.node != pod.recorded_node] == []
    assert len(run.scheduled_here()) == PODS


def test_it_names_a_weight_that_differs(real_cluster: RealControlPlane, tmp_path: Path) -> None:
    """Theirs weighs one plugin more: the shadow, which judges by the default, says which."""
    plugin = "NodeResourcesBalancedAllocation"
    scores = {"disabled": [{"name": plugin}], "enabled": [{"name": plugin, "weight": 20}]}
    theirs = configuration(
        real_cluster.kubeconfig("system:kube-scheduler"), profiles=[profile(plugins={"score": scores})]
    )
    shadowed = Shadowed(real_cluster, theirs, tmp_path)
    try:
        summary = shadowed.run(mixed_pods(PODS))
    finally:
        shadowed.stop()
    assert summary["verdicts"].get("lower", 0) > 0
    # Few pods leave two explanations: Go's weight of this one, or none of NodeResourcesFit. Many pods (10,000) do not.
    found = {weight["plugin"]: weight for weight in summary["weights"][: 1 if PODS >= 10_000 else 2]}
    named = found[plugin]
    assert named["explains"] >= 0.8 * named["of"]  # an order that nobody told may leave a few open
    assert named["least"] <= 20 <= named["most"]
