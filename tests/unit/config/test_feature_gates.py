"""Feature gates: defaults, flags, emulation, and what changed without a gate."""

from __future__ import annotations

import pytest

from kubesched.config.behaviours import BEHAVIOURS, IMAGE_VOLUMES_COUNT, POD_WIDE_RESIZE, Behaviour
from kubesched.config.feature_gates import FeatureGates, stage_at
from kubesched.config.gate_table import DEPENDENCIES, GATES
from kubesched.config.versions import CURRENT_VERSION, OLDEST_EMULATED_VERSION, Version
from kubesched.errors import ConfigurationError


@pytest.mark.parametrize(
    ("gate", "enabled"),
    [
        ("DynamicResourceAllocation", True),
        ("SchedulerQueueingHints", True),
        ("SchedulerAsyncPreemption", True),
        ("SchedulerPopFromBackoffQ", True),
        ("OpportunisticBatching", True),
        ("NodeDeclaredFeatures", True),
        ("DRAExtendedResource", True),
        ("MatchLabelKeysInPodTopologySpread", True),
        ("GangScheduling", False),
        ("GenericWorkload", False),
        ("StorageCapacityScoring", True),
        ("VolumeLimitScaling", True),
        ("DRADeviceTaintRules", True),
        ("InterPodAffinityHostnameFastPath", False),
        ("TopologyAwareWorkloadScheduling", False),
        ("WorkloadAwarePreemption", False),
        ("CoordinatedLeaderElection", False),
        ("AllAlpha", False),
    ],
)
def test_defaults(gate: str, enabled: bool) -> None:
    """The defaults of Kubernetes 1.37; of a removed gate, what it stood for."""
    assert FeatureGates().enabled(gate) is enabled


def test_unknown_name_is_a_mistake_of_the_caller() -> None:
    """A typo in code must not read as "off"."""
    with pytest.raises(KeyError):
        FeatureGates().enabled("DynamicResourceAlocation")


@pytest.mark.parametrize(
    ("text", "gate", "enabled"),
    [
        pytest.param("", "GenericWorkload", False, id="nothing set"),
        pytest.param("GenericWorkload=true", "GenericWorkload", True, id="turned on"),
        pytest.param("kube:GenericWorkload=T", "GenericWorkload", True, id="with the component, in a short spelling"),
        pytest.param(" GenericWorkload = 1 ,", "GenericWorkload", True, id="with spaces and a trailing comma"),
        pytest.param("GenericWorkload=true,GenericWorkload=false", "GenericWorkload", False, id="the last one wins"),
        pytest.param("DRAExtendedResource=true", "DRAExtendedResource", True, id="a locked gate set to its default"),
        pytest.param("AllAlpha=true,AllBeta=true", "CompositePodGroup", True, id="all alpha gates"),
        pytest.param(
            "AllAlpha=true,CompositePodGroup=false,PodGroupPreemptionPolicy=false,"
            "TopologyAwareWorkloadScheduling=false,WorkloadWithJob=false,"
            "DRAWorkloadResourceClaims=false",
            "GenericWorkload",
            False,
            id="all alpha gates leave beta ones alone",
        ),
        pytest.param("AllBeta=true", "CoordinatedLeaderElection", True, id="all beta gates"),
        pytest.param(
            "AllAlpha=true,AllBeta=true,CompositePodGroup=false", "CompositePodGroup", False, id="all but one"
        ),
        pytest.param("GenericWorkload=true", "GangScheduling", True, id="a gate that was folded into another"),
    ],
)
def test_parse(text: str, gate: str, enabled: bool) -> None:
    """The values of --feature-gates."""
    assert FeatureGates.parse(text).enabled(gate) is enabled


@pytest.mark.parametrize(
    ("text", "version", "problems"),
    [
        pytest.param(
            "Foo=true,Bar=false",
            "",
            ("unrecognized feature gate: Bar", "unrecognized feature gate: Foo"),
            id="unknown gates, all at once",
        ),
        pytest.param("Foo", "", ("missing bool value for Foo",), id="no value"),
        pytest.param(
            "GenericWorkload=yes",
            "",
            ('invalid value of GenericWorkload=yes, err: strconv.ParseBool: parsing "yes": invalid syntax',),
            id="no boolean",
        ),
        pytest.param(
            "DRAExtendedResource=false,DynamicResourceAllocation=false",
            "",
            (
                "cannot set feature gate DRAExtendedResource to false, feature is locked to true",
                "cannot set feature gate DynamicResourceAllocation to false, feature is locked to true",
            ),
            id="locked gates",
        ),
        pytest.param(
            "GangScheduling=true,DRAWorkloadResourceClaims=true",
            "1.36",
            (
                "DRAWorkloadResourceClaims is enabled, but depends on features that are disabled: [GenericWorkload]",
                "GangScheduling is enabled, but depends on features that are disabled: [GenericWorkload]",
            ),
            id="gates without those that they need",
        ),
        pytest.param(
            "TopologyAwareWorkloadScheduling=true",
            "1.34",
            (
                "cannot set feature gate TopologyAwareWorkloadScheduling to true, "
                "feature is PreAlpha at emulated version 1.34",
            ),
            id="a gate that did not exist yet",
        ),
        pytest.param("", "1.20", ("emulation version 1.20 is not between [1.34, 1.37.0]",), id="too old a version"),
        pytest.param(
            "GangScheduling=true,SidecarContainers=true",
            "",
            ("unrecognized feature gate: GangScheduling", "unrecognized feature gate: SidecarContainers"),
            id="gates that are gone",
        ),
        pytest.param("", "next", ('could not parse "next" as version',), id="no version"),
    ],
)
def test_refused(text: str, version: str, problems: tuple[str, ...]) -> None:
    """Refusals are worded as kube-scheduler's."""
    with pytest.raises(ConfigurationError) as caught:
        FeatureGates.parse(text, emulated_version=version)
    assert caught.value.problems == problems


def test_emulated_version() -> None:
    """An older version has its own defaults and fewer gates."""
    old = FeatureGates.parse("", emulated_version="kube=1.34")
    assert old.version == Version(1, 34)
    assert not old.enabled("StorageCapacityScoring")
    assert "AtomicFIFO" not in {name for name, _, _ in old}
    assert ("AtomicFIFO", "Beta", True) in set(FeatureGates())


@pytest.mark.parametrize("minor", range(OLDEST_EMULATED_VERSION.minor, CURRENT_VERSION.minor + 1))
def test_table_is_sound(minor: int) -> None:
    """Every entry reads at every version, and the defaults of every version meet the gates' dependencies."""
    version = Version(1, minor)
    gates = FeatureGates(version=version)
    assert {stage_at(gate, version).stage for gate in GATES} <= {
        "PreAlpha",
        "Alpha",
        "Beta",
        "GA",
        "Deprecated",
        "removed",
    }
    for gate, needed in DEPENDENCIES.items():
        assert (
            stage_at(gate, version).stage == "removed"
            or not gates.enabled(gate)
            or all(gates.enabled(name) for name in needed)
        )


def test_equality() -> None:
    """Gates are values: equal if every gate and the version are."""
    assert FeatureGates() == FeatureGates.parse("GenericWorkload=false")
    assert FeatureGates() != FeatureGates.parse("GenericWorkload=true")
    assert len({FeatureGates(), FeatureGates({"GenericWorkload": False})}) == 1


@pytest.mark.parametrize("behaviour", BEHAVIOURS, ids=[behaviour.name for behaviour in BEHAVIOURS])
def test_behaviours_begin_with_their_version(behaviour: Behaviour) -> None:
    """A version has the behaviours of all before it."""
    before = Version(behaviour.since.major, behaviour.since.minor - 1)
    assert FeatureGates().follows(behaviour)
    assert not FeatureGates(version=before).follows(behaviour)


def test_behaviours_have_names_of_their_own() -> None:
    """A report that names one means one."""
    assert len({behaviour.name for behaviour in BEHAVIOURS}) == len(BEHAVIOURS)


def test_one_line_may_be_altered() -> None:
    """Of two versions, any line may be taken from the other: a locked gate, or a behaviour."""
    old = FeatureGates(version=Version(1, 36))
    altered = old.altered({"StorageCapacityScoring": True}, [IMAGE_VOLUMES_COUNT])
    assert altered.enabled("StorageCapacityScoring")
    assert altered.follows(IMAGE_VOLUMES_COUNT)
    assert not altered.follows(POD_WIDE_RESIZE)
    assert altered != old
    assert altered.altered({"StorageCapacityScoring": False}, [IMAGE_VOLUMES_COUNT]) == old


def test_gates_that_are_not_followed() -> None:
    """They may be on, and say what is missing; in 1.36, all were followed as they were."""
    assert FeatureGates().not_followed() == []
    (missing,) = FeatureGates.parse("DRANodeAllocatableResources=true").not_followed()
    assert missing.startswith("DRANodeAllocatableResources: ")
    assert FeatureGates.parse("DRANodeAllocatableResources=true", emulated_version="1.36").not_followed() == []
