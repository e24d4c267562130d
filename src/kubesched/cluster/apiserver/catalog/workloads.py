"""What makes pods, and what guards them: apps, batch, policy."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.apiserver import preparation
from kubesched.cluster.apiserver.catalog.parts import SCALE, status_of
from kubesched.cluster.apiserver.defaulting import workloads as workload_defaults
from kubesched.cluster.apiserver.resource import Resource, Rules, SelectableField
from kubesched.cluster.apiserver.tables import workloads as workload_tables
from kubesched.cluster.apiserver.validation import workloads as workload_rules
from kubesched.cluster.apiserver.validation.cron_jobs import cron_job_problems

APPS: Final = (
    Resource(
        group="apps",
        version="v1",
        kind="ControllerRevision",
        plural="controllerrevisions",
        struct_name="apps.v1.ControllerRevision",
        table=workload_tables.CONTROLLER_REVISIONS,
    ),
    Resource(
        group="apps",
        version="v1",
        kind="DaemonSet",
        plural="daemonsets",
        struct_name="apps.v1.DaemonSet",
        short_names=("ds",),
        categories=("all",),
        subresources=(status_of("DaemonSet"),),
        table=workload_tables.DAEMON_SETS,
        rules=Rules(
            prepare=preparation.prepare_daemon_set,
            prepare_update=preparation.count_daemon_templates,
            validate=workload_rules.workload_validator("daemonset"),
            validate_update=workload_rules.selector_is_fixed,
            default=workload_defaults.default_daemon_set,
            counts_generations=True,
        ),
    ),
    Resource(
        group="apps",
        version="v1",
        kind="Deployment",
        plural="deployments",
        struct_name="apps.v1.Deployment",
        short_names=("deploy",),
        categories=("all",),
        subresources=(SCALE, status_of("Deployment")),
        table=workload_tables.DEPLOYMENTS,
        rules=Rules(
            validate=workload_rules.workload_validator("deployment"),
            validate_update=workload_rules.selector_is_fixed,
            default=workload_defaults.default_deployment,
            counts_generations=True,
            counts_annotations=True,  # which are copied to ReplicaSets
        ),
    ),
    Resource(
        group="apps",
        version="v1",
        kind="ReplicaSet",
        plural="replicasets",
        struct_name="apps.v1.ReplicaSet",
        short_names=("rs",),
        categories=("all",),
        subresources=(SCALE, status_of("ReplicaSet")),
        table=workload_tables.REPLICA_SETS,
        rules=Rules(
            validate=workload_rules.workload_validator("replicaset"),
            validate_update=workload_rules.selector_is_fixed,
            default=workload_defaults.default_replica_set,
            counts_generations=True,
        ),
        fields={"status.replicas": SelectableField("status", "replicas", default="0")},
    ),
    Resource(
        group="apps",
        version="v1",
        kind="StatefulSet",
        plural="statefulsets",
        struct_name="apps.v1.StatefulSet",
        short_names=("sts",),
        categories=("all",),
        subresources=(SCALE, status_of("StatefulSet")),
        table=workload_tables.STATEFUL_SETS,
        rules=Rules(
            prepare=preparation.prepare_stateful_set,
            validate=workload_rules.workload_validator("statefulset"),
            validate_update=workload_rules.stateful_set_update_problems,
            default=workload_defaults.default_stateful_set,
            counts_generations=True,
        ),
    ),
)

BATCH: Final = (
    Resource(
        group="batch",
        version="v1",
        kind="CronJob",
        plural="cronjobs",
        struct_name="batch.v1.CronJob",
        short_names=("cj",),
        categories=("all",),
        subresources=(status_of("CronJob"),),
        table=workload_tables.CRON_JOBS,
        rules=Rules(
            validate=cron_job_problems,
            default=workload_defaults.default_cron_job,
            counts_generations=True,
        ),
    ),
    Resource(
        group="batch",
        version="v1",
        kind="Job",
        plural="jobs",
        struct_name="batch.v1.Job",
        categories=("all",),
        subresources=(status_of("Job"),),
        table=workload_tables.JOBS,
        rules=Rules(
            validate=workload_rules.job_problems,
            validate_update=workload_rules.job_update_problems,
            default=workload_defaults.default_job,
            prepare=preparation.prepare_job,
            counts_generations=True,
        ),
        fields={"status.successful": SelectableField("status", "succeeded", default="0")},
    ),
)

POLICY: Final = (
    Resource(
        group="policy",
        version="v1",
        kind="PodDisruptionBudget",
        plural="poddisruptionbudgets",
        struct_name="policy.v1.PodDisruptionBudget",
        short_names=("pdb",),
        subresources=(status_of("PodDisruptionBudget"),),
        table=workload_tables.DISRUPTION_BUDGETS,
        rules=Rules(
            prepare=preparation.prepare_disruption_budget,
            validate=workload_rules.disruption_budget_problems,
            unconditional_update=False,
            counts_generations=True,
        ),
    ),
)
