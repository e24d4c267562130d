"""The contract that plugins are written against: extension points, answers, events, and what a plugin may ask.

    Plugin, FilterPlugin, ...   the extension points, with what each may rely on and must promise
    Status, Verdict, Diagnosis  answers: about a pod, about many nodes at once, and all of them together
    CycleState                  what plugins remember within one attempt
    ClusterEvent, EventHint     what may make a rejected pod schedulable
    Handle, ObjectStores        what a plugin may ask of the scheduler, and what the informers know
    ...Observer, Stopwatch      seams that metrics hang on

Contracts and values only: whoever fulfils or calls them lives above (`runtime`, `engine`, `state`, `plugins`). What is
public for plugin authors is exported here, together with the views and templates of `columns` that they read.
"""

from kubesched.columns import Booleans, Cluster, Integers, NodeView, PodInfo, PodTemplate, WhatIf
from kubesched.framework.cycle_state import CycleState
from kubesched.framework.device_observer import DeviceObserver, SilentDeviceObserver
from kubesched.framework.diagnosis import Diagnosis, ListedStatuses, NodeStatuses
from kubesched.framework.events import Action, ClusterEvent, EventHint, Hint, Resource, Tags
from kubesched.framework.handle import (
    ApiWriter,
    Claim,
    EventRecorder,
    Extender,
    Handle,
    NominatingInfo,
    NominatingMode,
    Nominator,
    WaitingPod,
)
from kubesched.framework.listers import ObjectStore, ObjectStores
from kubesched.framework.node_info import NodeInfo
from kubesched.framework.plugin import (
    ALL_NODES,
    EXTENSION_POINTS,
    FIXED,
    MAX_SCORE,
    BindPlugin,
    FilterPlugin,
    PermitPlugin,
    PlacementGeneratePlugin,
    PlacementScorePlugin,
    Plugin,
    PluginFactory,
    PodGroupPostFilterPlugin,
    PostBindPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    QueueSortPlugin,
    Reach,
    ReservePlugin,
    ScorePlugin,
    points_served,
)
from kubesched.framework.pod_group import (
    Placement,
    PodGroupAssignments,
    PodGroupInfo,
    PodGroupState,
    PodGroupStates,
    Rehearsal,
)
from kubesched.framework.preemption import PreemptionObserver, SilentPreemption, Victims
from kubesched.framework.queued_pod import QueuedPod
from kubesched.framework.status import SKIP, SUCCESS, WAIT, Code, Status
from kubesched.framework.stopwatch import CallObserver, Stopwatch
from kubesched.framework.verdict import Reason, Verdict
from kubesched.framework.volume_observer import SilentVolumeObserver, VolumeObserver

__all__ = [
    "ALL_NODES",
    "EXTENSION_POINTS",
    "FIXED",
    "MAX_SCORE",
    "SKIP",
    "SUCCESS",
    "WAIT",
    "Action",
    "ApiWriter",
    "BindPlugin",
    "Booleans",
    "CallObserver",
    "Claim",
    "Cluster",
    "ClusterEvent",
    "Code",
    "CycleState",
    "DeviceObserver",
    "Diagnosis",
    "EventHint",
    "EventRecorder",
    "Extender",
    "FilterPlugin",
    "Handle",
    "Hint",
    "Integers",
    "ListedStatuses",
    "NodeInfo",
    "NodeStatuses",
    "NodeView",
    "NominatingInfo",
    "NominatingMode",
    "Nominator",
    "ObjectStore",
    "ObjectStores",
    "PermitPlugin",
    "Placement",
    "PlacementGeneratePlugin",
    "PlacementScorePlugin",
    "Plugin",
    "PluginFactory",
    "PodGroupAssignments",
    "PodGroupInfo",
    "PodGroupPostFilterPlugin",
    "PodGroupState",
    "PodGroupStates",
    "PodInfo",
    "PodTemplate",
    "PostBindPlugin",
    "PostFilterPlugin",
    "PostFilterResult",
    "PreBindPlugin",
    "PreEnqueuePlugin",
    "PreFilterPlugin",
    "PreFilterResult",
    "PreScorePlugin",
    "PreemptionObserver",
    "QueueSortPlugin",
    "QueuedPod",
    "Reach",
    "Reason",
    "Rehearsal",
    "ReservePlugin",
    "Resource",
    "ScorePlugin",
    "SilentDeviceObserver",
    "SilentPreemption",
    "SilentVolumeObserver",
    "Status",
    "Stopwatch",
    "Tags",
    "Verdict",
    "Victims",
    "VolumeObserver",
    "WaitingPod",
    "WhatIf",
    "points_served",
]
