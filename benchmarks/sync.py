"""How long `kubesched run` takes to know a large cluster, and how much memory it needs for that.

    python benchmarks/sync.py [--nodes 5000] [--pods 50000]

Starts a real etcd and kube-apiserver (see tools/controlplane), writes the objects straight into etcd, as an API server
would have stored them, and measures from the scheduler's first request to the moment when its handlers are synced.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import uuid
from datetime import datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))  # for `tests` and `tools`, which are not installed

from tests.e2e.api_client import ApiError
from tests.e2e.control_plane import RealControlPlane
from tests.e2e.processes import eventually
from tests.e2e.scheduler import Scheduler
from tools.controlplane.install import NotInstallableError, install

CREATED = "2026-01-01T00:00:00Z"
STARTED, SYNCED = "Starting Kubernetes Scheduler", "Handlers synced"
BATCH = 100  # etcd takes at most 128 operations in a transaction


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=50_000)
    parser.add_argument("--flags", default="", help="more flags of `kubesched run`, separated by spaces")
    arguments = parser.parse_args()
    try:
        programs = install()
    except NotInstallableError as error:
        sys.exit(f"error: no control plane: {error}")
    with tempfile.TemporaryDirectory() as folder:
        control_plane = RealControlPlane(programs, Path(folder))
        try:
            print(f"storing {arguments.nodes} nodes and {arguments.pods} pods …")
            store(control_plane, arguments.nodes, arguments.pods)
            measure(control_plane, arguments.pods, arguments.flags.split())
        finally:
            control_plane.stop()


def store(control_plane: RealControlPlane, nodes: int, pods: int) -> None:
    entries = [(f"/registry/minions/n{number}", node(number)) for number in range(nodes)]
    entries += [(f"/registry/pods/default/p{number}", pod(number, nodes)) for number in range(pods)]
    for start in range(0, len(entries), BATCH):
        control_plane.put(dict(entries[start : start + BATCH]))
    last = f"/api/v1/namespaces/default/pods/p{pods - 1}?resourceVersion=0"
    eventually(lambda: _is_there(control_plane, last), "the API server has it all", 120)


def _is_there(control_plane: RealControlPlane, path: str) -> bool:
    try:
        control_plane.admin.call("GET", path)
    except ApiError:
        return False
    return True


def measure(control_plane: RealControlPlane, pods: int, flags: list[str]) -> None:
    scheduler = Scheduler(control_plane, "scheduler", flags=flags)
    try:
        eventually(lambda: SYNCED in scheduler.log, "the scheduler is synced", 120)
        seconds = (_logged_at(scheduler.log, SYNCED) - _logged_at(scheduler.log, STARTED)).total_seconds()
        memory = dict(re.findall(r"(Vm\w+):\s+(\d+) kB", Path(f"/proc/{scheduler.pid}/status").read_text()))
        print(f"synced in {seconds:.2f} s ({seconds / pods * 1e6:.0f} µs per pod)")
        loop = _cpu_seconds(Path(f"/proc/{scheduler.pid}/task/{scheduler.pid}/stat"))
        print(f"CPU of the loop's thread, its start included: {loop:.2f} s")
        print(f"CPU of all threads: {_cpu_seconds(Path(f'/proc/{scheduler.pid}/stat')):.2f} s")
        for name in ("VmRSS", "VmHWM"):
            print(f"{name}: {int(memory[name]) // 1024} MiB")
    finally:
        scheduler.stop()


def _cpu_seconds(stat: Path) -> float:
    """User and system time of a process or thread (proc(5))."""
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _logged_at(log: str, message: str) -> datetime:
    found = re.search(rf"^.\d{{4}} (\S+) .*{message}", log, re.MULTILINE)
    assert found is not None
    return datetime.strptime(found[1], "%H:%M:%S.%f")


def node(number: int) -> dict[str, Any]:
    name = f"n{number}"
    amounts = {"cpu": "32", "memory": "128Gi", "pods": "110", "ephemeral-storage": "500Gi"}
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": f"zone-{number % 3}",
        "topology.kubernetes.io/region": "region-1",
        "node.kubernetes.io/instance-type": "m5.8xlarge",
    }
    conditions = [
        {"type": kind, "status": "True" if kind == "Ready" else "False", "reason": f"Kubelet{kind}"}
        for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    ]
    images = [
        {"names": [f"registry.example.com/team/app-{image}:v1"], "sizeBytes": 10**8 + image} for image in range(20)
    ]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {**_metadata(name), "labels": labels},
        "spec": {"podCIDR": "10.0.0.0/24", "providerID": f"cloud:///{name}"},
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": conditions, "images": images},
    }


def pod(number: int, nodes: int) -> dict[str, Any]:
    """A running pod, with all that an API server stores and a scheduler does not read."""
    app = f"app-{number % 500}"
    container = {
        "name": "main",
        "image": f"registry.example.com/team/{app}:v1",
        "resources": {"requests": {"cpu": "250m", "memory": "256Mi"}, "limits": {"memory": "512Mi"}},
        "env": [{"name": f"SETTING_{index}", "value": "some value of it"} for index in range(8)],
        "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}],
        "ports": [{"containerPort": 8080, "protocol": "TCP"}],
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 10},
        "terminationMessagePath": "/dev/termination-log",
        "imagePullPolicy": "IfNotPresent",
    }
    token = {"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": str(uuid.UUID(int=number % 500))}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **_metadata(f"p{number}"),
            "namespace": "default",
            "labels": {"app": app, "pod-template-hash": f"{number % 500:x}", "team": f"team-{number % 20}"},
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        },
        "spec": {
            "containers": [container],
            "volumes": [token],
            "nodeName": f"n{number % nodes}",
            "schedulerName": "default-scheduler",
            "serviceAccountName": "default",
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "securityContext": {},
            "priority": 0,
            "tolerations": [
                {
                    "key": f"node.kubernetes.io/{what}",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 300,
                }
                for what in ("not-ready", "unreachable")
            ],
        },
        "status": {
            "phase": "Running",
            "conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": CREATED}
                for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
            ],
            "podIP": "10.1.2.3",
            "podIPs": [{"ip": "10.1.2.3"}],
            "hostIP": "10.0.0.1",
            "startTime": CREATED,
            "qosClass": "Burstable",
            "containerStatuses": [
                {"name": "main", "ready": True, "restartCount": 0, "image": container["image"], "imageID": "sha256:1"}
            ],
        },
    }


def _metadata(name: str) -> dict[str, Any]:
    fields = {f"f:field{index}": {"f:nested": {}, ".": {}} for index in range(20)}
    managed = {
        "manager": "kubelet",
        "operation": "Update",
        "apiVersion": "v1",
        "time": CREATED,
        "fieldsType": "FieldsV1",
    }
    return {
        "name": name,
        "uid": str(uuid.uuid4()),
        "creationTimestamp": CREATED,
        "managedFields": [{**managed, "fieldsType": "FieldsV1", "fieldsV1": {"f:status": fields}}],
    }


if __name__ == "__main__":
    main()
