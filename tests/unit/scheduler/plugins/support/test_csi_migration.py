from __future__ import annotations

from typing import Any

import pytest

from kubesched.errors import InvalidObjectError
from kubesched.objects import PersistentVolume, convert, to_builtins
from kubesched.objects.volume import Volume
from kubesched.scheduler.plugins.support.storage.csi_migration import (
    in_tree_plugin,
    inline_handle,
    translated,
    volume_handle,
)
from kubesched.testing import make_pv

ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
REGION, BETA_REGION = "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"
EBS_ZONE = "topology.ebs.csi.aws.com/zone"


def ebs(**volume: Any) -> PersistentVolume:
    return make_pv(spec={"awsElasticBlockStore": {"volumeID": "vol-1"}}, **volume)


def gce(zones: str = "", **spec: Any) -> PersistentVolume:
    labels = {ZONE: zones} if zones else {}
    return make_pv(labels=labels, spec={"gcePersistentDisk": {"pdName": "d"}, **spec})


def terms(*requirements: tuple[str, str]) -> dict[str, Any]:
    expressions = [{"key": key, "operator": "In", "values": [value]} for key, value in requirements]
    return {"nodeSelectorTerms": [{"matchExpressions": expressions}]}


@pytest.mark.parametrize(
    ("volume", "handle"),
    [
        pytest.param(ebs(), "vol-1", id="EBS"),
        pytest.param(
            make_pv(spec={"awsElasticBlockStore": {"volumeID": "aws://us-east-1a/vol-2"}}), "vol-2", id="EBS with zone"
        ),
        pytest.param(gce("us-east1-a"), "projects/UNSPECIFIED/zones/us-east1-a/disks/d", id="GCE in a zone"),
        pytest.param(
            gce("us-east1-a__us-east1-b"), "projects/UNSPECIFIED/regions/us-east1/disks/d", id="GCE in two zones"
        ),
        pytest.param(gce(), "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d", id="GCE somewhere"),
        pytest.param(make_pv(spec={"cinder": {"volumeID": "c"}}), "c", id="Cinder"),
        pytest.param(make_pv(spec={"azureDisk": {"diskURI": "u", "kind": "Managed"}}), "u", id="Azure"),
        pytest.param(make_pv(spec={"portworxVolume": {"volumeID": "x"}}), "x", id="Portworx"),
    ],
)
def test_handles(volume: PersistentVolume, handle: str) -> None:
    """A migrated volume has the handle that its CSI driver knows it by."""
    assert volume_handle(volume) == handle


@pytest.mark.parametrize(
    ("volume", "problem"),
    [
        pytest.param(
            make_pv(spec={"awsElasticBlockStore": {"volumeID": "aws:///x"}}), "Invalid format", id="an EBS id"
        ),
        pytest.param(make_pv(spec={"azureDisk": {"diskURI": "u", "kind": "Dedicated"}}), "kind", id="an Azure kind"),
        pytest.param(gce("us-east1-a__nowhere"), "unexpected format", id="a GCE zone"),
        pytest.param(gce("us-east1-a__us-west1-b"), "multiple or no regions", id="GCE zones of two regions"),
    ],
)
def test_volumes_without_a_handle(volume: PersistentVolume, problem: str) -> None:
    """What the translation library refuses is an error here, too."""
    with pytest.raises(InvalidObjectError, match=problem):
        volume_handle(volume)


def test_inline_disks_have_no_zone() -> None:
    """A disk that is written into a pod does not say where it is."""
    volume = convert({"name": "v", "gcePersistentDisk": {"pdName": "d"}}, Volume)
    assert inline_handle(volume) == "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        pytest.param(ebs(node_affinity=terms((ZONE, "a"))), terms((EBS_ZONE, "a")), id="the zone's key is replaced"),
        pytest.param(
            ebs(node_affinity=terms((BETA_ZONE, "a"), (BETA_REGION, "r"))),
            terms((EBS_ZONE, "a"), (REGION, "r")),
            id="an old region's key, too",
        ),
        pytest.param(
            ebs(node_affinity=terms((ZONE, "a"), (BETA_REGION, "r"))),
            terms((EBS_ZONE, "a"), (BETA_REGION, "r")),
            id="but not beside a new zone's",
        ),
        pytest.param(ebs(labels={ZONE: "a"}), terms((EBS_ZONE, "a")), id="a zone in the labels is added"),
        pytest.param(
            ebs(labels={BETA_ZONE: "a"}, node_affinity=terms(("x", "y"))),
            terms(("x", "y"), (EBS_ZONE, "a")),
            id="to what is there",
        ),
        pytest.param(ebs(node_affinity=terms(("x", "y"))), terms(("x", "y")), id="no zone at all"),
        pytest.param(ebs(), None, id="nothing at all"),
    ],
)
def test_topology(volume: PersistentVolume, expected: dict[str, Any] | None) -> None:
    """Node affinity speaks of the driver's zones after the migration."""
    plugin = in_tree_plugin(volume.spec)
    assert plugin is not None
    affinity = translated(volume, plugin).spec.node_affinity
    assert (to_builtins(affinity.required) if affinity else None) == expected
