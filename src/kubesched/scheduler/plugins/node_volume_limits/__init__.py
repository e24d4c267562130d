"""NodeVolumeLimits: a node attaches only so many volumes of a CSI driver.

attachable   which CSI volumes a pod needs attached: by its claims, or by disks of migrated in-tree plugins
attached     which volumes each node has attached, in columns per driver
plugin       the filter: what is attached and what is new, against the limits in CSINodes
"""

from kubesched.scheduler.plugins.node_volume_limits.plugin import NodeVolumeLimits

__all__ = ["NodeVolumeLimits"]
