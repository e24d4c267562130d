"""NodeResourcesFit: a node takes a pod only if it has the room, and is scored by how full it is then."""

from kubesched.scheduler.plugins.node_resources_fit.plugin import NodeResourcesFit

__all__ = ["NodeResourcesFit"]
