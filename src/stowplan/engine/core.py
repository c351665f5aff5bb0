"""What the parts of the engine share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from stowplan.cache import Cluster
from stowplan.engine.observer import Observer
from stowplan.engine.pending import PendingPod
from stowplan.engine.tasks import Tasks
from stowplan.engine.timers import Timers
from stowplan.framework import Instruction
from stowplan.queue import SchedulingQueue
from stowplan.queue.nominator import Nominator
from stowplan.runtime import Profile
from stowplan.runtime.waiting import WaitingPods


class Core:
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
        self.observer = observer
        self.pending: dict[str, PendingPod] = {}
        """Unassigned pods of ours by uid, whether they are queued, in flight, or assumed and not yet seen bound."""
        self.waiting_pods = WaitingPods()
        self.outbox: list[Instruction] = []
        self.timers = Timers(clock)
        self.tasks = Tasks(self.timers, self.outbox.append)

    def timestamp(self) -> str:
        """The present time as Kubernetes writes it."""
        return datetime.fromtimestamp(int(self.clock()), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
