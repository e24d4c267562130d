"""All controllers, in one visible table."""

from __future__ import annotations

from kubesched.cluster.controllers import deployment, replica_set
from kubesched.cluster.controllers.manager import Controller
from kubesched.cluster.controllers.world import World


def make_controllers(world: World) -> dict[str, Controller]:
    return {
        deployment.NAME: deployment.DeploymentController(world),
        replica_set.NAME: replica_set.ReplicaSetController(world),
    }
