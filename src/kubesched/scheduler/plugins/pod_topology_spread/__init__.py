"""PodTopologySpread: spread pods evenly over the domains of a topology.

constraints        a pod's constraints, or the defaults of the configuration, compiled
default_selector   which pods belong together with a pod that does not say so itself
node_inclusion     which nodes a constraint includes
plan               what must be counted for a pod template, and over which nodes
filtering          DoNotSchedule
scoring            ScheduleAnyway
hints              events that may help a rejected pod
"""

from kubesched.scheduler.plugins.pod_topology_spread.plugin import PodTopologySpread

__all__ = ["PodTopologySpread"]
