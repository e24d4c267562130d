"""All controllers, in one visible table."""

from __future__ import annotations

from kubesched.cluster.controllers import (
    cron_job,
    daemon_set,
    deployment,
    disruption,
    endpoints,
    garbage,
    job,
    job_orphans,
    kubernetes_service,
    namespaces,
    node_lifecycle,
    pod_claims,
    pod_cleanup,
    pod_group_claims,
    quota,
    replica_set,
    resource_claim_release,
    stateful_set,
    taint_eviction,
    volume_binding,
    volume_release,
)
from kubesched.cluster.controllers.context import ControllerContext
from kubesched.cluster.controllers.manager import Controller


def make_controllers(context: ControllerContext) -> dict[str, Controller]:
    """By the name that their keys carry."""
    return {
        deployment.NAME: deployment.DeploymentController(context),
        replica_set.NAME: replica_set.ReplicaSetController(context),
        job.NAME: job.JobController(context),
        cron_job.NAME: cron_job.CronJobController(context),
        job_orphans.NAME: job_orphans.JobOrphanController(context),
        daemon_set.NAME: daemon_set.DaemonSetController(context),
        stateful_set.NAME: stateful_set.StatefulSetController(context),
        garbage.NAME: garbage.GarbageCollector(context),
        namespaces.NAME: namespaces.NamespaceController(context),
        volume_binding.NAME: volume_binding.ClaimController(context),
        volume_release.NAME: volume_release.VolumeController(context),
        pod_claims.NAME: pod_claims.PodClaimController(context),
        pod_group_claims.NAME: pod_group_claims.PodGroupClaimController(context),
        resource_claim_release.NAME: resource_claim_release.ClaimReleaseController(context),
        node_lifecycle.NAME: node_lifecycle.NodeLifecycleController(context),
        taint_eviction.NAME: taint_eviction.TaintEvictionController(context),
        pod_cleanup.NAME: pod_cleanup.PodCleanupController(context),
        disruption.NAME: disruption.DisruptionController(context),
        quota.NAME: quota.QuotaController(context),
        endpoints.NAME: endpoints.EndpointsController(context),
        kubernetes_service.NAME: kubernetes_service.KubernetesServiceController(context),
    }
