"""Stories about devices: told once with kube-scheduler and once with ours, they must end the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e.api_client import ApiClient
from tests.e2e.conftest import StartScheduler
from tests.e2e.control_plane import SCHEDULER_USER, RealControlPlane, clean_environment
from tests.e2e.manifests import condition, pod
from tests.e2e.processes import Process, eventually
from tests.e2e.scheduler import configuration

from kubesched.objects.base import Json

DRIVER = "gpu.example.com"
Story = Callable[[ApiClient], Any]
"""What happens in the cluster; what it returns is compared."""


def told_by_both(
    story: Story,
    control_plane: RealControlPlane,
    start_scheduler: StartScheduler,
    *,
    gates: str = "",
    config: Json | None = None,
) -> Any:
    """What kube-scheduler makes of a story, after it was found that ours makes the same of it."""
    program = control_plane.program("kube-scheduler")
    if program is None:
        pytest.skip("kube-scheduler itself is not installed")
    flags = [f"--feature-gates={gates}"] if gates else []
    theirs = _kube_scheduler(program, control_plane, config or {}, flags)
    try:
        expected = story(control_plane.admin)
    finally:
        theirs.kill()
        remove_devices(control_plane.admin)
    start_scheduler(config=config, flags=flags)
    try:
        found = story(control_plane.admin)
    finally:
        remove_devices(control_plane.admin)
    assert found == expected, f"ours: {found}\nkube-scheduler: {expected}"
    return expected


def _kube_scheduler(program: Path, control_plane: RealControlPlane, config: Json, flags: list[str]) -> Process:
    file, log = control_plane.folder / "kube-scheduler.yaml", control_plane.folder / "kube-scheduler.log"
    file.write_text(yaml.safe_dump(configuration(control_plane.kubeconfig(SCHEDULER_USER), **config)))
    return Process([str(program), f"--config={file}", "--secure-port=0", *flags], log, clean_environment())


def remove_devices(admin: ApiClient) -> None:
    """Pods, claims and groups, too: no controller is there that would."""
    for kind in ("Pod", "Node", "ResourceSlice", "DeviceClass", "DeviceTaintRule"):
        admin.delete_all(kind)
    for kind in ("ResourceClaim", "PodGroup"):
        for found in admin.list(kind):
            admin.patch(kind, found["metadata"]["name"], {"metadata": {"finalizers": None}})
        admin.delete_all(kind)
    admin.delete_all("Event")


def device_class(name: str = "gpu", expression: str = f'device.driver == "{DRIVER}"', **spec: Any) -> Json:
    selectors = [{"cel": {"expression": expression}}]
    return {"kind": "DeviceClass", "metadata": {"name": name}, "spec": {"selectors": selectors, **spec}}


def devices_of(node: str, devices: list[Json], **spec: Any) -> Json:
    """A slice with all devices of a node."""
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    offer = {"driver": DRIVER, "pool": pool, "nodeName": node, "devices": devices, **spec}
    return {"kind": "ResourceSlice", "metadata": {"name": node}, "spec": offer}


def claim(name: str, *requests: Json, **devices: Any) -> Json:
    """A claim; each request says what it wants `exactly`."""
    wanted = [{"name": f"r{k}", "exactly": {"deviceClassName": "gpu", **exactly}} for k, exactly in enumerate(requests)]
    spec = {"devices": {"requests": wanted, **devices}}
    return {"kind": "ResourceClaim", "metadata": {"name": name}, "spec": spec}


def pod_with(*claims: str, name: str = "", **spec: Any) -> Json:
    """A pod that uses claims, and has the name of the first."""
    used = [{"name": f"c{k}", "resourceClaimName": claim} for k, claim in enumerate(claims)]
    return pod(name or claims[0], resourceClaims=used, **spec)


def ask_for(admin: ApiClient, wanted: Json, **fields: Any) -> Any:
    """Create a claim and a pod that uses it; what becomes of them."""
    admin.create(wanted)
    admin.create(pod_with(wanted["metadata"]["name"], **fields))
    return what_became_of(admin, wanted["metadata"]["name"])


def what_became_of(admin: ApiClient, name: str) -> Any:
    """The node of a pod and the devices of the claim of the same name, or why there is none."""

    def decided() -> Any:
        found = admin.get("Pod", name)
        if found["spec"].get("nodeName"):
            return found["spec"]["nodeName"], devices_in(admin, name)
        return condition(found).get("message", "")

    return eventually(decided, f"{name} is placed or refused", every=0.01)


def devices_in(admin: ApiClient, name: str) -> list[str]:
    """The devices that a claim was given."""
    allocation = admin.get("ResourceClaim", name)["status"]["allocation"]
    return [f"{result['pool']}/{result['device']}" for result in allocation["devices"]["results"]]
