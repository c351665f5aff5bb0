"""What the parts of the engine share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial

from stowplan.cache import Cluster
from stowplan.engine.attempt import Attempt
from stowplan.engine.observer import Observer
from stowplan.engine.pending import PendingPod
from stowplan.engine.tasks import Tasks
from stowplan.engine.timers import Timers
from stowplan.framework import Instruction
from stowplan.queue import SchedulingQueue
from stowplan.queue.nominator import Nominator
from stowplan.runtime import Profile
from stowplan.runtime.points.waiting_pods import Defer, WaitingPods, at_once


class EngineState:
    """The state of the engine. Its parts hold nothing of their own but what only they look at."""

    def __init__(
        self,
        cluster: Cluster,
        nominator: Nominator,
        profiles: Mapping[str, Profile],
        queue: SchedulingQueue,
        clock: Callable[[], float],
        observer: Observer,
    ) -> None:
        self.cluster = cluster
        self.nominator = nominator
        self.profiles = profiles
        self.queue = queue
        self.clock = clock
        self.wall = clock
        """Tells the time to write down for people to read, where the other is not fit for that."""
        self.observer = observer
        self.pending: dict[str, PendingPod] = {}
        """Unassigned pods of ours by uid, whether they are queued, in flight, or assumed and not yet seen bound."""
        self.attempts: dict[str, Attempt] = {}
        """Assumed pods by uid whose binding is under way; they end bound, or are forgotten."""
        self.cycle = 0
        """The number of the scheduling cycle that is running, or ran last."""
        self.deciding = False
        """Whether a decision is being made, during which nothing may change."""
        self.marshal: Defer = at_once
        """Brings what other threads want done to the engine's own; a host with threads sets it."""
        self.deferred: list[Callable[[], None]] = []
        """What plugins asked for while a decision was being made."""
        self.keep_assigned = True
        """Whether whole objects, where they are kept at all, are kept of pods that run, too."""
        self.waiting_pods = WaitingPods(self.defer)
        self.outbox: list[Instruction] = []
        self.timers = Timers(clock)
        self.tasks = Tasks(self.timers, self.outbox.append)

    def defer(self, action: Callable[[], None]) -> None:
        """Do something that a plugin asks for: at once, unless a decision is being made."""
        self.marshal(partial(self._do_safely, action))

    def _do_safely(self, action: Callable[[], None]) -> None:
        if self.deciding:
            self.deferred.append(action)
        else:
            action()

    def catch_up(self) -> None:
        """The decision is made and applied: do what had to wait for that."""
        while self.deferred:
            self.deferred.pop(0)()

    def timestamp(self) -> str:
        """The present time as Kubernetes writes it."""
        return datetime.fromtimestamp(int(self.wall()), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
