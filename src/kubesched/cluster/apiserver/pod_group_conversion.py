"""Pod groups and workloads as Kubernetes 1.36 had them (`scheduling.k8s.io/v1alpha2`). They are stored as v1beta1."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.apiserver.resource import Conversion
from kubesched.objects.base import Json

_MODES: Final = {"Pod": "single", "PodGroup": "all"}
_CONDITION, _CONDITION_1_36 = "PodGroupInitiallyScheduled", "PodGroupScheduled"


def _group_to_stored(group: Json) -> None:
    spec = group.get("spec") or {}
    _mode_to_stored(spec)
    workload = (spec.pop("podGroupTemplateRef", None) or {}).get("workload")
    if workload is not None:
        named = {"workloadName": "workloadName", "podGroupTemplateName": "templateName"}
        spec["workloadRef"] = {new: workload[old] for old, new in named.items() if old in workload}
    _rename_condition(group, _CONDITION_1_36, _CONDITION)


def _group_from_stored(group: Json) -> None:
    spec = group.get("spec") or {}
    _mode_from_stored(spec)
    reference = spec.pop("workloadRef", None)
    if reference is not None:
        named = {"workloadName": "workloadName", "templateName": "podGroupTemplateName"}
        workload = {new: reference[old] for old, new in named.items() if old in reference}
        spec["podGroupTemplateRef"] = {"workload": workload}
    _rename_condition(group, _CONDITION, _CONDITION_1_36)


def _workload_to_stored(workload: Json) -> None:
    for template in (workload.get("spec") or {}).get("podGroupTemplates") or ():
        _mode_to_stored(template)


def _workload_from_stored(workload: Json) -> None:
    for template in (workload.get("spec") or {}).get("podGroupTemplates") or ():
        _mode_from_stored(template)


def _mode_to_stored(spec: Json) -> None:
    mode = spec.get("disruptionMode")
    if isinstance(mode, str) and mode in _MODES:
        spec["disruptionMode"] = {_MODES[mode]: {}}


def _mode_from_stored(spec: Json) -> None:
    mode = spec.get("disruptionMode")
    if isinstance(mode, dict):
        spec["disruptionMode"] = "PodGroup" if "all" in mode else "Pod"


def _rename_condition(group: Json, old: str, new: str) -> None:
    for condition in (group.get("status") or {}).get("conditions") or ():
        if condition.get("type") == old:
            condition["type"] = new


POD_GROUPS_1_36: Final = Conversion(to_stored=_group_to_stored, from_stored=_group_from_stored)
WORKLOADS_1_36: Final = Conversion(to_stored=_workload_to_stored, from_stored=_workload_from_stored)
