"""ImageLocality: prefer nodes that already have the pod's images, the larger the better."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Final

import numpy as np

from kubesched.config.behaviours import IMAGE_VOLUMES_COUNT
from kubesched.scheduler.columns import Integers, NodeView, PodTemplate
from kubesched.scheduler.columns.images import ImageState
from kubesched.scheduler.framework import MAX_SCORE, CycleState, DependsOn, Handle, ScorePlugin
from kubesched.scheduler.plugins.support.per_template import PerTemplate

NAME: Final = "ImageLocality"

_MEBIBYTE: Final = 1 << 20
_LEAST: Final = 23 * _MEBIBYTE
_MOST_PER_IMAGE: Final = 1000 * _MEBIBYTE
"""Less than the one counts as nothing, more than the other as no more: where most images of registries lie between."""


class ImageLocality(ScorePlugin):
    """Scores by the size of the images that need no pulling, each scaled down by how few nodes have it.

    The scaling keeps pods from following an image to the only node that has it.
    """

    name = NAME
    depends_on = DependsOn.NODE

    def __init__(self, args: None, handle: Handle) -> None:
        self._nodes = handle.cluster.nodes
        self._counts_volumes = handle.gates.follows(IMAGE_VOLUMES_COUNT)
        self._images = PerTemplate(lambda pod: tuple(_images_of(pod)))

    def signature(self, pod: PodTemplate) -> Hashable:
        return (self._images.of(pod), self._image_count(pod))

    def external_version(self, pod: PodTemplate) -> Hashable:
        return (self._nodes.images.version, self._nodes.node_count)

    def score_nodes(self, state: CycleState, pod: PodTemplate, nodes: NodeView) -> Integers:
        known = nodes.table.images.states
        present = np.zeros(len(nodes.table), dtype=np.int64)  # bytes, by row of the table
        for image in self._images.of(pod):
            if (found := known.get(image)) is not None:
                present[found.row_array()] += _scaled_size(found, nodes.table.node_count)
        most = _MOST_PER_IMAGE * self._image_count(pod)
        counted = np.minimum(np.maximum(present[nodes.rows], _LEAST), most)
        scores: Integers = (counted - _LEAST) * MAX_SCORE // (most - _LEAST)
        return scores

    def _image_count(self, pod: PodTemplate) -> int:
        """How many images the most is asked of: those of volumes used to add to the sum, but not to the most."""
        volumes = sum(volume.image is not None for volume in pod.spec.volumes) if self._counts_volumes else 0
        return len(pod.spec.containers) + len(pod.spec.init_containers) + volumes


def _images_of(pod: PodTemplate) -> Iterator[str]:
    """With repeats: an image that two containers use counts twice."""
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        yield _with_tag(container.image)
    for volume in pod.spec.volumes:
        if volume.image is not None:
            yield _with_tag(volume.image.reference)


def _with_tag(image: str) -> str:
    """As nodes report it: a name without a tag means `latest` (a colon before the last slash is a registry's port)."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


def _scaled_size(image: ImageState, node_count: int) -> int:
    scaled = int(float(image.size) * (len(image.rows) / node_count))
    # What Go makes of a number too large for int64, on amd64.
    return scaled if scaled < 1 << 63 else -(1 << 63)
