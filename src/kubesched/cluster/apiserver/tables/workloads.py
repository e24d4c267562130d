"""The tables of what makes pods, and of what guards them."""

from __future__ import annotations

from typing import Any, Final

from kubesched.cluster.apiserver.tables.layout import (
    NONE,
    Column,
    TableLayout,
    age_of,
    columns,
    condition_status,
    container_cells,
    human_duration,
    labels_text,
    name_of,
    seconds_of,
    selector_text,
    since,
)
from kubesched.objects.base import Json

_CONTAINERS: Final = ("Containers", "Images", "Selector")
_JOB_STATES: Final = {
    "Complete": "Complete",
    "Failed": "Failed",
    "Suspended": "Suspended",
    "FailureTarget": "FailureTarget",
    "SuccessCriteriaMet": "SuccessCriteriaMet",
}


def _pod_spec(value: Json) -> Json:
    found: Json = ((value.get("spec") or {}).get("template") or {}).get("spec") or {}
    return found


def _deployment(value: Json, now: float) -> list[Any]:
    spec, status = value.get("spec") or {}, value.get("status") or {}
    return [
        name_of(value),
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        age_of(value, now),
        *container_cells(_pod_spec(value)),
        selector_text(spec.get("selector")),
    ]


def _replica_set(value: Json, now: float) -> list[Any]:
    spec, status = value.get("spec") or {}, value.get("status") or {}
    selector = spec.get("selector") or {}
    plain = "matchLabels" not in selector and "matchExpressions" not in selector  # a ReplicationController's
    return [
        name_of(value),
        spec.get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        age_of(value, now),
        *container_cells(_pod_spec(value)),
        labels_text(selector) if plain else selector_text(selector),
    ]


def _stateful_set(value: Json, now: float) -> list[Any]:
    spec, status = value.get("spec") or {}, value.get("status") or {}
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    return [name_of(value), ready, age_of(value, now), *container_cells(_pod_spec(value))]


def _daemon_set(value: Json, now: float) -> list[Any]:
    status = value.get("status") or {}
    return [
        name_of(value),
        status.get("desiredNumberScheduled", 0),
        status.get("currentNumberScheduled", 0),
        status.get("numberReady", 0),
        status.get("updatedNumberScheduled", 0),
        status.get("numberAvailable", 0),
        labels_text(_pod_spec(value).get("nodeSelector")),
        age_of(value, now),
        *container_cells(_pod_spec(value)),
        selector_text((value.get("spec") or {}).get("selector")),
    ]


def _job(value: Json, now: float) -> list[Any]:
    spec, status = value.get("spec") or {}, value.get("status") or {}
    succeeded, parallelism = status.get("succeeded", 0), spec.get("parallelism", 0)
    if "completions" in spec:
        completions = f"{succeeded}/{spec['completions']}"
    else:
        completions = f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"
    duration = ""
    if started := status.get("startTime"):
        end = seconds_of(status["completionTime"]) if status.get("completionTime") else now
        duration = human_duration(end - seconds_of(started))
    return [
        name_of(value),
        _job_state(value),
        completions,
        duration,
        age_of(value, now),
        *container_cells(_pod_spec(value)),
        selector_text(spec.get("selector")),
    ]


def _job_state(value: Json) -> str:
    for condition, state in _JOB_STATES.items():
        if condition == "Suspended" and value["metadata"].get("deletionTimestamp"):
            return "Terminating"
        if condition_status(value, condition) == "True":
            return state
    return "Running"


def _cron_job(value: Json, now: float) -> list[Any]:
    spec, status = value.get("spec") or {}, value.get("status") or {}
    job_spec = (spec.get("jobTemplate") or {}).get("spec") or {}
    last = status.get("lastScheduleTime")
    return [
        name_of(value),
        spec.get("schedule", ""),
        spec.get("timeZone") or NONE,
        str(spec.get("suspend", False)),
        len(status.get("active") or ()),
        since(last, now) if last else NONE,
        age_of(value, now),
        *container_cells(((job_spec.get("template") or {}).get("spec")) or {}),
        selector_text(job_spec.get("selector")),
    ]


def _disruption_budget(value: Json, now: float) -> list[Any]:
    spec, status = value.get("spec") or {}, value.get("status") or {}
    return [
        name_of(value),
        str(spec.get("minAvailable", "N/A")),
        str(spec.get("maxUnavailable", "N/A")),
        status.get("disruptionsAllowed", 0),
        age_of(value, now),
    ]


def _controller_revision(value: Json, now: float) -> list[Any]:
    owner = NONE
    for reference in value["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            group = reference["apiVersion"].rpartition("/")[0]
            owner = f"{reference['kind'].lower()}{'.' if group else ''}{group}/{reference['name']}"
    return [name_of(value), owner, value.get("revision", 0), age_of(value, now)]


def _pod_template(value: Json, now: float) -> list[Any]:
    template = value.get("template") or {}
    labels = labels_text((template.get("metadata") or {}).get("labels"))
    return [name_of(value), *container_cells(template.get("spec") or {}), labels]


def _pod_group(value: Json, now: float) -> list[Any]:
    spec = value.get("spec") or {}
    policy = "Gang" if "gang" in (spec.get("schedulingPolicy") or {}) else "Basic"
    scheduled = condition_status(value, "PodGroupInitiallyScheduled")
    state = {"": "Pending", "True": "Scheduled"}.get(scheduled, "Unschedulable")
    for condition in (value.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "DisruptionTarget":
            state = condition.get("reason", "")
    reference = spec.get("workloadRef") or {}
    return [name_of(value), policy, reference.get("workloadName") or NONE, state, age_of(value, now)]


_COUNTS: Final = {"Desired": "integer", "Current": "integer", "Ready": "integer"}

DEPLOYMENTS: Final = TableLayout(
    columns("Name", "Ready", "Up-to-date", "Available", "Age", wide=_CONTAINERS), _deployment
)
REPLICA_SETS: Final = TableLayout(
    columns("Name", "Desired", "Current", "Ready", "Age", wide=_CONTAINERS, **_COUNTS), _replica_set
)
STATEFUL_SETS: Final = TableLayout(columns("Name", "Ready", "Age", wide=("Containers", "Images")), _stateful_set)
DAEMON_SETS: Final = TableLayout(
    columns(
        "Name",
        "Desired",
        "Current",
        "Ready",
        "Up-to-date",
        "Available",
        "Node Selector",
        "Age",
        wide=_CONTAINERS,
        Up_to_date="integer",
        Available="integer",
        **_COUNTS,
    ),
    _daemon_set,
)
JOBS: Final = TableLayout(columns("Name", "Status", "Completions", "Duration", "Age", wide=_CONTAINERS), _job)
CRON_JOBS: Final = TableLayout(
    columns(
        "Name",
        "Schedule",
        "Timezone",
        "Suspend",
        "Active",
        "Last Schedule",
        "Age",
        wide=_CONTAINERS,
        Suspend="boolean",
        Active="integer",
    ),
    _cron_job,
)
DISRUPTION_BUDGETS: Final = TableLayout(
    columns("Name", "Min Available", "Max Unavailable", "Allowed Disruptions", "Age", Allowed_Disruptions="integer"),
    _disruption_budget,
)
CONTROLLER_REVISIONS: Final = TableLayout(columns("Name", "Controller", "Revision", "Age"), _controller_revision)
POD_TEMPLATES: Final = TableLayout(columns("Name", "Containers", "Images", "Pod Labels"), _pod_template)
SCALE: Final = TableLayout(
    (Column("Name"), Column("Desired", "integer"), Column("Available", "integer"), Column("Age")),
    lambda value, now: [
        name_of(value),
        value["spec"].get("replicas", 0),
        value["status"]["replicas"],
        age_of(value, now),
    ],
)
POD_GROUPS: Final = TableLayout(columns("Name", "Policy", "Workload", "Status", "Age"), _pod_group)
