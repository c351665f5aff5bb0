"""Label columns: the value of one label key on every node, as small numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from stowplan.api.selectors import Requirement, requirements_match

ABSENT = -1
_UNKNOWN = -2
_MAX_KEPT = 256
_MAX_DIFFERING_VALUES = 3

Bools = NDArray[np.bool_]


class LabelColumn:
    """Value ids of one label key by slot; -1 where the node has no such label.

    For a topology key the ids are the domains. `version` changes whenever any node's value does, so that
    sums by domain know when to be made anew. `sizes` counts the nodes of each domain.
    """

    __slots__ = (
        "_ids",
        "_latest",
        "_masks",
        "_members",
        "array",
        "key",
        "occupied",
        "present",
        "sizes",
        "texts",
        "values",
        "version",
    )

    def __init__(self, key: str, size: int) -> None:
        self.key = key
        self.array: NDArray[np.intp] = np.full(size, ABSENT, dtype=np.intp)
        self.values: list[int] = [ABSENT] * size
        self.texts: list[str] = []
        self.sizes: list[int] = []
        self.present = 0
        """How many nodes have the label."""
        self.occupied = 0
        """How many values occur."""
        self.version = 0
        self._ids: dict[str, int] = {}
        self._masks: dict[bytes, Bools] = {}
        self._latest: tuple[bytes, Bools] | None = None
        """The latest choice of `where`, and its mask."""
        self._members: dict[int, NDArray[np.intp]] = {}

    @property
    def unique(self) -> bool:
        """Whether no two nodes share a value, as is usual for the hostname."""
        return self.present == self.occupied

    def grow(self, size: int) -> None:
        more = size - len(self.values)
        self.array = np.concatenate([self.array, np.full(more, ABSENT, dtype=np.intp)])
        self.values.extend([ABSENT] * more)
        self._forget_masks()

    def put(self, slot: int, labels: Mapping[str, str]) -> None:
        text = labels.get(self.key)
        value = ABSENT if text is None else self._id_of(text)
        old = self.values[slot]
        if value != old:
            self._leave(old)
            self._enter(value)
            self.values[slot] = value
            self.array[slot] = value
            self.version += 1
            self._forget_masks()

    def find(self, text: str) -> int:
        """The id of a value, or -2 where no node ever had it."""
        return self._ids.get(text, _UNKNOWN)

    def matching(self, requirement: Requirement, index: slice | NDArray[np.intp]) -> Bools:
        """Which nodes satisfy a requirement on this key. The answer must not be written to."""
        ids = self.array[index]
        operator, values = requirement.operator, requirement.values
        mask: Bools
        if operator == "Exists":
            mask = ids != ABSENT
        elif operator == "DoesNotExist":
            mask = ids == ABSENT
        elif operator == "In" and len(values) == 1:
            mask = ids == self.find(values[0])
        elif operator == "NotIn" and len(values) == 1:
            mask = ids != self.find(values[0])
        elif operator in ("In", "NotIn"):
            # One entry for each known value and, last, reached by id -1, one for "absent".
            table = np.full(len(self.texts) + 1, operator == "NotIn")
            for text in values:
                if text in self._ids:
                    table[self._ids[text]] = operator == "In"
            mask = self.where(table, index)
        else:
            compared = [requirements_match((requirement,), {self.key: text}) for text in self.texts]
            mask = np.array([*compared, False])[ids]
        return mask

    def where(self, chosen: Bools, index: slice | NDArray[np.intp]) -> Bools:
        """The nodes whose value is chosen: `chosen` has an entry for each value and, last, one for absence.

        The same few choices come back again and again, so they are kept: the answer must not be written to.
        """
        if len(chosen) > _MAX_KEPT:
            return chosen[self.array[index]]
        key = chosen.tobytes()
        mask = self._masks.get(key)
        if mask is None:
            if len(self._masks) >= _MAX_KEPT:
                self._masks.clear()
            mask = self._masks[key] = self._mask_of(chosen)
            mask.flags.writeable = False
        self._latest = (key, mask)
        return mask[index]

    def _mask_of(self, chosen: Bools) -> Bools:
        """The nodes whose value is chosen. Most choices differ little from the one before."""
        if self._latest is not None and len(self._latest[0]) == len(chosen):
            before, mask = self._latest
            differing = (np.frombuffer(before, dtype=np.bool_) != chosen).nonzero()[0].tolist()
            if len(differing) <= _MAX_DIFFERING_VALUES:
                mask = mask.copy()
                for value in differing:
                    mask[self._nodes_with(value)] = chosen[value]
                return mask
        return chosen[self.array]

    def _nodes_with(self, value: int) -> NDArray[np.intp]:
        """The slots of a value; one past the last value stands for absence."""
        members = self._members.get(value)
        if members is None:
            wanted = ABSENT if value == len(self.texts) else value
            members = self._members[value] = (self.array == wanted).nonzero()[0]
        return members

    def _forget_masks(self) -> None:
        self._masks.clear()
        self._members.clear()
        self._latest = None

    def _id_of(self, text: str) -> int:
        value = self._ids.get(text)
        if value is None:
            value = self._ids[text] = len(self.texts)
            self.texts.append(text)
            self.sizes.append(0)
        return value

    def _leave(self, value: int) -> None:
        if value != ABSENT:
            self.sizes[value] -= 1
            self.present -= 1
            self.occupied -= self.sizes[value] == 0

    def _enter(self, value: int) -> None:
        if value != ABSENT:
            self.occupied += self.sizes[value] == 0
            self.sizes[value] += 1
            self.present += 1
