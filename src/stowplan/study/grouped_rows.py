"""Rows of pods or jobs after the warm-up, in groups: all of them, and those of each workload, tenant and priority."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stowplan.study.table import ResultTable

GROUPS = ("workload", "tenant", "priority")
Floats = NDArray[np.float64]
Where = Mapping[str, object] | None


class _RowGroup(NamedTuple):
    """A group; `members` tells of each class of rows whether it belongs to the group, None stands for all rows."""

    key: str
    members: NDArray[np.bool_] | None


class GroupedRows:
    """The groups of a table's rows. In memory are 4 bytes a row, and the columns that the caller holds."""

    def __init__(self, table: ResultTable, begin: float, where: Where = None) -> None:
        """Rows are those submitted from `begin` on. With `where`, the only group are the rows with these values."""
        self._table = table
        self._begin = begin
        self._classes: dict[tuple[Any, ...], int] = {}
        """Numbers of the classes: the different values of workload, tenant and priority."""
        self._outcomes: Counter[tuple[int, str]] = Counter()
        self._class_of = np.empty(len(table), dtype=np.int32)
        self._class_of = self._class_of[: self._classify()]
        self._groups = list(self._all_groups()) if where is None else [_RowGroup("", self._having(where))]
        self.keys = [group.key for group in self._groups]
        """Empty for all rows, else `workload=batch` and the like."""

    def _classify(self) -> int:
        """Set the class of each row; returns the number of rows."""
        count, classes = 0, self._classes
        for submitted, *values, outcomes in self._table.blocks(("submitted", *GROUPS, "outcome")):
            chosen = [classes.setdefault(each, len(classes)) for each in zip(*values, strict=True)]
            if min(submitted) < self._begin:
                kept = [time >= self._begin for time in submitted]
                chosen = [each for each, keep in zip(chosen, kept, strict=True) if keep]
                outcomes = [each for each, keep in zip(outcomes, kept, strict=True) if keep]
            self._outcomes.update(zip(chosen, outcomes, strict=True))
            self._class_of[count : count + len(chosen)] = chosen
            count += len(chosen)
        return count

    def _having(self, where: Mapping[str, object]) -> NDArray[np.bool_]:
        wanted = [(GROUPS.index(name), value) for name, value in where.items()]
        return np.array(
            [all(each[index] == value for index, value in wanted) for each in self._classes], dtype=np.bool_
        )

    def _all_groups(self) -> Iterator[_RowGroup]:
        """All rows, then those of each workload, tenant and priority if there are several."""
        yield _RowGroup("", None)
        present = {number for number, _ in self._outcomes}
        for index, name in enumerate(GROUPS):
            values = sorted({each[index] for each, number in self._classes.items() if number in present})
            if len(values) > 1 or (values and name == "workload"):
                for value in values:
                    if value != "":
                        text = value if isinstance(value, str) else f"{float(value):g}"
                        yield _RowGroup(f"{name}={text}", self._having({name: value}))

    def outcomes(self) -> Iterator[tuple[str, Counter[str]]]:
        """Of each group: the rows by outcome."""
        for key, members in self._groups:
            found: Counter[str] = Counter()
            for (number, outcome), count in self._outcomes.items():
                if members is None or members[number]:
                    found[outcome] += count
            yield key, found

    def column(self, name: str) -> Floats:
        return self.computed((name,), lambda values: values)

    def computed(self, columns: tuple[str, ...], function: Callable[..., Floats]) -> Floats:
        """A number for each row, from the values of some columns. The function is called with arrays of a block."""
        found = np.empty(len(self._class_of))
        count = 0
        first = ("submitted",) if len(found) < len(self._table) else ()
        for values in self._table.arrays((*first, *columns)):
            part = function(*values[len(first) :])
            if first:
                part = part[values[0] >= self._begin]
            found[count : count + len(part)] = part
            count += len(part)
        return found

    def each(self, values: Floats) -> Iterator[tuple[str, Floats]]:
        """Of each group: the numbers of its rows."""
        for key, members in self._groups:
            yield key, values if members is None else values[members[self._class_of]]

    def known(self, values: Floats) -> Iterator[tuple[str, Floats]]:
        """Of each group: a copy of the numbers of its rows, without missing ones."""
        for key, numbers in self.each(values):
            yield key, numbers[~np.isnan(numbers)]
