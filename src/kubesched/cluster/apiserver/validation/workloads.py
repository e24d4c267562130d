"""What makes pods, and what guards them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from kubesched.cluster.apiserver.problems import Problem, forbidden, invalid, required, unsupported
from kubesched.cluster.apiserver.selectors import object_selector
from kubesched.cluster.apiserver.validation.metadata import IMMUTABLE
from kubesched.cluster.apiserver.validation.pods import template_problems
from kubesched.cluster.apiserver.validation.selectors import label_selector_problems
from kubesched.objects.base import Json

Validator = Callable[[Json], list[Problem]]

_PERCENTAGE: Final = re.compile(r"[0-9]{1,9}%", re.ASCII)
_NO_PERCENTAGE: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)
_UNMATCHED: Final = "`selector` does not match template `labels`"
_EMPTY_SELECTOR: Final = "empty selector is invalid for {}"
_STATEFUL_FREE: Final = frozenset(
    {
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    }
)
_STATEFUL_FIXED: Final = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


def workload_validator(noun: str) -> Validator:
    """For everything with replicas, a selector and a template that restarts its containers."""

    def validate(workload: Json) -> list[Problem]:
        spec = workload.get("spec") or {}
        problems = non_negative(spec, "spec", "replicas", "minReadySeconds", "revisionHistoryLimit")
        problems += _rolling_update(spec)
        problems += _selector(spec, noun)
        problems += template_problems(_with_claimed_volumes(spec), "spec.template")
        policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy")
        if policy != "Always" and policy in ("OnFailure", "Never"):
            problems.append(unsupported("spec.template.spec.restartPolicy", policy, ("Always",)))
        return problems

    return validate


def _with_claimed_volumes(spec: Json) -> Json:
    """The template as its pods will be: a StatefulSet's claims become volumes that containers may mount."""
    template: Json = spec.get("template") or {}
    templates = spec.get("volumeClaimTemplates") or ()
    claims = dict.fromkeys((claim.get("metadata") or {}).get("name", "") for claim in templates)
    if not claims:
        return template
    pod = template.get("spec") or {}
    volumes = [item for item in pod.get("volumes") or () if item.get("name") not in claims]
    volumes += [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
    return {**template, "spec": {**pod, "volumes": volumes}}


def selector_is_fixed(workload: Json, old: Json) -> list[Problem]:
    selector = (workload.get("spec") or {}).get("selector")
    if selector == (old.get("spec") or {}).get("selector"):
        return []
    return [invalid("spec.selector", selector, IMMUTABLE)]


def stateful_set_update_problems(workload: Json, old: Json) -> list[Problem]:
    new_spec, old_spec = workload.get("spec") or {}, old.get("spec") or {}
    changed = [key for key in {*new_spec, *old_spec} - _STATEFUL_FREE if new_spec.get(key) != old_spec.get(key)]
    return [forbidden("spec", _STATEFUL_FIXED)] if changed else []


def replication_controller_problems(controller: Json) -> list[Problem]:
    spec = controller.get("spec") or {}
    selector, labels = (
        spec.get("selector") or {},
        ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {},
    )
    problems = non_negative(spec, "spec", "replicas", "minReadySeconds")
    if not selector:
        problems.append(required("spec.selector"))
    elif any(labels.get(key) != value for key, value in selector.items()):
        problems.append(invalid("spec.template.metadata.labels", labels, _UNMATCHED))
    return problems + template_problems(spec.get("template") or {}, "spec.template")


def job_problems(job: Json) -> list[Problem]:
    return job_spec_problems(job.get("spec") or {}, "spec", needs_selector=True)


def job_spec_problems(spec: Json, path: str, *, needs_selector: bool) -> list[Problem]:
    counts = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
    problems = non_negative(spec, path, *counts)
    if needs_selector and not spec.get("selector"):
        problems.append(required(f"{path}.selector"))
    template = spec.get("template") or {}
    problems += template_problems(template, f"{path}.template")
    policy = (template.get("spec") or {}).get("restartPolicy")
    if policy == "Always":
        problems.append(required(f"{path}.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"'))
    return problems


def job_update_problems(job: Json, old: Json) -> list[Problem]:
    new_spec, old_spec = job.get("spec") or {}, old.get("spec") or {}
    fixed: tuple[str, ...] = (
        "completions",
        "selector",
        "template",
        "completionMode",
        "podFailurePolicy",
        "backoffLimitPerIndex",
    )
    if old_spec.get("suspend"):
        fixed = tuple(key for key in fixed if key != "template")
    changed = [key for key in fixed if new_spec.get(key) != old_spec.get(key)]
    return [invalid(f"spec.{key}", new_spec.get(key), IMMUTABLE) for key in changed]


def disruption_budget_problems(budget: Json) -> list[Problem]:
    spec = budget.get("spec") or {}
    problems: list[Problem] = []
    if "minAvailable" in spec and "maxUnavailable" in spec:
        problems.append(invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set"))
    for key in ("minAvailable", "maxUnavailable"):
        problems += _count_or_percentage(spec, "spec", key)
    return problems + label_selector_problems(spec.get("selector"), "spec.selector")


def _count_or_percentage(spec: Json, path: str, key: str, *, most: int | None = 100) -> list[Problem]:
    """`ValidatePositiveIntOrPercent`, and `IsNotMoreThan100Percent` where there is a limit."""
    value = spec.get(key)
    if value is None or isinstance(value, int):
        return non_negative(spec, path, key)
    if _PERCENTAGE.fullmatch(value) is None:
        return [invalid(f"{path}.{key}", value, _NO_PERCENTAGE)]
    if most is not None and int(value[:-1]) > most:
        return [invalid(f"{path}.{key}", value, "must not be greater than 100%")]
    return []


def _rolling_update(spec: Json) -> list[Problem]:
    """How many pods may be away or too many while a template changes, wherever a workload says so."""
    problems: list[Problem] = []
    for key in ("strategy", "updateStrategy"):
        rolling, path = (spec.get(key) or {}).get("rollingUpdate") or {}, f"spec.{key}.rollingUpdate"
        problems += _count_or_percentage(rolling, path, "maxUnavailable")
        problems += _count_or_percentage(rolling, path, "maxSurge", most=None)
    return problems


def non_negative(spec: Json, path: str, *keys: str) -> list[Problem]:
    return [
        invalid(f"{path}.{key}", spec[key], "must be greater than or equal to 0")
        for key in keys
        if isinstance(spec.get(key), int) and spec[key] < 0
    ]


def _selector(spec: Json, noun: str) -> list[Problem]:
    selector = spec.get("selector")
    if selector is None:
        return [required("spec.selector"), invalid("spec.template.metadata.labels", None, _UNMATCHED)]
    problems = label_selector_problems(selector, "spec.selector")
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        problems.append(invalid("spec.selector", selector, _EMPTY_SELECTOR.format(noun)))
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    if not problems and not object_selector(selector).matches(labels):
        problems.append(invalid("spec.template.metadata.labels", labels, _UNMATCHED))
    return problems
