"""Manifests from files, and the demos' own."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from kubesched.cluster.manifests import create_all, delay_of, read_manifests
from kubesched.errors import ConfigurationError

DEMOS = sorted(Path(str(resources.files("kubesched.cluster.demos"))).glob("*.yaml"))


def test_a_folder_is_read_in_the_order_of_its_files(tmp_path: Path) -> None:
    """YAML and JSON files, several documents and lists; other files are left alone."""
    (tmp_path / "b.json").write_text('{"kind": "List", "apiVersion": "v1", "items": [{"kind": "B"}]}')
    (tmp_path / "a.yaml").write_text("kind: A1\n---\nkind: A2\n")
    (tmp_path / "notes.txt").write_text("nothing")
    assert [item["kind"] for _, item in read_manifests(tmp_path)] == ["A1", "A2", "B"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param("kind: [", "not valid YAML", id="no YAML"),
        pytest.param(None, "cannot read", id="no file"),
        pytest.param(b"\xff\xfe", "not a text file", id="no text"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_problem_in_one_line(
    tmp_path: Path, content: str | bytes | None, expected: str
) -> None:
    """The line names the file."""
    path = tmp_path / "bad.yaml"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ConfigurationError, match=expected) as caught:
        read_manifests(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_every_bad_object_is_named(rig: Any) -> None:
    """Good ones are created, those that exist are left, and the rest is told."""
    manifests = [
        ("first", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "good"}}),
        ("second", {"apiVersion": "v9", "kind": "Pot"}),
        ("third", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}),
        ("fourth", "nothing"),
        ("fifth", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "good"}}),
    ]
    with pytest.raises(ConfigurationError) as caught:
        create_all(rig.api, manifests)  # type: ignore[arg-type]  # YAML can hold anything
    assert [problem.partition(":")[0] for problem in caught.value.problems] == ["second", "third", "fourth"]
    assert "good" in rig.names("configmaps")


async def test_objects_of_another_cluster(rig: Any) -> None:
    """What its server had set (`kubectl get nodes -o yaml`) is set anew."""
    metadata = {"name": "theirs", "uid": "1", "resourceVersion": "7", "creationTimestamp": "2020-01-01T00:00:00Z"}
    capacity = {"capacity": {"cpu": "64", "memory": "8Gi", "pods": "20"}}
    create_all(rig.api, [("f", {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": capacity})])
    (node,) = [node for node in rig.items("nodes") if node["metadata"]["name"] == "theirs"]
    assert node["status"]["capacity"]["cpu"] == "64"
    assert node["metadata"]["uid"] != "1"
    assert node["metadata"]["creationTimestamp"] > "2020"


@pytest.mark.parametrize("path", DEMOS, ids=lambda path: path.stem)
def test_a_demo_explains_itself(path: Path) -> None:
    """Its comment in front is what `kubesched up` shows."""
    assert path.read_text().startswith("# ")


@pytest.mark.parametrize("path", DEMOS, ids=lambda path: path.stem)
async def test_a_demo_fits(rig: Any, path: Path) -> None:
    """No refusals, pods that run, and nothing later than half a minute."""
    manifests = read_manifests(path)
    assert all(delay_of(manifest) <= 30 for _, manifest in manifests)
    create_all(rig.api, manifests)
    await rig.advance(3)
    assert any(pod["status"]["phase"] == "Running" for pod in rig.items("pods"))


def test_a_delay_that_is_no_number_is_a_problem() -> None:
    """Said when the manifests are read, not later."""
    manifest = {"metadata": {"annotations": {"kubesched.io/create-after-seconds": "soon"}}}
    with pytest.raises(ConfigurationError, match="is not a number of seconds"):
        delay_of(manifest)
