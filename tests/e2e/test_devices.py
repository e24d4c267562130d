"""Resources that devices stand behind: pods go where kube-scheduler puts them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e.api_client import ApiClient
from tests.e2e.conftest import StartScheduler
from tests.e2e.control_plane import SCHEDULER_USER, RealControlPlane, clean_environment
from tests.e2e.manifests import Json, node, pod
from tests.e2e.processes import Process, eventually
from tests.e2e.scheduler import configuration, profile

GPU, DRIVER = "example.com/gpu", "gpu.example.com"
DEVICES = {"two": 2, "three": 3, "five": 5, "seven": 7}
"""By node. With these numbers one node is best at every step, with one device of the last taken."""
PODS = 10


@pytest.mark.parametrize("strategy", ["LeastAllocated", "MostAllocated"])
def test_pods_are_scored_by_devices(
    strategy: str, real_cluster: RealControlPlane, start_scheduler: StartScheduler
) -> None:
    """Ten pods, one after the other, each for one device: once by kube-scheduler, and once by ours."""
    program = real_cluster.program("kube-scheduler")
    if program is None:
        pytest.skip("kube-scheduler itself is not installed")
    config = {"profiles": [_scoring_devices(strategy)]}
    _create_devices(real_cluster.admin)
    theirs = _kube_scheduler(program, real_cluster, config)
    try:
        expected = _placements(real_cluster.admin)
    finally:
        theirs.kill()
        _remove_devices(real_cluster.admin)
    _create_devices(real_cluster.admin)
    start_scheduler(config=config)
    try:
        assert _placements(real_cluster.admin) == expected
    finally:
        _remove_devices(real_cluster.admin)
    assert len(set(expected)) > 2


def _scoring_devices(strategy: str) -> Json:
    """A profile in which nothing but the devices counts."""
    only_fit = {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit", "weight": 1}]}
    scoring = {"scoringStrategy": {"type": strategy, "resources": [{"name": GPU, "weight": 1}]}}
    return profile(plugins={"score": only_fit}, pluginConfig=[{"name": "NodeResourcesFit", "args": scoring}])


def _kube_scheduler(program: Path, control_plane: RealControlPlane, config: dict[str, Any]) -> Process:
    file, log = control_plane.folder / "kube-scheduler.yaml", control_plane.folder / "kube-scheduler.log"
    file.write_text(yaml.safe_dump(configuration(control_plane.kubeconfig(SCHEDULER_USER), **config)))
    return Process([str(program), f"--config={file}", "--secure-port=0"], log, clean_environment())


def _placements(admin: ApiClient) -> list[str]:
    """Where the pods went, one after the other."""
    placed = []
    for number in range(PODS):
        amounts = {"requests": {GPU: "1"}, "limits": {GPU: "1"}}
        name = admin.create(pod(f"gpu-{number}", container={"resources": amounts}))["metadata"]["name"]
        placed.append(eventually(partial(admin.node_of, name), f"{name} is placed", every=0.01))
    return placed


def _create_devices(admin: ApiClient) -> None:
    selector = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    spec = {"selectors": [selector], "extendedResourceName": GPU}
    admin.create({"kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": spec})
    for name, count in DEVICES.items():
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        devices = [{"name": f"device-{number}"} for number in range(count)]
        offer = {"driver": DRIVER, "pool": pool, "nodeName": name, "devices": devices}
        admin.create({"kind": "ResourceSlice", "metadata": {"name": name}, "spec": offer})
        admin.create(node(name))
    requests = [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]
    admin.create({"kind": "ResourceClaim", "metadata": {"name": "taken"}, "spec": {"devices": {"requests": requests}}})
    result = {"request": "gpu", "driver": DRIVER, "pool": "seven", "device": "device-0"}
    allocated = {"status": {"allocation": {"devices": {"results": [result]}}}}
    admin.patch("ResourceClaim", "taken", allocated, subresource="status")


def _remove_devices(admin: ApiClient) -> None:
    """Pods and claims, too: no controller is there that would."""
    for kind in ("Pod", "Node", "ResourceSlice", "DeviceClass"):
        admin.delete_all(kind)
    for claim in admin.list("ResourceClaim"):
        admin.patch("ResourceClaim", claim["metadata"]["name"], {"metadata": {"finalizers": None}})
    admin.delete_all("ResourceClaim")
