"""Only what scheduling reads gets into a trace."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from kubesched.objects import decode_object, encode
from kubesched.scheduler.plugins.dynamic_resources.extended_resources import ANNOTATION
from kubesched.scheduler.plugins.support.storage import claims
from kubesched.scheduler.plugins.support.storage.csi_nodes import MIGRATED_PLUGINS
from kubesched.testing import make_pod
from kubesched.traces import Change, ChangeType, Header, TraceWriter, kept
from kubesched.traces.content import ANNOTATIONS

SECRET = "hunter2"


def written(obj: Any, *annotations: str) -> str:
    file = io.BytesIO()
    writer = TraceWriter(file, Header(started=0.0, annotations=annotations), packed=False)
    writer.write(Change(time=1.0, type=ChangeType.ADDED, object=obj))
    writer.flush()
    return file.getvalue().splitlines()[1].decode()


HOSTILE: dict[str, dict[str, Any]] = {
    "pod": {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "p",
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": SECRET, "note": SECRET},
            "managedFields": [{"manager": SECRET}],
            "selfLink": SECRET,
        },
        "spec": {
            "serviceAccountName": SECRET,
            "imagePullSecrets": [{"name": SECRET}],
            "hostname": SECRET,
            "hostAliases": [{"hostnames": [SECRET]}],
            "securityContext": {"seLinuxOptions": {"user": SECRET}},
            "containers": [
                {
                    "name": "c",
                    "image": "i",
                    "command": [SECRET],
                    "args": [SECRET],
                    "workingDir": SECRET,
                    "env": [{"name": "PASSWORD", "value": SECRET}, {"name": SECRET}],
                    "envFrom": [{"secretRef": {"name": SECRET}}],
                    "livenessProbe": {"exec": {"command": [SECRET]}},
                    "lifecycle": {"postStart": {"exec": {"command": [SECRET]}}},
                    "volumeMounts": [{"mountPath": SECRET, "name": SECRET}],
                    "terminationMessagePath": SECRET,
                }
            ],
            "ephemeralContainers": [{"name": "debug", "command": [SECRET]}],
            "volumes": [
                {"name": "a", "secret": {"secretName": SECRET}},
                {"name": "b", "configMap": {"name": SECRET}},
                {
                    "name": "c",
                    "csi": {
                        "driver": "d",
                        "volumeAttributes": {"token": SECRET},
                        "nodePublishSecretRef": {"name": SECRET},
                    },
                },
                {"name": "d", "azureFile": {"secretName": SECRET, "shareName": "s"}},
                {"name": "e", "projected": {"sources": [{"serviceAccountToken": {"path": SECRET}}]}},
                {
                    "name": "f",
                    "ephemeral": {"volumeClaimTemplate": {"metadata": {"annotations": {"a": SECRET}}, "spec": {}}},
                },
            ],
        },
        "status": {
            "message": SECRET,
            "podIP": SECRET,
            "hostIP": SECRET,
            "conditions": [
                {"type": "Ready", "status": "False", "message": SECRET},
                {"type": "PodResizePending", "status": "True", "message": SECRET},
            ],
            "containerStatuses": [
                {"name": "c", "imageID": SECRET, "state": {"waiting": {"message": SECRET}}, "lastState": {"m": SECRET}}
            ],
        },
    },
    "node": {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "annotations": {"key": SECRET}},
        "spec": {"providerID": SECRET, "podCIDR": SECRET},
        "status": {
            "addresses": [{"address": SECRET}],
            "nodeInfo": {"machineID": SECRET},
            "conditions": [{"type": "Ready", "status": "True", "message": SECRET}],
        },
    },
    "volume": {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "v"},
        "spec": {
            "csi": {
                "driver": "d",
                "volumeHandle": "h",
                "volumeAttributes": {"token": SECRET},
                "nodeStageSecretRef": {"name": SECRET},
            },
            "hostPath": {"path": SECRET},
            "local": {"path": SECRET},
            "nfs": {"server": SECRET},
        },
    },
    "class": {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "c"},
        "provisioner": "p",
        "parameters": {"adminSecret": SECRET},
    },
    "claim": {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c"},
        "spec": {"devices": {"config": [{"opaque": {"driver": "d", "parameters": {"key": SECRET}}}]}},
        "status": {
            "allocation": {"devices": {"config": [{"opaque": {"driver": "d", "parameters": {"key": SECRET}}}]}},
            "devices": [{"driver": "d", "data": {"key": SECRET}, "conditions": [{"type": "t", "message": SECRET}]}],
        },
    },
    "device class": {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "c"},
        "spec": {"config": [{"opaque": {"driver": "d", "parameters": SECRET}}]},
    },
    "attachment": {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": "a"},
        "spec": {"source": {"inlineVolumeSpec": {"csi": {"driver": "d", "volumeAttributes": {"a": SECRET}}}}},
        "status": {"attachError": {"message": SECRET}, "attachmentMetadata": {"a": SECRET}},
    },
}


@pytest.mark.parametrize("manifest", HOSTILE.values(), ids=HOSTILE)
def test_secrets_stay_out(manifest: dict[str, Any]) -> None:
    """A secret in every place that no plugin reads."""
    line = written(decode_object(manifest))
    assert SECRET not in line
    assert json.loads(line)["object"]["metadata"]["name"] == manifest["metadata"]["name"]


def test_annotations_are_those_that_plugins_read() -> None:
    """Should a plugin read another one, it belongs on the list."""
    read = {
        claims.BIND_COMPLETED,
        claims.BOUND_BY_CONTROLLER,
        claims.SELECTED_NODE,
        claims._BETA_CLASS,
        ANNOTATION,
        MIGRATED_PLUGINS,
    }
    assert read == ANNOTATIONS


def test_annotations_of_own_plugins_are_named_in_the_header() -> None:
    """What somebody's own plugin reads is kept on demand, nothing else."""
    pod = make_pod(annotations={"example.com/gpu-share": "500", "other": SECRET})
    line = written(pod, "example.com/gpu-share")
    assert json.loads(line)["object"]["metadata"]["annotations"] == {"example.com/gpu-share": "500"}


def test_what_is_kept_is_kept_again_equal() -> None:
    """Idempotent, and equal for states that differ only in what nobody reads."""
    first, second = (make_pod(annotations={"beat": beat}) for beat in ("1", "2"))
    assert encode(kept(first)) == encode(kept(second)) == encode(kept(kept(first)))
