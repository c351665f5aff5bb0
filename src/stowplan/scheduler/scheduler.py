"""A scheduler at work: the engine, its loop, the cluster that it is about, and the lease that lets it act."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from stowplan.api.kinds import Kind
from stowplan.cluster.client import Client
from stowplan.cluster.connection import Connection
from stowplan.cluster.event_recorder import EventRecorder
from stowplan.cluster.executor import InstructionExecutor
from stowplan.cluster.leader_election import ElectorThread
from stowplan.cluster.ratelimit import TokenBucket
from stowplan.cluster.reflector import REQUIRED_KINDS, UNFINISHED_PODS, EventSink, Reflector, watched_kinds
from stowplan.cluster.write_client import MAX_CONNECTIONS, Observe, Writer
from stowplan.config.feature_gates import TAINT_RULES
from stowplan.config.options import Options
from stowplan.engine import CheckedEngine, Engine, Observer
from stowplan.extender.client import HttpExtender, kinds_kept, needs_victims
from stowplan.runtime import Profile, Registry
from stowplan.runtime.gc_tuning import settle_heap
from stowplan.scheduler.device_taints import RULES, TaintedSlices
from stowplan.scheduler.plugin_calls import PluginCaller
from stowplan.scheduler.scheduling_loop import SchedulingLoop

DRAIN_SECONDS = 2.5
"""How long bindings and other writes under way may take when the scheduler is to end."""
HAND_ON_SECONDS = 1.5
"""How long it may take to hand on the lease then."""

_SET_AT = time.time() - time.monotonic()


def now() -> float:
    """Seconds since 1970, by a clock that nobody sets: pauses end when they should, even if the system's own jumps."""
    return _SET_AT + time.monotonic()


@dataclass(frozen=True, slots=True)
class SchedulerSettings:
    """What a scheduler is made of."""

    options: Options
    registry: Registry
    connection: Connection
    keep_objects: bool = False
    extenders: tuple[HttpExtender, ...] = ()
    check_invariants: bool = False
    connections: int = MAX_CONNECTIONS
    rng: random.Random = field(default_factory=random.Random)

    @property
    def taint_rules(self) -> bool:
        """Whether DeviceTaintRules apply."""
        return self.options.gates.get(TAINT_RULES, False)


class Scheduler:
    """Runs from `run` to `stop`, or until it loses its lease. Everything but the election is on one event loop."""

    def __init__(
        self,
        settings: SchedulerSettings,
        observer: Observer | None = None,
        *,
        on_request: Observe | None = None,
        on_batch: Callable[[float], None] | None = None,
    ) -> None:
        """`on_request` is told of every write's reply, `on_batch` of the seconds it took to take in news."""
        self._settings = settings
        self._on_request = on_request
        self._on_batch = on_batch
        self._kept = frozenset(REQUIRED_KINDS) if settings.keep_objects else kinds_kept(settings.extenders)
        """The kinds of which whole objects are kept."""
        make_engine = CheckedEngine if settings.check_invariants else Engine
        self.engine = make_engine(
            settings.options.config,
            settings.registry,
            clock=now,
            wall_clock=time.time,
            rng=settings.rng,
            observer=observer,
            unschedulable_timeout=settings.options.unschedulable_timeout,
            keep_objects=bool(self._kept),
            keep_assigned_objects=settings.keep_objects or needs_victims(settings.extenders),
            extenders=settings.extenders,
            connection=settings.connection,
        )
        self.kinds = kinds_read(self.engine.profiles.values(), settings.taint_rules)
        self._limiter = self._make_limiter()
        self._elector: ElectorThread | None = None
        self._host: SchedulingLoop | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = False
        self.lost_lease = False

    @property
    def ready(self) -> bool:
        """Whether the cluster is known."""
        return self._host is not None and self._host.ready

    def is_leader(self) -> bool:
        """Whether this scheduler may act."""
        return self._elector is None or self._elector.is_leader()

    def lease_problem(self) -> str | None:
        """What is wrong with the election, if there is one and anything is."""
        return None if self._elector is None else self._elector.problem()

    async def run(self) -> None:
        """Schedule until told to stop."""
        if self._stopping:
            return  # Told to before it began.
        loop = self._loop = asyncio.get_running_loop()
        settings = self._settings
        client = Client(settings.connection, limiter=self._limiter, observe=self._on_request)
        writer = self._writer(self._limiter)
        # Events have connections and a rate of their own, as in kube-scheduler: they never hold up a binding.
        event_writer = self._writer(self._make_limiter())
        recorder = EventRecorder(event_writer, version_of=self.engine.resource_version)
        caller = PluginCaller(loop, settings.options.plugin_call_timeout)
        host = self._host = SchedulingLoop(
            self.engine,
            InstructionExecutor(writer, recorder),
            caller,
            loop,
            now,
            kinds=[kind.name for kind in self.kinds],
            may_schedule=self.is_leader,
            on_ready=settle_heap,
            on_batch=self._on_batch,
        )
        self._start_election()
        sink: EventSink = TaintedSlices(host) if settings.taint_rules else host
        feeds = [asyncio.create_task(self._feed(client, kind, sink), name=kind.resource) for kind in self.kinds]
        for feed in feeds:
            feed.add_done_callback(self._feed_ended)
        try:
            await host.run()
        finally:
            began = loop.time()
            await host.finish(DRAIN_SECONDS)
            for feed in feeds:
                feed.cancel()
            left = max(began + DRAIN_SECONDS - loop.time(), 0.0)
            await asyncio.gather(writer.drain(left), recorder.drain(left))
            event_writer.close()
            caller.close()
            for extender in settings.extenders:
                await extender.close()
            await client.close()
            if self._elector is not None:
                await asyncio.to_thread(self._elector.stop, HAND_ON_SECONDS)

    def stop(self) -> None:
        """End: what is being written is finished, nothing new is begun."""
        self._stopping = True
        if self._host is not None:
            self._host.stop()

    def _make_limiter(self) -> TokenBucket:
        wanted = self._settings.options.config.client_connection
        return TokenBucket(wanted.qps, wanted.burst, time.monotonic)

    def _writer(self, limiter: TokenBucket) -> Writer:
        settings = self._settings
        return Writer(
            settings.connection,
            connections=settings.connections,
            limiter=limiter,
            may_write=self.is_leader,
            observe=self._on_request,
        )

    def _start_election(self) -> None:
        settings = self._settings
        if settings.options.config.leader_election.leader_elect:
            self._elector = ElectorThread(
                settings.connection,
                settings.options.config.leader_election,
                on_started=self._wake_from_thread,
                on_stopped=self._lease_lost_on_thread,
                observe=self._on_request,
            )
            self._elector.start()

    # Callbacks on the elector's thread
    def _wake_from_thread(self) -> None:
        """The lease is held: the loop may schedule now."""
        if self._host is not None:
            self._host.wake_from_thread()

    def _lease_lost_on_thread(self) -> None:
        if self._host is not None:
            self._host.defer(self._lost_lease)

    def _lost_lease(self) -> None:
        if not self._stopping:
            self.lost_lease = True
            self.stop()

    def _feed_ended(self, feed: asyncio.Task[None]) -> None:
        """It never ends by itself, unless there is a bug; without it we would be deaf to all objects of its kind."""
        if not feed.cancelled() and self._host is not None:
            self._host.stop(feed.exception())

    async def _feed(self, client: Client, kind: Kind, sink: EventSink) -> None:
        selector = UNFINISHED_PODS if kind.name == "Pod" else ""
        keep = kind.name in self._kept
        required = kind.name in REQUIRED_KINDS or (kind is RULES and self._settings.taint_rules)
        await Reflector(client, kind, sink, field_selector=selector, keep_objects=keep, required=required).run()


def kinds_read(profiles: Iterable[Profile], taint_rules: bool = False) -> list[Kind]:
    """Kinds that the enabled plugins read; with `taint_rules`, DeviceTaintRules are watched with ResourceSlices."""
    plugins = {plugin for profile in profiles for point in profile.points.values() for plugin in point}
    read = {kind for plugin in plugins for kind in plugin.reads}
    if taint_rules and "ResourceSlice" in read:
        read.add(RULES.name)
    return watched_kinds(read)
