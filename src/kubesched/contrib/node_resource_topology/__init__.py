"""NodeResourceTopologyMatch: pods go to nodes whose NUMA zones can take them as the kubelet there will want it.

topology          the object NodeResourceTopology, and what it says of a node's zones and of its kubelet
demand            what a pod asks for, of whom, in integers
zones             the zones of all nodes, in columns
alignment         the filter: whether a zone has room for a container, or for the pod
scoring           the scores by what is asked for, and by what a zone has
least_numa_nodes  the score by the number of zones that a pod would need
sources           which topology a node has, now: as it is reported, or less what was placed since
over_reserve      the latter: reports are taken up when they are known to count the same pods
fingerprint       how reports name the pods that they count
plugin            the arguments and the extension points
"""

from kubesched.contrib.node_resource_topology.plugin import NodeResourceTopologyMatch
from kubesched.contrib.node_resource_topology.topology import NodeResourceTopology

__all__ = ["NodeResourceTopology", "NodeResourceTopologyMatch"]
