"""Defaults of what makes pods: Deployment, ReplicaSet, StatefulSet, DaemonSet, ReplicationController, Job, CronJob."""

from __future__ import annotations

from kubesched.cluster.apiserver.defaulting.pods import default_template
from kubesched.cluster.apiserver.defaulting.volumes import default_claim_spec
from kubesched.objects.base import Json


def default_deployment(deployment: Json) -> None:
    spec = _with_template(deployment)
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    strategy = spec.setdefault("strategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")


def default_replica_set(replica_set: Json) -> None:
    _with_template(replica_set).setdefault("replicas", 1)


def default_replication_controller(controller: Json) -> None:
    spec = _with_template(controller)
    spec.setdefault("replicas", 1)
    labels = spec["template"]["metadata"].get("labels")
    if labels:
        spec.setdefault("selector", dict(labels))
        controller["metadata"].setdefault("labels", dict(labels))


def default_stateful_set(stateful_set: Json) -> None:
    spec = _with_template(stateful_set)
    spec.setdefault("podManagementPolicy", "OrderedReady")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    strategy = spec.setdefault("updateStrategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("partition", 0)
        rolling.setdefault("maxUnavailable", 1)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    for claim in spec.get("volumeClaimTemplates") or ():
        claim["kind"], claim["apiVersion"] = "PersistentVolumeClaim", "v1"
        default_claim_spec(claim.setdefault("spec", {}))
        claim.setdefault("status", {}).setdefault("phase", "Pending")


def default_daemon_set(daemon_set: Json) -> None:
    spec = _with_template(daemon_set)
    spec.setdefault("revisionHistoryLimit", 10)
    strategy = spec.setdefault("updateStrategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)


def default_job(job: Json) -> None:
    spec = _with_template(job)
    default_job_spec(spec)
    labels = spec["template"]["metadata"].get("labels")
    if labels and not job["metadata"].get("labels"):
        job["metadata"]["labels"] = labels  # the same dict, as upstream: the selector's labels appear in both


def default_job_spec(spec: Json) -> None:
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", 2**31 - 1 if "backoffLimitPerIndex" in spec else 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("manualSelector", False)
    spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")


def default_cron_job(cron_job: Json) -> None:
    spec = cron_job.setdefault("spec", {})
    spec["concurrencyPolicy"] = spec.get("concurrencyPolicy") or "Allow"
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    template = spec.setdefault("jobTemplate", {})
    template.setdefault("metadata", {})
    default_template(template.setdefault("spec", {}).setdefault("template", {}))


def default_pod_template(pod_template: Json) -> None:
    default_template(pod_template.setdefault("template", {}))


def _with_template(workload: Json) -> Json:
    spec: Json = workload.setdefault("spec", {})
    default_template(spec.setdefault("template", {}))
    return spec
