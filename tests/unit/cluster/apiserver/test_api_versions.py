"""One object, read and written in all API versions that its kind has."""

from __future__ import annotations

import msgspec
import pytest

from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.apiserver.http.encoding import full_object
from kubesched.cluster.apiserver.resource import Resource
from kubesched.objects.base import Json

GROUPS = "scheduling.k8s.io"


def resource(api: Api, version: str, plural: str, group: str = GROUPS) -> Resource:
    found = api.catalog.find(group, version, plural)
    assert found is not None
    return found


def read(api: Api, kind: Resource, name: str, namespace: str = "default") -> Json:
    entries = api.list(kind, namespace).entries
    value: Json = msgspec.json.decode(full_object(kind, next(entry for entry in entries if entry.name == name)))
    return value


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        pytest.param("Pod", {"single": {}}, id="pods go one by one"),
        pytest.param("PodGroup", {"all": {}}, id="the group goes as a whole"),
    ],
)
def test_a_pod_group_of_either_release(api: Api, older: str, newer: Json) -> None:
    """Kubernetes 1.36 has a word for the disruption mode, and a longer way to the workload."""
    old, new = resource(api, "v1alpha2", "podgroups"), resource(api, "v1beta1", "podgroups")
    policy = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    reference = {"workload": {"workloadName": "w", "podGroupTemplateName": "t"}}
    spec = {**policy, "disruptionMode": older, "podGroupTemplateRef": reference}
    api.create(old, {"metadata": {"name": "g"}, "spec": spec}, "default")
    seen = read(api, new, "g")
    assert seen["apiVersion"] == "scheduling.k8s.io/v1beta1"
    assert seen["spec"]["disruptionMode"] == newer
    assert seen["spec"]["workloadRef"] == {"workloadName": "w", "templateName": "t"}
    assert "podGroupTemplateRef" not in seen["spec"]
    again = read(api, old, "g")
    assert (again["apiVersion"], again["spec"]["disruptionMode"]) == ("scheduling.k8s.io/v1alpha2", older)
    assert again["spec"]["podGroupTemplateRef"] == reference
    assert read(api, resource(api, "v1alpha3", "podgroups"), "g")["spec"] == seen["spec"]


def test_the_condition_of_a_pod_group(api: Api) -> None:
    """It has another name in 1.36."""
    old, new = resource(api, "v1alpha2", "podgroups"), resource(api, "v1beta1", "podgroups")
    api.create(new, {"metadata": {"name": "g"}, "spec": {"schedulingPolicy": {"basic": {}}}}, "default")

    when = "2026-01-01T00:00:00Z"
    condition = {"type": "PodGroupScheduled", "status": "True", "reason": "Scheduled", "lastTransitionTime": when}
    api.update(old, {**read(api, old, "g"), "status": {"conditions": [condition]}}, "default", subresource="status")
    assert [found["type"] for found in read(api, new, "g")["status"]["conditions"]] == ["PodGroupInitiallyScheduled"]
    assert [found["type"] for found in read(api, old, "g")["status"]["conditions"]] == ["PodGroupScheduled"]


def test_a_device_taint_rule_is_one_in_both_versions(api: Api) -> None:
    """What is written as v1beta2 is read as v1."""
    old = resource(api, "v1beta2", "devicetaintrules", "resource.k8s.io")
    new = resource(api, "v1", "devicetaintrules", "resource.k8s.io")
    spec = {"taint": {"key": "k", "effect": "NoSchedule"}}
    api.create(old, {"metadata": {"name": "r"}, "spec": spec}, "")
    seen = read(api, new, "r", "")
    assert (seen["apiVersion"], seen["spec"]["taint"]["key"]) == ("resource.k8s.io/v1", "k")
