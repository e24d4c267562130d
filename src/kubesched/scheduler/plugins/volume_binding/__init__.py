"""VolumeBinding: finds, sets aside and binds the volumes of a pod's claims.

pod_claims      PreFilter: which claims are bound, which wait for a node, which make the pod wait
finding         Filter: which nodes have access to the bound volumes and can serve the waiting claims, and how
  volume_affinity which nodes have access to a volume
  volume_pool     free volumes: the smallest that satisfies a claim, for all nodes at once
  provisioning    nodes where a class provisions volumes, and has the room
  size_index    the array work behind the two: smallest sufficient item per node
assume_cache    objects as they will be once the API server has seen what was decided
binding         PreBind: writes the decisions and waits until the volume controller has carried them out
plugin, hints   the extension points, and the events that may help
"""

from kubesched.scheduler.plugins.volume_binding.plugin import VolumeBinding

__all__ = ["VolumeBinding"]
