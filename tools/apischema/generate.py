"""Write the compact field table of the served kinds from Kubernetes' `swagger.json`.

    python tools/apischema/generate.py SWAGGER_JSON... src/kubesched/cluster/apiserver/schema/fields.json

The newest release comes first; older ones add the API versions and fields that it no longer has.

Only facts are taken (names, types, list keys, patch strategies); upstream's prose is not. The format is described in
`kubesched.cluster.apiserver.schema.fields`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

PREFIXES = ("io.k8s.api.", "io.k8s.apimachinery.pkg.apis.")
SCALARS = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "intorstring",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "microtime",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "any",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": "any",
}
ROOTS = {
    "core.v1": "Namespace Node Pod Binding Service ConfigMap Secret ServiceAccount PersistentVolume PodTemplate "
    "PersistentVolumeClaim ReplicationController Event LimitRange ResourceQuota Endpoints",
    "apps.v1": "Deployment ReplicaSet StatefulSet DaemonSet ControllerRevision",
    "batch.v1": "Job CronJob",
    "policy.v1": "PodDisruptionBudget Eviction",
    "storage.v1": "StorageClass CSINode CSIDriver CSIStorageCapacity VolumeAttachment VolumeAttributesClass",
    "scheduling.v1": "PriorityClass",
    "scheduling.v1beta1": "PodGroup Workload",
    "scheduling.v1alpha2": "PodGroup Workload",
    "resource.v1": "ResourceClaim ResourceClaimTemplate ResourceSlice DeviceClass",
    "resource.v1beta2": "DeviceTaintRule",
    "coordination.v1": "Lease",
    "events.v1": "Event",
    "authentication.v1": "TokenReview SelfSubjectReview",
    "authorization.v1": "SubjectAccessReview SelfSubjectAccessReview LocalSubjectAccessReview SelfSubjectRulesReview",
    "autoscaling.v1": "Scale",
    "autoscaling.v2": "HorizontalPodAutoscaler",
    "discovery.v1": "EndpointSlice",
    "node.v1": "RuntimeClass",
    "networking.v1": "Ingress IngressClass NetworkPolicy",
    "rbac.v1": "Role RoleBinding ClusterRole ClusterRoleBinding",
    "meta.v1": "DeleteOptions ListMeta Status",
}

METRICS: dict[str, dict[str, str]] = {
    "metrics.v1beta1.ContainerMetrics": {
        "name": "string!",
        "usage": "{quantity}!",
    },
    "metrics.v1beta1.NodeMetrics": {
        "apiVersion": "string",
        "kind": "string",
        "metadata": "meta.v1.ObjectMeta",
        "timestamp": "time!",
        "usage": "{quantity}!",
        "window": "string!",
    },
    "metrics.v1beta1.PodMetrics": {
        "apiVersion": "string",
        "containers": "[metrics.v1beta1.ContainerMetrics]! atomic",
        "kind": "string",
        "metadata": "meta.v1.ObjectMeta",
        "timestamp": "time!",
        "window": "string!",
    },
}
"""The metrics API is metrics-server's: Kubernetes' own documents do not have it."""


def short(name: str) -> str:
    for prefix in PREFIXES:
        name = name.removeprefix(prefix)
    return name


def type_of(schema: dict[str, Any], found: set[str]) -> str:
    if ref := schema.get("$ref"):
        name = ref.removeprefix("#/definitions/")
        if name in SCALARS:
            return SCALARS[name]
        found.add(name)
        return short(name)
    match schema.get("type"):
        case "array":
            return f"[{type_of(schema['items'], found)}]"
        case "object" if "additionalProperties" in schema:
            return f"{{{type_of(schema['additionalProperties'], found)}}}"
        case "string":
            return "bytes" if schema.get("format") == "byte" else "string"
        case "integer":
            return schema.get("format", "int64")
        case "number" | "boolean" as plain:
            return plain
    return "any"


def field(schema: dict[str, Any], required: bool, found: set[str]) -> str:
    words = [type_of(schema, found) + ("!" if required else "")]
    match schema.get("x-kubernetes-list-type") or schema.get("x-kubernetes-map-type"):
        case "map":
            words.append("map=" + ",".join(schema["x-kubernetes-list-map-keys"]))
        case "atomic" | "set" as kind:
            words.append(kind)
    for strategy in filter(None, schema.get("x-kubernetes-patch-strategy", "").split(",")):
        key = schema.get("x-kubernetes-patch-merge-key")
        words.append(f"merge={key}" if strategy == "merge" and key else strategy)
    return " ".join(words)


def table(definitions: dict[str, Any]) -> dict[str, dict[str, str]]:
    full = {short(name): name for name in definitions}
    waiting = {full[f"{package}.{kind}"] for package, kinds in ROOTS.items() for kind in kinds.split()}
    done: dict[str, dict[str, str]] = {}
    while waiting:
        name = waiting.pop()
        schema = definitions[name]
        found: set[str] = set()
        required = set(schema.get("required", ()))
        fields = {key: field(value, key in required, found) for key, value in schema.get("properties", {}).items()}
        if schema.get("x-kubernetes-map-type") == "atomic":
            fields = {"": "atomic", **fields}
        done[short(name)] = fields
        waiting |= {reached for reached in found if short(reached) not in done}
    return dict(sorted(done.items()))


def main(*swaggers: str, target: str) -> None:
    definitions: dict[str, Any] = {}
    for swagger in swaggers:
        for name, schema in json.loads(Path(swagger).read_text())["definitions"].items():
            newer = definitions.setdefault(name, schema)
            if "properties" in schema:
                newer["properties"] = schema["properties"] | newer.get("properties", {})
    types = dict(sorted((table(definitions) | METRICS).items()))
    lines = [f"{json.dumps(name)}:{json.dumps(fields, separators=(',', ':'))}" for name, fields in types.items()]
    Path(target).write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(*sys.argv[1:-1], target=sys.argv[-1])
