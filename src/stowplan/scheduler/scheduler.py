"""The scheduler: engine, scheduling loop, reflectors, writers and leader election.

Upstream: cmd/kube-scheduler/app/server.go (Run), pkg/scheduler/scheduler.go
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from stowplan import logs
from stowplan.api.kinds import KINDS, Kind
from stowplan.api.resource_versions import RESOURCE_VERSIONS, kind_at
from stowplan.cluster.client import Client
from stowplan.cluster.connection import Connection
from stowplan.cluster.event_recorder import EventRecorder
from stowplan.cluster.executor import InstructionExecutor
from stowplan.cluster.leader_election import ElectorThread
from stowplan.cluster.ratelimit import TokenBucket
from stowplan.cluster.reflector import REQUIRED_KINDS, UNFINISHED_PODS, EventSink, Reflector, watched_kinds
from stowplan.cluster.write_client import MAX_CONNECTIONS, Observe, Writer
from stowplan.config.feature_gates import COSCHEDULING, GENERIC_WORKLOAD, TAINT_RULES
from stowplan.config.options import Options
from stowplan.engine import CheckedEngine, Engine, Observer
from stowplan.extender.client import HttpExtender, kinds_kept, needs_victims
from stowplan.insight.insight import Insight
from stowplan.observe.metrics import SchedulerMetrics
from stowplan.runtime import Profile, Registry
from stowplan.runtime.gc_tuning import collect_rarely, settle_heap
from stowplan.scheduler.answers import Answers
from stowplan.scheduler.device_taints import RULES, TaintedSlices
from stowplan.scheduler.explained_events import ExplainingExecutor
from stowplan.scheduler.live_insight import LiveInsight, last_message
from stowplan.scheduler.plugin_calls import PluginCaller
from stowplan.scheduler.scheduling_loop import Executor, SchedulingLoop
from stowplan.scheduler.web_source import LiveOwner, live_source
from stowplan.web.source import StateSource

log = logs.get(__name__)

DRAIN_SECONDS = 2.5
"""Time for bindings and other writes under way to finish at shutdown."""
RELEASE_LEASE_SECONDS = 1.5
"""Time to release the lease at shutdown."""
JOIN_SECONDS = 0.05
"""Time between the refusals of equal pods that are tried together the next time."""

_MONOTONIC_EPOCH = time.time() - time.monotonic()


def now() -> float:
    """Seconds since 1970 by the monotonic clock, so that backoff is unaffected by changes of the system time."""
    return _MONOTONIC_EPOCH + time.monotonic()


@dataclass(frozen=True, slots=True)
class SchedulerSettings:
    """Constructor arguments of a scheduler."""

    options: Options
    registry: Registry
    connection: Connection
    keep_objects: bool = False
    extenders: tuple[HttpExtender, ...] = ()
    resource_api: str = RESOURCE_VERSIONS[0]
    """The version of resource.k8s.io to use; empty if the API server does not serve the group."""
    check_invariants: bool = False
    connections: int = MAX_CONNECTIONS
    rng: random.Random = field(default_factory=random.Random)

    @property
    def taint_rules(self) -> bool:
        """Whether DeviceTaintRules apply."""
        return self.options.gates.get(TAINT_RULES, False)

    @property
    def group_kinds(self) -> tuple[str, ...]:
        """Kinds of PodGroups whose pods are scheduled together."""
        release = self.options.config.release
        kinds = {"PodGroup": GENERIC_WORKLOAD, "CoschedulingPodGroup": COSCHEDULING}
        return tuple(kind for kind, gate in kinds.items() if release.has(gate))

    def is_optional(self, kind: Kind) -> bool:
        """Whether an API server without the kind is normal: --coscheduling alone also reads PodGroups of
        scheduling.k8s.io, which most clusters do not serve."""
        return kind.name == "PodGroup" and not self.options.gates.get(GENERIC_WORKLOAD, False)


class Scheduler:
    """Runs until `stop`, or until it loses the lease. All but the leader election runs on one event loop."""

    def __init__(
        self,
        settings: SchedulerSettings,
        observer: Observer | None = None,
        *,
        on_request: Observe | None = None,
        on_batch: Callable[[float], None] | None = None,
    ) -> None:
        """`on_request` receives every reply to a write; `on_batch` the seconds that a batch of watch events took."""
        self._settings = settings
        self._on_request = on_request
        self._on_batch = on_batch
        self._kept = frozenset(REQUIRED_KINDS) if settings.keep_objects else kinds_kept(settings.extenders)
        """Kinds of which raw objects are kept."""
        make_engine = CheckedEngine if settings.check_invariants else Engine
        self.engine = make_engine(
            settings.options.config,
            settings.registry,
            clock=now,
            wall_clock=time.time,
            rng=settings.rng,
            observer=observer,
            unschedulable_timeout=settings.options.unschedulable_timeout,
            max_namespace_share=settings.options.max_namespace_share,
            join_seconds=JOIN_SECONDS,
            keep_objects=bool(self._kept),
            keep_assigned_objects=settings.keep_objects or needs_victims(settings.extenders),
            extenders=settings.extenders,
            connection=settings.connection,
        )
        self.answers = Answers(self.engine, self._wake_from_thread)
        self._insight = Insight(self.engine, now, time.time, last_message=last_message(self.engine), running=True)
        self.insight = LiveInsight(self._insight, self.engine, self.answers, lambda: self.ready)
        """Answers about pods, for other threads."""
        served = settings.resource_api or RESOURCE_VERSIONS[0]
        read = kinds_read(self.engine.profiles.values(), settings.taint_rules, settings.group_kinds)
        self.kinds = [kind_at(kind, served) for kind in read]
        if not settings.resource_api:
            self.engine.cluster.missing_kinds.add("ResourceClaim")
        self._limiter = self._make_limiter()
        self._elector: ElectorThread | None = None
        self._scheduling_loop: SchedulingLoop | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = False
        self.lost_lease = False

    def page_source(self, metrics: SchedulerMetrics) -> StateSource:
        """The source of the page, for the server's thread."""
        owner = LiveOwner(self.answers, lambda: self.ready)
        source = live_source(self.engine, self._insight, owner, self.insight, self._settings.options.config, metrics)
        source.other_leader = self._other_leader
        return source

    def _other_leader(self) -> str:
        """The identity of the scheduler that leads instead of this one."""
        return "" if self._elector is None or self.is_leader() else self._elector.leader

    @property
    def ready(self) -> bool:
        """Whether all kinds are synced."""
        return self._scheduling_loop is not None and self._scheduling_loop.ready

    def is_leader(self) -> bool:
        """Whether this scheduler holds the lease, or runs without leader election."""
        return self._elector is None or self._elector.is_leader()

    def lease_problem(self) -> str | None:
        """The problem of the leader election, if any."""
        return None if self._elector is None else self._elector.problem()

    async def run(self) -> None:
        """Schedule until `stop`."""
        if self._stopping:
            return
        loop = self._loop = asyncio.get_running_loop()
        settings = self._settings
        collect_rarely()
        client = Client(settings.connection, limiter=self._limiter, observe=self._on_request)
        writer = self._writer(self._limiter)
        # Events have connections and a rate limit of their own, as in kube-scheduler: they never delay a binding.
        event_writer = self._writer(self._make_limiter())
        recorder = EventRecorder(
            event_writer, version_of=self.engine.resource_version, bindings_wait=lambda: writer.lacks_connections
        )
        caller = PluginCaller(loop, settings.options.plugin_call_timeout)
        scheduling_loop = self._scheduling_loop = SchedulingLoop(
            self.engine,
            self._explaining(
                InstructionExecutor(
                    writer,
                    recorder,
                    KINDS | {kind.name: kind for kind in self.kinds},
                    self.engine.status_not_written,
                )
            ),
            caller,
            loop,
            now,
            kinds=[kind.name for kind in self.kinds],
            may_schedule=self.is_leader,
            on_ready=settle_heap,
            on_batch=self._on_batch,
            answers=self.answers,
        )
        self._start_election()
        sink: EventSink = TaintedSlices(scheduling_loop) if settings.taint_rules else scheduling_loop
        reflectors = [asyncio.create_task(self._reflect(client, kind, sink), name=kind.resource) for kind in self.kinds]
        for task in reflectors:
            task.add_done_callback(self._reflector_ended)
        try:
            await scheduling_loop.run()
        finally:
            self.answers.close()
            deadline = loop.time() + DRAIN_SECONDS
            await scheduling_loop.finish(DRAIN_SECONDS)
            for task in reflectors:
                task.cancel()
            left = max(deadline - loop.time(), 0.0)
            await asyncio.gather(writer.drain(left), recorder.drain(left))
            event_writer.close()
            caller.close()
            await self._close(client)

    def _explaining(self, executor: Executor) -> Executor:
        """The executor, with explanations in events and conditions if they are enabled."""
        options = self._settings.options
        enabled = {
            profile.scheduler_name
            for profile in options.config.profiles
            if (options.explain_events if profile.explain_events is None else profile.explain_events)
        }
        return ExplainingExecutor(executor, self.engine, self._insight, self.answers, enabled) if enabled else executor

    async def _close(self, client: Client) -> None:
        for extender in self._settings.extenders:
            await extender.close()
        await client.close()
        if self._elector is not None:
            await asyncio.to_thread(self._elector.stop, RELEASE_LEASE_SECONDS)

    def stop(self) -> None:
        """Shut down: pending writes are finished, and no new attempt starts."""
        self._stopping = True
        if self._scheduling_loop is not None:
            self._scheduling_loop.stop()

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

    # Callbacks on other threads
    def _wake_from_thread(self) -> None:
        """The lease is held, so that the loop may schedule now, or a question has come."""
        if self._scheduling_loop is not None:
            self._scheduling_loop.wake_from_thread()

    def _lease_lost_on_thread(self) -> None:
        if self._scheduling_loop is not None:
            self._scheduling_loop.defer(self._lost_lease)

    def _lost_lease(self) -> None:
        if not self._stopping:
            self.lost_lease = True
            self.stop()

    def _reflector_ended(self, task: asyncio.Task[None]) -> None:
        """A reflector ends only because of a bug; without it, the kind would not be watched any more."""
        if not task.cancelled() and self._scheduling_loop is not None:
            self._scheduling_loop.stop(task.exception())

    async def _reflect(self, client: Client, kind: Kind, sink: EventSink) -> None:
        selector = UNFINISHED_PODS if kind.name == "Pod" else ""
        keep = kind.name in self._kept
        required = kind.name in REQUIRED_KINDS or (kind is RULES and self._settings.taint_rules)
        await Reflector(
            client,
            kind,
            sink,
            field_selector=selector,
            keep_objects=keep,
            required=required,
            optional=self._settings.is_optional(kind),
        ).run()


def kinds_read(profiles: Iterable[Profile], taint_rules: bool = False, groups: Iterable[str] = ()) -> list[Kind]:
    """Kinds that the enabled plugins read, and those of `groups`; with `taint_rules`, DeviceTaintRules are watched with
    ResourceSlices."""
    plugins = {plugin for profile in profiles for point in profile.points.values() for plugin in point}
    read = {kind for plugin in plugins for kind in plugin.reads}
    if taint_rules and "ResourceSlice" in read:
        read.add(RULES.name)
    read.update(groups)
    return watched_kinds(read)
