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

from kubesched.scheduler.columns import Booleans, ClusterTables, Integers, NodeView, PodInfo, PodTemplate, WhatIf
from kubesched.scheduler.framework.cycle_state import CycleState
from kubesched.scheduler.framework.device_observer import DeviceObserver, SilentDeviceObserver
from kubesched.scheduler.framework.diagnosis import Diagnosis, ListedStatuses, NodeStatuses
from kubesched.scheduler.framework.events import Action, ClusterEvent, EventHint, Hint, Resource, Tags
from kubesched.scheduler.framework.fetches import Fetched, Fetches
from kubesched.scheduler.framework.handle import (
    ApiWriter,
    EventRecorder,
    Extender,
    ExternalServices,
    Handle,
    NominatingInfo,
    NominatingMode,
    Nomination,
    Nominator,
    SharedServices,
    WaitingPod,
)
from kubesched.scheduler.framework.listers import ObjectStore, ObjectStores
from kubesched.scheduler.framework.node_info import NodeInfo
from kubesched.scheduler.framework.plugin import (
    ALL_NODES,
    EXTENSION_POINTS,
    FIXED,
    MAX_SCORE,
    BindPlugin,
    DependsOn,
    FilterPlugin,
    Permission,
    PermitPlugin,
    PlacementFeasiblePlugin,
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
    ReservePlugin,
    ScorePlugin,
    points_served,
)
from kubesched.scheduler.framework.plugin_args import PluginArgs
from kubesched.scheduler.framework.pod_changes import PodChange
from kubesched.scheduler.framework.pod_group import (
    Nominations,
    Placement,
    PlacementProgress,
    PodGroupAssignments,
    PodGroupDryRun,
    PodGroupInfo,
    PodGroupState,
    PodGroupStates,
)
from kubesched.scheduler.framework.preemption import PreemptionObserver, SilentPreemption, Victims
from kubesched.scheduler.framework.queued_pod import QueuedPod
from kubesched.scheduler.framework.status import SKIP, SUCCESS, WAIT, Code, Status
from kubesched.scheduler.framework.stopwatch import CallObserver, Stopwatch
from kubesched.scheduler.framework.verdict import Reason, Verdict
from kubesched.scheduler.framework.volume_observer import SilentVolumeObserver, VolumeObserver

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
    "ClusterEvent",
    "ClusterTables",
    "Code",
    "CycleState",
    "DependsOn",
    "DeviceObserver",
    "Diagnosis",
    "EventHint",
    "EventRecorder",
    "Extender",
    "ExternalServices",
    "Fetched",
    "Fetches",
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
    "Nomination",
    "Nominations",
    "Nominator",
    "ObjectStore",
    "ObjectStores",
    "Permission",
    "PermitPlugin",
    "Placement",
    "PlacementFeasiblePlugin",
    "PlacementGeneratePlugin",
    "PlacementProgress",
    "PlacementScorePlugin",
    "Plugin",
    "PluginArgs",
    "PluginFactory",
    "PodChange",
    "PodGroupAssignments",
    "PodGroupDryRun",
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
    "Reason",
    "ReservePlugin",
    "Resource",
    "ScorePlugin",
    "SharedServices",
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
