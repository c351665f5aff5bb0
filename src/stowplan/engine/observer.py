"""Whoever wants to know what the engine does: logs, metrics, the record of a simulation."""

from __future__ import annotations

from stowplan.framework import Pod, Status
from stowplan.queue import Unit
from stowplan.runtime import Decision


class Observer:
    """Told of each step, before its effects; does nothing by itself. It must not change anything."""

    def decided(self, unit: Unit, decision: Decision) -> None:
        """A scheduling cycle came to a decision."""

    def bound(self, unit: Unit, node_name: str) -> None:
        """A pod is bound."""

    def failed(self, unit: Unit, status: Status) -> None:
        """An attempt failed: the pod was rejected, or an error occurred."""

    def preempted(self, preemptor: Pod, victim: Pod, node_name: str) -> None:
        """A pod was made to go."""
