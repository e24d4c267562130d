"""GPUs that pods share: a node offers thousandths of GPUs, a pod asks for a share of one or for several whole ones.

    devices          how much each GPU has left, derived from the pods on its node
    plugin           GPUSharing: which nodes have room on their GPUs, and on which ones a pod is placed
    policies         Random, DotProduct, GPUClustering, GPUPacking, BestFit: where to place it
    fragmentation    how much of what is left is of no use to an expected workload
    fgd              FGD: place it where that grows least

Every policy is GPUSharing with a score: enable one of them (docs/experiments.md).
"""

from __future__ import annotations

from kubesched.contrib.gpu_sharing.devices import (
    DEVICES,
    MODEL,
    RESOURCE,
    WHOLE,
    DeviceTable,
    devices_of,
    requested_by,
)
from kubesched.contrib.gpu_sharing.fgd import FGD
from kubesched.contrib.gpu_sharing.fragmentation import CLASSES, PodShape, Workload, gpu_models, workload_args
from kubesched.contrib.gpu_sharing.plugin import GPUSharing
from kubesched.contrib.gpu_sharing.policies import BestFit, DotProduct, GPUClustering, GPUPacking, Random

__all__ = [
    "CLASSES",
    "DEVICES",
    "FGD",
    "MODEL",
    "RESOURCE",
    "WHOLE",
    "BestFit",
    "DeviceTable",
    "DotProduct",
    "GPUClustering",
    "GPUPacking",
    "GPUSharing",
    "PodShape",
    "Random",
    "Workload",
    "devices_of",
    "gpu_models",
    "requested_by",
    "workload_args",
]
