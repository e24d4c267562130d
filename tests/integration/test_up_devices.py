"""`kubesched up` and devices: the example that the documentation tells to apply."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from kubesched.objects.base import Json

EXAMPLE = Path(__file__).parents[2] / "examples" / "devices.yaml"
PODS = "/api/v1/namespaces/default/pods"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"


def running(pods: Json) -> list[Json]:
    return [pod for pod in pods["items"] if pod["status"]["phase"] == "Running"]


def refused(pods: Json) -> list[str]:
    """What the scheduler says of pods that wait."""
    conditions = [condition for pod in pods["items"] for condition in pod["status"].get("conditions", ())]
    return [item["message"] for item in conditions if item.get("reason") == "Unschedulable"]


def devices(claims: Json) -> list[tuple[str, str]]:
    allocations = [claim["status"]["allocation"] for claim in claims["items"] if "allocation" in claim["status"]]
    return sorted((item["pool"], item["device"]) for each in allocations for item in each["devices"]["results"])


def test_devices_go_from_pod_to_pod(start_up: Any) -> None:
    """Four GPUs: four pods run, two say why they wait; the GPU of a pod that is deleted goes to the next one."""
    up = start_up("--nodes", "3", "-f", str(EXAMPLE))
    pods = up.wait_for(PODS, lambda pods: len(running(pods)) == 4 and len(refused(pods)) == 2)
    assert Counter(pod["spec"]["nodeName"] for pod in running(pods)) == {"node-1": 2, "node-2": 2}
    assert all(
        message.startswith("0/3 nodes are available: 3 cannot allocate all claims.") for message in refused(pods)
    )
    every = [(node, device) for node in ("node-1", "node-2") for device in ("gpu-0", "gpu-1")]
    assert devices(up.get(CLAIMS)) == every
    before = {pod["metadata"]["name"] for pod in running(pods)}
    gone = running(pods)[0]["metadata"]["name"]
    up.send("DELETE", f"{PODS}/{gone}", {})

    def is_replaced(pods: Json) -> bool:
        now = {pod["metadata"]["name"] for pod in running(pods)}
        return gone not in now and len(now) == 4

    now = {pod["metadata"]["name"] for pod in running(up.wait_for(PODS, is_replaced))}
    assert len(now - before) == 1
    claims = up.wait_for(CLAIMS, lambda claims: len(claims["items"]) == 6)  # that of the new pod, too
    assert devices(claims) == every
    owners = {owner["name"] for claim in claims["items"] for owner in claim["metadata"]["ownerReferences"]}
    assert owners >= now
    assert gone not in owners
