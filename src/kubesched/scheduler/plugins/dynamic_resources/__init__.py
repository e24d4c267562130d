"""Dynamic resource allocation: devices (GPUs, NICs, ...) for the resource claims of pods.

    PreFilter  pre_filtering    the pod's claims; Skip if it has none
    Filter     filtering        one `search` per class of nodes with equal devices, equally taken;
                                `node_allocatable`: what claims take from the node itself
    PostFilter group_claims     a claim of the pod's group is given up, if no pod uses it
    Reserve    reserving        the devices are held in the claim tracker
    PreBind    pre_binding      `claim_writer` writes the allocation; wait for binding conditions

`devices.Devices` is what all profiles share: `inventory` (who offers what), `node_classes`, and the claim tracker (who
has what).
What other plugins need of that, too, is in `kubesched.scheduler.plugins.support.devices`.
"""

from __future__ import annotations

from kubesched.scheduler.plugins.dynamic_resources.plugin import NAME, DynamicResources

__all__ = ["NAME", "DynamicResources"]
