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
from kubesched.cluster.controllers.manager import Controller
from kubesched.cluster.controllers.world import World


def make_controllers(world: World) -> dict[str, Controller]:
    """By the name that their keys carry."""
    return {
        deployment.NAME: deployment.DeploymentController(world),
        replica_set.NAME: replica_set.ReplicaSetController(world),
        job.NAME: job.JobController(world),
        cron_job.NAME: cron_job.CronJobController(world),
        job_orphans.NAME: job_orphans.JobOrphanController(world),
        daemon_set.NAME: daemon_set.DaemonSetController(world),
        stateful_set.NAME: stateful_set.StatefulSetController(world),
        garbage.NAME: garbage.GarbageCollector(world),
        namespaces.NAME: namespaces.NamespaceController(world),
        volume_binding.NAME: volume_binding.ClaimController(world),
        volume_release.NAME: volume_release.VolumeController(world),
        pod_claims.NAME: pod_claims.PodClaimController(world),
        pod_group_claims.NAME: pod_group_claims.PodGroupClaimController(world),
        resource_claim_release.NAME: resource_claim_release.ClaimReleaseController(world),
        node_lifecycle.NAME: node_lifecycle.NodeLifecycleController(world),
        taint_eviction.NAME: taint_eviction.TaintEvictionController(world),
        pod_cleanup.NAME: pod_cleanup.PodCleanupController(world),
        disruption.NAME: disruption.DisruptionController(world),
        quota.NAME: quota.QuotaController(world),
        endpoints.NAME: endpoints.EndpointsController(world),
        kubernetes_service.NAME: kubernetes_service.KubernetesServiceController(world),
    }
