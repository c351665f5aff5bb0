"""Label columns: the value of one label key on every node, as small numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import count
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from stowplan.api.selectors import GT, LT, SelectorRequirement, parse_int64
from stowplan.framework import NodeInfo

ABSENT = -1
_UNKNOWN = -2
_MAX_KEPT = 256
_MAX_DIFFERING_VALUES = 3
_SMALLEST_INTEGER, _LARGEST_INTEGER = -(2**63), 2**63 - 1
_NO_INTEGER = {GT: _SMALLEST_INTEGER, LT: _LARGEST_INTEGER}
"""By operator, the integer that satisfies no bound: it stands for labels that are absent or no integer."""

Bools = NDArray[np.bool_]

_versions = count(1)


@lru_cache(maxsize=8)
def _absent_everywhere(size: int) -> tuple[NDArray[np.intp], list[int]]:
    """The array and the list of a key that no node has, shared by all such columns; never written to."""
    array = np.full(size, ABSENT, dtype=np.intp)
    array.flags.writeable = False
    return array, [ABSENT] * size


class LabelColumn:
    """Value ids of one label key by slot; -1 where the node has no such label.

    For a topology key the ids are the domains. `version` changes whenever any node's value does, so that
    sums by domain know when to be made anew. `sizes` counts the nodes of each domain.
    """

    __slots__ = (
        "__weakref__",
        "_free_ids",
        "_ids",
        "_integers",
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
        self.array, self.values = _absent_everywhere(size)
        self.texts: list[str] = []
        """The value of each id; empty for an id that is free."""
        self.sizes: list[int] = []
        self.present = 0
        """How many nodes have the label."""
        self.occupied = 0
        """How many values occur."""
        self.version = next(_versions)
        """Differs from the versions of all other columns, also of an earlier column of the same key."""
        self._ids: dict[str, int] = {}
        self._free_ids: list[int] = []
        """Ids of values that no node has any more; later values take them."""
        self._masks: dict[bytes, Bools] = {}
        self._latest: tuple[bytes, Bools] | None = None
        """The latest choice of `where`, and its mask."""
        self._members: dict[int, NDArray[np.intp]] = {}
        self._integers: dict[str, NDArray[np.int64]] = {}
        """By operator, the label of each slot as an integer; from the first requirement with the operator on."""

    @property
    def unique(self) -> bool:
        """Whether no two nodes share a value, as is usual for the hostname."""
        return self.present == self.occupied

    def grow(self, size: int) -> None:
        if self.present:
            more = size - len(self.values)
            self.array = np.concatenate([self.array, np.full(more, ABSENT, dtype=np.intp)])
            self.values.extend([ABSENT] * more)
        else:
            self.array, self.values = _absent_everywhere(size)
        self._integers.clear()
        self._forget_masks()

    def put(self, slot: int, labels: Mapping[str, str]) -> None:
        text = labels.get(self.key)
        old = self.values[slot]
        if text is None and old == ABSENT:
            return
        value = ABSENT if text is None else self._id_of(text)
        if value != old:
            if not self.present:
                self.array, self.values = self.array.copy(), self.values.copy()
            self._enter(value)
            self._leave(old)
            if self.present:
                self.values[slot] = value
                self.array[slot] = value
                for operator, integers in self._integers.items():
                    integers[slot] = _integer(text, operator)
            else:
                self.array, self.values = _absent_everywhere(len(self.values))
                self._integers.clear()
            self.version = next(_versions)
            self._forget_masks()

    def find(self, text: str) -> int:
        """The id of a value, or -2 where no node has it."""
        return self._ids.get(text, _UNKNOWN)

    def matching(self, requirement: SelectorRequirement, index: slice | NDArray[np.intp]) -> Bools:
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
            mask = self._compared(operator, parse_int64(values[0]), index)
        return mask

    def _compared(self, operator: str, bound: int | None, index: slice | NDArray[np.intp]) -> Bools:
        """Which nodes have an integer above (Gt) or below (Lt) the bound."""
        integers = self._integers.get(operator)
        if integers is None:
            by_value = [_integer(text, operator) for text in (*self.texts, None)]
            integers = self._integers[operator] = np.array(by_value, dtype=np.int64)[self.array]
        if operator == GT:
            return integers[index] > (_LARGEST_INTEGER if bound is None else bound)
        return integers[index] < (_SMALLEST_INTEGER if bound is None else bound)

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
            if self._free_ids:
                value = self._free_ids.pop()
                self.texts[value] = text
            else:
                value = len(self.texts)
                self.texts.append(text)
                self.sizes.append(0)
            self._ids[text] = value
        return value

    def _leave(self, value: int) -> None:
        if value != ABSENT:
            self.sizes[value] -= 1
            self.present -= 1
            if not self.sizes[value]:
                self.occupied -= 1
                del self._ids[self.texts[value]]
                self.texts[value] = ""
                self._free_ids.append(value)

    def _enter(self, value: int) -> None:
        if value != ABSENT:
            self.occupied += self.sizes[value] == 0
            self.sizes[value] += 1
            self.present += 1


def _integer(text: str | None, operator: str) -> int:
    """A label as the integer that bounds of the operator are compared with."""
    integer = None if text is None else parse_int64(text)
    return _NO_INTEGER[operator] if integer is None else integer


class LabelColumns:
    """The label columns of a node table, by key.

    A column exists for a key that some node has, from the time on when a selector reads the key, until the last such
    node is gone. A key that no node has gets a column without storage of its own, for as long as a caller keeps it.
    """

    __slots__ = ("_held", "_live", "_nodes_with_key")

    def __init__(self) -> None:
        self._nodes_with_key: dict[str, int] = {}
        self._live: dict[str, LabelColumn] = {}
        """The columns of keys that nodes have."""
        self._held: WeakValueDictionary[str, LabelColumn] = WeakValueDictionary()
        """All columns."""

    def __len__(self) -> int:
        return len(self._live)

    def __contains__(self, key: str) -> bool:
        """Whether some node has the label."""
        return key in self._nodes_with_key

    def keys(self) -> Iterable[str]:
        """The keys that nodes have."""
        return self._nodes_with_key.keys()

    def get(self, key: str, size: int, nodes: Iterable[NodeInfo]) -> LabelColumn:
        """The column of a key; a new one gets the labels of the nodes."""
        column = self._live.get(key)
        if column is None:
            column = self._held.get(key)
        if column is None:
            column = self._held[key] = LabelColumn(key, size)
            if key in self._nodes_with_key:
                self._live[key] = column
                for info in nodes:
                    column.put(info.slot, info.labels)
        return column

    def replace(self, slot: int, old: Mapping[str, str], new: Mapping[str, str]) -> None:
        """The node at the slot had the old labels and now has the new ones."""
        if old == new:
            return
        for key in old.keys() | new.keys():
            left = self._nodes_with_key.get(key, 0) + (key in new) - (key in old)
            if left:
                self._nodes_with_key[key] = left
            else:
                del self._nodes_with_key[key]
            column = self._live.get(key) or self._held.get(key)
            if column is not None:
                column.put(slot, new)
                if left:
                    self._live[key] = column
                else:
                    self._live.pop(key, None)

    def grow(self, size: int) -> None:
        for column in self._held.values():
            column.grow(size)
