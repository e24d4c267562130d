"""What a kubelet writes into its own Node object. All functions change the node in place."""

from __future__ import annotations

import ipaddress
import uuid
from typing import Final

from kubesched.cluster.kubelet.node_shapes import GENERAL, PODS_PER_NODE
from kubesched.objects.base import Json

KUBELET_VERSION: Final = "v1.37.1"
HOST_RANGE: Final = ipaddress.ip_network("172.16.0.0/12")
POD_RANGE: Final = ipaddress.ip_network("10.128.0.0/9")
ADDRESSES_PER_NODE: Final = 256
MOST_NODES: Final = POD_RANGE.num_addresses // ADDRESSES_PER_NODE
MOST_IMAGES: Final = 50  # nodeStatusMaxImages
DOWN: Final = "kubesched.io/down"
_QUIET_CONDITIONS: Final = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)


def is_down(annotations: dict[str, str]) -> bool:
    return annotations.get(DOWN, "").lower() == "true"


def set_pod_range(node: Json, number: int) -> None:
    """Give the node its addresses for pods, unless it has some."""
    spec = node.setdefault("spec", {})
    if not spec.get("podCIDR"):
        first = POD_RANGE[(number % MOST_NODES) * ADDRESSES_PER_NODE]
        spec["podCIDR"] = f"{first}/24"
        spec["podCIDRs"] = [spec["podCIDR"]]


def number_of(node: Json) -> int | None:
    """Which range of addresses the node has; None for one that is not ours."""
    text = (node.get("spec") or {}).get("podCIDR", "")
    try:
        offset = int(ipaddress.ip_network(text)[0]) - int(POD_RANGE[0])
    except ValueError:
        return None
    return offset // ADDRESSES_PER_NODE if 0 <= offset < POD_RANGE.num_addresses else None


def complete_node(node: Json, number: int, now: str) -> None:
    """Labels, addresses, capacity and machine facts that the manifest left out."""
    metadata, status = node["metadata"], node.setdefault("status", {})
    name = metadata["name"]
    labels = metadata.setdefault("labels", {})
    for prefix in ("", "beta."):
        labels.setdefault(f"{prefix}kubernetes.io/os", "linux")
        labels.setdefault(f"{prefix}kubernetes.io/arch", "amd64")
    labels.setdefault("kubernetes.io/hostname", name)
    if not status.get("capacity") and not status.get("allocatable"):
        offers = {"cpu": GENERAL.cpu, "memory": GENERAL.memory, "ephemeral-storage": GENERAL.disk}
        status["capacity"] = offers | {"pods": PODS_PER_NODE}
    status["capacity"] = status.get("capacity") or dict(status["allocatable"])
    status["allocatable"] = status.get("allocatable") or dict(status["capacity"])
    for offers in (status["capacity"], status["allocatable"]):
        offers.setdefault("pods", PODS_PER_NODE)
    if not status.get("addresses"):
        status["addresses"] = [
            {"type": "InternalIP", "address": host_ip(number)},
            {"type": "Hostname", "address": name},
        ]
    status["nodeInfo"] = _node_info(name)
    set_conditions(node, now)


def host_ip(number: int) -> str:
    return str(HOST_RANGE[(number + 2) % HOST_RANGE.num_addresses])


def set_conditions(node: Json, now: str) -> None:
    """Ready, unless somebody has switched the node off."""
    down = is_down(node["metadata"].get("annotations") or {})
    ready = ("Ready", "True", "KubeletReady", "kubelet is posting ready status")
    if down:
        ready = ("Ready", "False", "KubeletNotReady", f"container runtime is down ({DOWN}=true)")
    wanted = [(kind, "False", reason, message) for kind, reason, message in _QUIET_CONDITIONS] + [ready]
    conditions = node["status"].setdefault("conditions", [])
    known = {item.get("type"): item for item in conditions}
    for kind, state, reason, message in wanted:
        old = known.get(kind) or {}
        changed_at = old.get("lastTransitionTime", now) if old.get("status") == state else now
        condition = {
            "type": kind,
            "status": state,
            "lastHeartbeatTime": now,
            "lastTransitionTime": changed_at,
            "reason": reason,
            "message": message,
        }
        if old:
            conditions[conditions.index(old)] = condition
        else:
            conditions.append(condition)


def add_images(node: Json, images: dict[str, int]) -> None:
    """Report images (name to bytes), the largest first, as many as a kubelet reports."""
    listed = {
        item["names"][0]: item.get("sizeBytes", 0) for item in node["status"].get("images") or () if item.get("names")
    }
    listed |= images
    largest = sorted(listed.items(), key=lambda item: (-item[1], item[0]))[:MOST_IMAGES]
    node["status"]["images"] = [{"names": [name], "sizeBytes": size} for name, size in largest]


def _node_info(name: str) -> Json:
    machine = uuid.uuid5(uuid.NAMESPACE_DNS, name)
    return {
        "machineID": machine.hex,
        "systemUUID": str(machine),
        "bootID": str(uuid.uuid5(machine, "boot")),
        "kernelVersion": "simulated",
        "osImage": "kubesched simulated node",
        "containerRuntimeVersion": "simulated://1.0",
        "kubeletVersion": KUBELET_VERSION,
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "architecture": "amd64",
    }
