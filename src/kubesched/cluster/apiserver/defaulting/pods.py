"""Defaults of pods and pod templates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kubesched.objects.base import Json

DEFAULT_SCHEDULER: Final = "default-scheduler"
FILE_MODE: Final = 0o644
_VOLUMES_WITH_MODE: Final = ("secret", "configMap", "downwardAPI", "projected")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")


def default_pod(pod: Json) -> None:
    spec = pod.setdefault("spec", {})
    default_pod_spec(spec)
    spec.setdefault("enableServiceLinks", True)
    for container in containers(spec):
        _requests_from_limits(container.setdefault("resources", {}))
    if spec.get("resources"):
        _pod_level_requests(spec)


def default_template(template: Json) -> None:
    template.setdefault("metadata", {})
    default_pod_spec(template.setdefault("spec", {}))


def default_pod_spec(spec: Json) -> None:
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("dnsPolicy", "ClusterFirst")
    if spec.setdefault("terminationGracePeriodSeconds", 30) < 0:
        spec["terminationGracePeriodSeconds"] = 1
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", DEFAULT_SCHEDULER)
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for container in containers(spec):
        _default_container(container, host_network=bool(spec.get("hostNetwork")))
    for volume in spec.get("volumes") or ():
        _default_volume(volume)


def containers(spec: Json) -> Iterator[Json]:
    """All containers of a pod's spec, of every sort."""
    for key in ("initContainers", "containers", "ephemeralContainers"):
        yield from (item for item in spec.get(key) or () if isinstance(item, dict))


def _default_container(container: Json, *, host_network: bool) -> None:
    container.setdefault("resources", {})
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    container.setdefault("imagePullPolicy", _pull_policy(container.get("image", "")))
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if host_network and not port.get("hostPort"):
            port["hostPort"] = port.get("containerPort")
    for name in _PROBES:
        if probe := container.get(name):
            _default_probe(probe)
    for hook in (container.get("lifecycle") or {}).values():
        _default_handler(hook)
    for variable in container.get("env") or ():
        reference = (variable.get("valueFrom") or {}).get("fieldRef")
        if reference is not None:
            reference.setdefault("apiVersion", "v1")


def _pull_policy(image: str) -> str:
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return "Always" if tag == "latest" or (not tag and not digest) else "IfNotPresent"


def _default_probe(probe: Json) -> None:
    probe.setdefault("timeoutSeconds", 1)
    probe.setdefault("periodSeconds", 10)
    probe.setdefault("successThreshold", 1)
    probe.setdefault("failureThreshold", 3)
    _default_handler(probe)
    if "grpc" in probe:
        probe["grpc"].setdefault("service", "")


def _default_handler(handler: Any) -> None:
    if isinstance(handler, dict) and "httpGet" in handler:
        handler["httpGet"].setdefault("path", "/")
        handler["httpGet"].setdefault("scheme", "HTTP")


def _default_volume(volume: Json) -> None:
    sources = set(volume) - {"name"}
    if not sources:
        volume["emptyDir"] = {}
    for name in _VOLUMES_WITH_MODE:
        if name in volume:
            volume[name].setdefault("defaultMode", FILE_MODE)
    if "hostPath" in volume:
        volume["hostPath"].setdefault("type", "")
    for item in (volume.get("downwardAPI") or {}).get("items") or ():
        if "fieldRef" in item:
            item["fieldRef"].setdefault("apiVersion", "v1")
    template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
    if template is not None:
        template.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


def _requests_from_limits(resources: Json) -> None:
    for name, limit in (resources.get("limits") or {}).items():
        requests = resources.setdefault("requests", {})
        requests.setdefault(name, limit)


def _pod_level_requests(spec: Json) -> None:
    """A pod-level request that is left out is the sum of the containers' where they all have it, else the limit.

    Upstream aggregates container requests first (`defaultPodRequests`); a resource without any is taken from the limit.
    """
    resources = spec["resources"]
    requested = {
        name for container in containers(spec) for name in (container.get("resources") or {}).get("requests") or {}
    }
    for name, limit in (resources.get("limits") or {}).items():
        if name not in requested:
            resources.setdefault("requests", {}).setdefault(name, limit)
