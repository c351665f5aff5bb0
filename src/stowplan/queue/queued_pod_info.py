"""What the queue hands out: a pod with the story of its attempts."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field
from math import inf
from typing import Protocol

from stowplan.framework import Pod, QueuedPodInfo

_NOBODY: frozenset[str] = frozenset()


class QueueName(Protocol):
    """A part of the queue that holds units."""

    def discard(self, unit: QueuedPod) -> None:
        """Forget a unit that is here."""

    def replace_pod(self, unit: QueuedPod, pod: Pod) -> None:
        """Give a unit that is here another version of its pod."""


@dataclass(slots=True, eq=False)
class QueuedPod(QueuedPodInfo):
    """A scheduling unit: today one pod."""

    unschedulable_count: int = 0
    """Attempts that ended with a rejection."""
    consecutive_errors: int = 0
    """Errors since the last attempt that ended otherwise."""
    backoff_expiration: float | None = None
    """The whole second at which the backoff ends; None until it is worked out."""
    initial_attempt_timestamp: float | None = None
    """When it was first ready for an attempt; the time behind a gate does not count."""
    unschedulable_plugins: Set[str] = _NOBODY
    """Who rejected the pod in its last attempt, or keeps it behind a gate."""
    pending_plugins: Set[str] = _NOBODY
    """Who answered Pending: the pod waits for something that these plugins will hear of."""
    gating_plugin: str = ""
    """Whose PreEnqueue keeps the pod out of the queue."""
    was_flushed: bool = False
    """Whether it came back because it had been unschedulable for long, not because something happened."""
    flush_timestamp: float = -inf

    place: QueueName | None = field(default=None, repr=False)
    """The part of the queue that holds it; None while it is in flight."""
    ticket: int = field(default=0, repr=False)
    """Its entry in a heap; entries with any other number are stale."""
    first_event: int = field(default=0, repr=False)
    """The number of the first cluster event after it was popped."""

    @property
    def gated(self) -> bool:
        return self.gating_plugin != ""

    @property
    def rejected(self) -> bool:
        """Whether plugins turned it down; if none did, its last attempt failed with an error."""
        return bool(self.unschedulable_plugins or self.pending_plugins)

    @property
    def waiting_since(self) -> float:
        """When it last was tried, or woken for no other reason than the time that had passed."""
        return max(self.timestamp, self.flush_timestamp)
