from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched.config import FeatureGates
from kubesched.config.versions import Version
from kubesched.scheduler.framework import CycleState
from kubesched.scheduler.plugins.image_locality import ImageLocality
from kubesched.testing import make_node, make_pod
from kubesched.testing.handle import FakeHandle, ask

MB = 1 << 20


@pytest.mark.parametrize(
    ("image", "reported", "score"),
    [
        pytest.param("app:1", {"app:1": 523 * MB}, 51, id="a present image counts by its size"),
        pytest.param("app:1", {"app:2": 523 * MB}, 0, id="another tag is another image"),
        pytest.param("app", {"app:latest": 523 * MB}, 51, id="no tag means latest"),
        pytest.param("reg:5000/app", {"reg:5000/app:latest": 523 * MB}, 51, id="a registry's port is no tag"),
        pytest.param("app:1", {"app:1": 20 * MB}, 0, id="a small image counts for nothing"),
        pytest.param("app:1", {"app:1": 5000 * MB}, 100, id="a huge image counts for no more than the most"),
        pytest.param("app:1", {"app:1": (1 << 63) - 1}, 0, id="a size that overflows counts for nothing"),
    ],
)
def test_score_on_the_only_node(image: str, reported: dict[str, int], score: int) -> None:
    """Where every node has the image it counts in full."""
    handle = FakeHandle().load(make_node("n", images=reported))
    assert ask(ImageLocality(None, handle), make_pod(image=image), handle.cluster).scores == {"n": score}


def test_a_rare_image_counts_for_less() -> None:
    """Its size is scaled by the share of nodes that have it."""
    handle = FakeHandle().load(make_node("a", images={"app:1": 1000 * MB}), make_node("b"))
    plugin = ImageLocality(None, handle)
    assert ask(plugin, make_pod(image="app:1"), handle.cluster).scores == {"a": 48, "b": 0}
    template = handle.cluster.templates.info(make_pod(image="app:1")).template
    before = plugin.external_version(template)
    handle.load(make_node("c"))
    assert plugin.external_version(template) != before


@pytest.mark.parametrize(("version", "most"), [("1.36", 2000), ("1.37", 3000)])
def test_init_containers_and_image_volumes_count(version: str, most: int) -> None:
    """All present images are summed. ImageVolumesCount: until v1.36 volumes did not raise what counts as most."""
    handle = FakeHandle(gates=FeatureGates(version=Version.parse(version))).load(
        make_node("n", images={"app:1": 100 * MB, "init:1": 200 * MB, "data:1": 400 * MB})
    )
    pod = make_pod(
        image="app:1",
        init_containers=[{"name": "i", "image": "init:1"}],
        volumes=[{"name": "v", "image": {"reference": "data:1"}}],
    )
    assert ask(ImageLocality(None, handle), pod, handle.cluster).scores == {"n": 100 * (700 - 23) // (most - 23)}


def test_the_first_reported_size_is_used() -> None:
    """Nodes may disagree on an image's size."""
    handle = FakeHandle().load(make_node("a", images={"app:1": 523 * MB}), make_node("b", images={"app:1": 900 * MB}))
    assert ask(ImageLocality(None, handle), make_pod(image="app:1"), handle.cluster).scores == {"a": 51, "b": 51}


IMAGES = ["app:1", "web:1", "db:latest"]


@settings(max_examples=60)
@given(
    nodes=st.lists(st.sets(st.sampled_from(IMAGES)), min_size=1, max_size=6),
    sizes=st.tuples(*[st.integers(0, 3000)] * 3),
    wanted=st.lists(st.sampled_from([*IMAGES, "db", "other"]), min_size=1, max_size=4),
)
def test_agrees_with_the_plain_rule(
    nodes: list[set[str]], sizes: tuple[int, ...], wanted: list[str], worlds: Any
) -> None:
    """Over any view, the score is what the rule says about each node."""
    size = {image: amount * MB for image, amount in zip(IMAGES, sizes, strict=True)}
    handle = FakeHandle()
    handle.load(*(make_node(f"n{k}", images={image: size[image] for image in has}) for k, has in enumerate(nodes)))
    pod = make_pod(containers=[{"name": f"c{k}", "image": image} for k, image in enumerate(wanted)])
    plugin, info = ImageLocality(None, handle), handle.cluster.templates.info(pod)
    normal = ["db:latest" if image == "db" else image for image in wanted]
    for view, infos in worlds(handle.cluster, pod):
        scores = plugin.score_nodes(CycleState(info), info.template, view)
        for position, node in infos:
            total = sum(
                int(size[image] * (sum(image in has for has in nodes) / len(nodes)))
                for image in normal
                if image in node.image_sizes
            )
            most = 1000 * MB * len(wanted)
            assert scores[position] == 100 * (min(max(total, 23 * MB), most) - 23 * MB) // (most - 23 * MB)
