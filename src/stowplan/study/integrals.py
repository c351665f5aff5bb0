"""Quantities that change over time, integrated exactly: means are weighted by time, not by samples."""

from __future__ import annotations

from collections.abc import Mapping


class TimeIntegrals:
    """Named values with their integrals since the start."""

    def __init__(self) -> None:
        self._values: dict[str, float] = {}
        self._areas: dict[str, float] = {}
        self._since: dict[str, float] = {}
        self._largest: dict[str, float] = {}

    def add(self, name: str, change: float, now: float) -> None:
        """Change a value at a time."""
        values = self._values
        before = values.get(name, 0)
        if before:
            self._areas[name] = self._areas.get(name, 0.0) + before * (now - self._since[name])
        self._since[name] = now
        value = values[name] = before + change
        if value > self._largest.get(name, 0):
            self._largest[name] = value

    def value(self, name: str) -> float:
        return self._values.get(name, 0)

    def largest(self, name: str) -> float:
        return self._largest.get(name, 0)

    def values(self) -> Mapping[str, float]:
        """All values as of now, by name."""
        return self._values

    def names(self) -> list[str]:
        return sorted(self._values)

    def areas(self, now: float) -> Mapping[str, float]:
        """The integrals of all values up to a time."""
        return {
            name: self._areas.get(name, 0.0) + value * (now - self._since[name]) for name, value in self._values.items()
        }
