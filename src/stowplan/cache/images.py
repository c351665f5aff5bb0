"""Which nodes hold which container images, cluster-wide.

Upstream: pkg/scheduler/backend/cache/cache.go (addNodeImageStates)
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from stowplan.api import ContainerImage


class ImageState:
    """One image name: the size first reported for it, and the slots that hold it.

    The slots are sorted 32-bit numbers. A set would take ten times as much: 17 MiB for 5,000 nodes with twenty images.
    """

    __slots__ = ("_array", "_slots", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self._slots: array[int] = array("i")
        self._array: NDArray[np.intp] | None = None

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, slot: int) -> bool:
        at = bisect_left(self._slots, slot)
        return at < len(self._slots) and self._slots[at] == slot

    def add(self, slot: int) -> None:
        slots = self._slots
        if not slots or slots[-1] < slot:  # Nodes usually come in the order of their slots.
            slots.append(slot)
        elif slot not in self:
            insort(slots, slot)
        self._array = None

    def discard(self, slot: int) -> None:
        if slot in self:
            del self._slots[bisect_left(self._slots, slot)]
            self._array = None

    def slot_array(self) -> NDArray[np.intp]:
        if self._array is None:
            self._array = np.array(self._slots, dtype=np.intp)
        return self._array


class ImageTable:
    """Image states by name. `version` changes with any node's images."""

    __slots__ = ("_by_name", "version")

    def __init__(self) -> None:
        self._by_name: dict[str, ImageState] = {}
        self.version = 0

    def __len__(self) -> int:
        return len(self._by_name)

    def get(self, name: str) -> ImageState | None:
        return self._by_name.get(name)

    def replace(self, slot: int, old: Iterable[ContainerImage], new: Iterable[ContainerImage]) -> None:
        """The node at the slot held the old images and now holds the new ones."""
        if old is new:
            return
        self.version += 1
        for image in old:
            for name in image.names:
                self._drop(name, slot)
        for image in new:
            for name in image.names:
                state = self._by_name.get(name)
                if state is None:
                    state = self._by_name[name] = ImageState(image.size_bytes)
                state.add(slot)

    def _drop(self, name: str, slot: int) -> None:
        state = self._by_name.get(name)
        if state is not None:
            state.discard(slot)
            if not len(state):
                del self._by_name[name]
