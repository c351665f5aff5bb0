"""The queue's item as QueueSort plugins compare it."""

from __future__ import annotations

from dataclasses import dataclass

from stowplan.framework.pod import Pod


@dataclass(slots=True, eq=False)
class QueuedPodInfo:
    """A pod in the scheduling queue."""

    pod: Pod
    timestamp: float
    """When it last entered the queue."""
    attempts: int = 0
