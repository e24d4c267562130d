"""Feature gates: defaults of 1.36, flags, emulation."""

from __future__ import annotations

import pytest

from kubesched.config.feature_gates import (
    CURRENT_VERSION,
    OLDEST_EMULATED_VERSION,
    FeatureGates,
    Version,
    stage_at,
)
from kubesched.config.gate_table import DEPENDENCIES, GATES
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
        ("StorageCapacityScoring", False),
        ("TopologyAwareWorkloadScheduling", False),
        ("WorkloadAwarePreemption", False),
        ("CoordinatedLeaderElection", False),
        ("AllAlpha", False),
    ],
)
def test_defaults(gate: str, enabled: bool) -> None:
    """The defaults of Kubernetes 1.36."""
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
        pytest.param("SidecarContainers=true", "SidecarContainers", True, id="a locked gate set to its default"),
        pytest.param("AllAlpha=true", "GangScheduling", True, id="all alpha gates"),
        pytest.param("AllAlpha=true", "ClusterTrustBundle", False, id="all alpha gates leave beta ones alone"),
        pytest.param("AllBeta=true", "CoordinatedLeaderElection", True, id="all beta gates"),
        pytest.param("AllAlpha=true,WorkloadAwarePreemption=false", "WorkloadAwarePreemption", False, id="all but one"),
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
            "SidecarContainers=false,DynamicResourceAllocation=false",
            "",
            (
                "cannot set feature gate DynamicResourceAllocation to false, feature is locked to true",
                "cannot set feature gate SidecarContainers to false, feature is locked to true",
            ),
            id="locked gates",
        ),
        pytest.param(
            "GangScheduling=true,DRAWorkloadResourceClaims=true",
            "",
            (
                "DRAWorkloadResourceClaims is enabled, but depends on features that are disabled: [GenericWorkload]",
                "GangScheduling is enabled, but depends on features that are disabled: [GenericWorkload]",
            ),
            id="gates without those that they need",
        ),
        pytest.param(
            "TopologyAwareWorkloadScheduling=true",
            "1.33",
            (
                "cannot set feature gate TopologyAwareWorkloadScheduling to true, "
                "feature is PreAlpha at emulated version 1.33",
            ),
            id="a gate that did not exist yet",
        ),
        pytest.param("", "1.20", ("emulation version 1.20 is not between [1.33, 1.36.0]",), id="too old a version"),
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
    old = FeatureGates.parse("", emulated_version="kube=1.33")
    assert old.version == Version(1, 33)
    assert not old.enabled("DynamicResourceAllocation")
    assert "AtomicFIFO" not in {name for name, _, _ in old}
    assert ("AtomicFIFO", "Beta", True) in set(FeatureGates())


@pytest.mark.parametrize("minor", range(OLDEST_EMULATED_VERSION.minor, CURRENT_VERSION.minor + 1))
def test_table_is_sound(minor: int) -> None:
    """Every entry reads at every version, and the defaults of every version meet the gates' dependencies."""
    version = Version(1, minor)
    gates = FeatureGates(version=version)
    assert {stage_at(gate, version).stage for gate in GATES} <= {"PreAlpha", "Alpha", "Beta", "GA", "Deprecated"}
    for gate, needed in DEPENDENCIES.items():
        assert not gates.enabled(gate) or all(gates.enabled(name) for name in needed)


def test_equality() -> None:
    """Gates are values: equal if every gate and the version are."""
    assert FeatureGates() == FeatureGates.parse("GenericWorkload=false")
    assert FeatureGates() != FeatureGates.parse("GenericWorkload=true")
    assert len({FeatureGates(), FeatureGates({"GenericWorkload": False})}) == 1
