"""A pod in the scheduling queue.

Upstream: pkg/scheduler/framework/types.go (QueuedPodInfo)
"""

from __future__ import annotations

from collections.abc import Hashable, Set
from dataclasses import dataclass, field
from math import inf
from typing import Protocol

from stowplan.framework.pod import Pod

_NO_PLUGINS: frozenset[str] = frozenset()


class SubQueue(Protocol):
    """A part of the scheduling queue that holds pods: active, backoff or unschedulable."""

    def discard(self, info: QueuedPodInfo) -> None:
        """Remove a pod that is here."""

    def replace_pod(self, info: QueuedPodInfo, pod: Pod) -> None:
        """Update a pod that is here."""


@dataclass(slots=True, eq=False)
class QueuedPodInfo:
    """A pod with the history of its attempts.

    QueueSort plugins may read the first four fields; the others belong to the queue.
    """

    pod: Pod
    timestamp: float
    """When the pod last entered the queue."""
    attempts: int = 0
    """Scheduling attempts so far."""
    initial_attempt_timestamp: float | None = None
    """When the pod was first ready for an attempt; time spent gated does not count."""

    unschedulable_count: int = 0
    """Attempts that ended with a rejection."""
    consecutive_errors: int = 0
    """Errors since the last attempt that ended otherwise."""
    spared: tuple[Hashable, int] | None = None
    """The circuit of an extender that was open, and the attempt that ended for it."""
    backoff_expiration: float | None = None
    """The whole second in which the backoff ends; None until it is computed."""
    cost: float = 0.0
    """Seconds that the last attempt took, if the pod is large: it backs off in proportion to them."""
    unschedulable_plugins: Set[str] = _NO_PLUGINS
    """Plugins that rejected the pod in its last attempt, or that gate it."""
    pending_plugins: Set[str] = _NO_PLUGINS
    """Plugins that returned Pending; they register for the event that the pod waits for."""
    gating_plugin: str = ""
    """The plugin whose PreEnqueue gates the pod."""
    was_flushed: bool = False
    """Whether the pod came back because of the unschedulable timeout, not because of an event."""
    flush_timestamp: float = -inf
    follows_group: bool = False
    """Whether the pod waits with its pod group: events wake other members, and the pod is tried with them."""

    refusal: str = ""
    """The message of the last attempt, if equal pods are refused with it until something relevant changes."""
    has_condition: bool = False
    """Whether the pod's condition has that message, so that another refusal needs no write."""

    sub_queue: SubQueue | None = field(default=None, repr=False)
    """The part of the queue that holds the pod; None while it is in flight."""
    ticket: float = field(default=0, repr=False)
    """Number of its entry in a heap; entries with another number are stale."""
    first_event: int = field(default=0, repr=False)
    """Number of the first cluster event after the pod was popped."""

    @property
    def is_spared(self) -> bool:
        """Whether the last attempt ended because an extender was not called; it does not prolong the backoff."""
        return self.spared is not None and self.spared[1] == self.attempts

    @property
    def gated(self) -> bool:
        return self.gating_plugin != ""

    @property
    def rejected(self) -> bool:
        """Whether plugins rejected the pod; otherwise its last attempt failed with an error."""
        return bool(self.unschedulable_plugins or self.pending_plugins)

    @property
    def waiting_since(self) -> float:
        """When the pod was last tried or flushed."""
        return max(self.timestamp, self.flush_timestamp)
