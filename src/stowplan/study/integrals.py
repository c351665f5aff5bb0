"""Quantities that change over time, integrated exactly: means are weighted by time, not by samples."""

from __future__ import annotations

from collections.abc import Mapping


class TimedQuantity:
    """A value with its integral since the start."""

    __slots__ = ("_area", "_since", "largest", "value")

    def __init__(self) -> None:
        self.value: float = 0
        self.largest: float = 0
        self._area = 0.0
        self._since = 0.0

    def add(self, change: float, now: float) -> None:
        """Change the value at a time."""
        before = self.value
        if before:
            self._area += before * (now - self._since)
        self._since = now
        value = self.value = before + change
        if value > self.largest:
            self.largest = value

    def area(self, now: float) -> float:
        """The integral up to a time."""
        return self._area + self.value * (now - self._since)


_NOTHING = TimedQuantity()


class TimeIntegrals:
    """Quantities by name."""

    def __init__(self) -> None:
        self._quantities: dict[str, TimedQuantity] = {}

    def of(self, name: str) -> TimedQuantity:
        """The quantity of this name; the same object at each call."""
        found = self._quantities.get(name)
        if found is None:
            found = self._quantities[name] = TimedQuantity()
        return found

    def add(self, name: str, change: float, now: float) -> None:
        """Change a value at a time."""
        self.of(name).add(change, now)

    def value(self, name: str) -> float:
        return self._quantities.get(name, _NOTHING).value

    def largest(self, name: str) -> float:
        return self._quantities.get(name, _NOTHING).largest

    def values(self) -> Mapping[str, float]:
        """All values as of now, by name."""
        return {name: quantity.value for name, quantity in self._quantities.items()}

    def areas(self, now: float) -> Mapping[str, float]:
        """The integrals of all values up to a time."""
        return {name: quantity.area(now) for name, quantity in self._quantities.items()}
