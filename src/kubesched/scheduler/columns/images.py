"""Which nodes have which container image, and how large it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from kubesched.objects.node import ContainerImage


@dataclass(slots=True)
class ImageState:
    """The size is the one that the first node with the image reported (as kube-scheduler's cache keeps it)."""

    size: int
    rows: set[int] = field(default_factory=set)
    _array: npt.NDArray[np.intp] | None = None

    def row_array(self) -> npt.NDArray[np.intp]:
        if self._array is None:
            self._array = np.fromiter(self.rows, dtype=np.intp, count=len(self.rows))
        return self._array

    def add(self, row: int) -> None:
        self.rows.add(row)
        self._array = None

    def discard(self, row: int) -> None:
        self.rows.discard(row)
        self._array = None


class ImageIndex:
    """Image name to its state. `version` changes with any change: image scores depend on the whole cluster."""

    def __init__(self) -> None:
        self.states: dict[str, ImageState] = {}
        self.version = 0

    def replace(self, row: int, old: tuple[ContainerImage, ...], new: tuple[ContainerImage, ...]) -> None:
        if old == new:
            return
        self.version += 1
        for name in _names(old):
            if (state := self.states.get(name)) is not None:
                state.discard(row)
                if not state.rows:
                    del self.states[name]
        for image in new:
            for name in image.names:
                state = self.states.get(name)
                if state is None:
                    state = self.states[name] = ImageState(size=image.size_bytes)
                state.add(row)


def _names(images: Iterable[ContainerImage]) -> set[str]:
    return {name for image in images for name in image.names}
