"""Allocation and fragmentation of GPUs against arrived load, in percent of the cluster's GPUs."""

from __future__ import annotations

from array import array
from collections import defaultdict

import numpy as np

MAX_LOAD_PERCENT = 130
"""Load of the last point."""


class LoadCurve:
    """Notes the state after each arrival; points are means over the arrivals of one percent of load."""

    def __init__(self, capacity_milli: int) -> None:
        self._capacity = capacity_milli
        self._loads, self._allocated, self._fragmented = array("i"), array("d"), array("d")

    def note(self, arrived_milli: int, used_milli: int, fragmented: int, pods: int) -> None:
        """After an arrival: GPU requests of all pods so far, GPUs in use, and fragmented idle GPUs times `pods`.

        Ratios are single divisions of integers: a further rounding would show where a ratio lies between two
        hundredths.
        """
        idle = self._capacity - used_milli
        self._loads.append(round(100 * arrived_milli / self._capacity))
        self._allocated.append(round(100 * used_milli / self._capacity, 2))
        self._fragmented.append(round(100 * fragmented / (pods * idle), 2) if idle else 0.0)

    def allocation(self) -> list[float]:
        """Percent of all GPUs, by load from 0 to 130."""
        return [float(value) for value in np.round(self._points(self._allocated), 2)]

    def fragmentation(self) -> list[float]:
        """Percent of idle GPUs, by load from 0 to 130."""
        return self._points(self._fragmented)

    def _points(self, values: array[float]) -> list[float]:
        """Means by load; a load without arrivals takes those of its neighbours, 0 without any.

        NumPy's sum and rounding, as in the published analysis, decide about means between two hundredths.
        """
        by_load: dict[int, list[float]] = defaultdict(list)
        for load, value in zip(self._loads, values, strict=True):
            by_load[load].append(value)
        points = []
        for load in range(MAX_LOAD_PERCENT + 1):
            found = by_load.get(load) or [*by_load.get(load - 1, ()), *by_load.get(load + 1, ())]
            points.append(float(np.mean(found)) if found else 0.0)
        return points
