"""Which events each in-tree plugin registers: those of kube-scheduler v1.37."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import or_
from random import Random

import pytest

from kubesched.apps.simulate.memory_api import MemoryApi
from kubesched.clock import VirtualClock
from kubesched.config import FeatureGates, default_config
from kubesched.scheduler.build import Dependencies, build_scheduler
from kubesched.scheduler.framework import Action, EventHint, Resource
from kubesched.testing.recording import RecordingRecorder

Events = Mapping[Resource, Action]

ANEW = Action.ADD | Action.UPDATE
NODE_LABELS = Action.ADD | Action.UPDATE_NODE_LABEL
NODE_TAINTS = Action.ADD | Action.UPDATE_NODE_TAINT

REGISTERED: Mapping[str, Events] = {
    "SchedulingGates": {Resource.POD: Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED},
    "NodeUnschedulable": {Resource.NODE: NODE_TAINTS, Resource.POD: Action.UPDATE_POD_TOLERATION},
    "NodeName": {Resource.NODE: Action.ADD},
    "TaintToleration": {Resource.NODE: NODE_TAINTS, Resource.POD: Action.UPDATE_POD_TOLERATION},
    "NodeAffinity": {Resource.NODE: NODE_LABELS},
    "NodePorts": {Resource.POD: Action.DELETE, Resource.NODE: Action.ADD},
    "NodeResourcesFit": {
        Resource.POD: Action.DELETE | Action.UPDATE_POD_SCALE_DOWN,
        Resource.NODE: Action.ADD | Action.UPDATE_NODE_ALLOCATABLE,
        Resource.DEVICE_CLASS: ANEW,
    },
    "VolumeRestrictions": {
        Resource.POD: Action.DELETE,
        Resource.NODE: Action.ADD,
        Resource.PERSISTENT_VOLUME_CLAIM: Action.ADD,
    },
    "NodeVolumeLimits": {
        Resource.CSI_NODE: ANEW,
        Resource.POD: Action.DELETE,
        Resource.PERSISTENT_VOLUME_CLAIM: Action.ADD,
        Resource.VOLUME_ATTACHMENT: Action.DELETE,
    },
    "VolumeBinding": {
        Resource.STORAGE_CLASS: ANEW,
        Resource.PERSISTENT_VOLUME_CLAIM: ANEW,
        Resource.PERSISTENT_VOLUME: ANEW,
        Resource.NODE: NODE_LABELS,
        Resource.CSI_NODE: ANEW,
        Resource.CSI_DRIVER: Action.UPDATE,
        Resource.CSI_STORAGE_CAPACITY: ANEW,
    },
    "VolumeZone": {
        Resource.STORAGE_CLASS: Action.ADD,
        Resource.NODE: NODE_LABELS,
        Resource.PERSISTENT_VOLUME_CLAIM: ANEW,
        Resource.PERSISTENT_VOLUME: ANEW,
    },
    "PodTopologySpread": {
        Resource.POD: Action.ADD | Action.UPDATE_POD_LABEL | Action.UPDATE_POD_TOLERATION | Action.DELETE,
        Resource.NODE: Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT,
    },
    "InterPodAffinity": {
        Resource.POD: Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE,
        Resource.NODE: NODE_LABELS,
    },
    "DefaultPreemption": {Resource.POD: Action.DELETE},
    "DynamicResources": {
        Resource.NODE: NODE_LABELS | Action.UPDATE_NODE_ALLOCATABLE,
        Resource.RESOURCE_CLAIM: ANEW | Action.DELETE,
        Resource.POD: Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM,
        Resource.DEVICE_CLASS: ANEW,
        Resource.RESOURCE_SLICE: ANEW,
    },
    "NodeDeclaredFeatures": {
        Resource.NODE: Action.ADD | Action.UPDATE_NODE_DECLARED_FEATURE,
        Resource.POD: Action.UPDATE,
    },
    "GangScheduling": {Resource.POD: Action.ADD, Resource.POD_GROUP: Action.ADD | Action.UPDATE},
}
"""By plugin, in the order of the default configuration."""


def by_resource(hints: Iterable[EventHint]) -> Events:
    """What is registered in several parts here may be one registration there."""
    events = [hint.event for hint in hints]
    return {
        Resource(resource): reduce(or_, (event.action for event in events if event.resource is resource))
        for resource in {event.resource for event in events}
    }


@pytest.fixture(scope="module")
def registered() -> Mapping[str, Events]:
    """What the plugins of the default profile register, with the gates that bring those in which are off by default."""
    names = ("GenericWorkload", "NodeDeclaredFeatures", "DRAExtendedResource")
    gates = FeatureGates(dict.fromkeys(names, True))
    dependencies = Dependencies(api=MemoryApi(), recorder=RecordingRecorder(), clock=VirtualClock(), random=Random(0))
    [profile] = build_scheduler(default_config(gates), gates, dependencies).profiles.values()
    return {plugin: by_resource(hints) for plugin, hints in profile.event_hints().items()}


def test_who_registers(registered: Mapping[str, Events]) -> None:
    """Whoever can reject a pod."""
    assert registered.keys() == REGISTERED.keys()


@pytest.mark.parametrize(("plugin", "events"), REGISTERED.items(), ids=REGISTERED)
def test_what_a_plugin_registers(registered: Mapping[str, Events], plugin: str, events: Events) -> None:
    """An event too few leaves pods waiting for the time-out; one too many wakes them in vain."""
    assert registered[plugin] == events
