"""A cluster that is watched and not scheduled: the state of another scheduler's cluster, kept up to date.

The scheduling loop runs as in a scheduler, with one difference: it never schedules and never writes.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from typing import Any

from stowplan.cluster.client import Client
from stowplan.cluster.connection import Connection
from stowplan.cluster.reflector import REQUIRED_KINDS, UNFINISHED_PODS, Reflector
from stowplan.config import KubeSchedulerConfiguration
from stowplan.engine import Engine
from stowplan.framework import Failure, Instruction, Request
from stowplan.insight.insight import Insight
from stowplan.runtime import Registry
from stowplan.scheduler.answers import Answers
from stowplan.scheduler.plugin_calls import PluginCaller
from stowplan.scheduler.scheduler import kinds_read, now
from stowplan.scheduler.scheduling_loop import SchedulingLoop
from stowplan.scheduler.web_source import LiveOwner

_PLUGIN_CALL_SECONDS = 60.0


class _NoWrites:
    """Carries out nothing."""

    waiting = 0

    def execute(self, instruction: Instruction, answer: Callable[[Any, Any], None]) -> None:
        if isinstance(instruction, Request):
            answer(instruction, Failure("the cluster is only watched"))


class ClusterWatch:
    """Lists and watches a cluster from `run` to `stop`."""

    def __init__(
        self, connection: Connection, config: KubeSchedulerConfiguration, registry: Registry, *, keep_objects: bool
    ) -> None:
        self._connection = connection
        self._keep_objects = keep_objects
        self.engine = Engine(
            config, registry, clock=now, wall_clock=time.time, rng=random.Random(0), keep_objects=keep_objects
        )
        self.answers = Answers(self.engine, self._wake)
        self.insight = Insight(self.engine, now, time.time)
        self.owner = LiveOwner(self.answers, lambda: self.ready)
        self._loop: SchedulingLoop | None = None

    @property
    def ready(self) -> bool:
        """Whether all kinds are listed."""
        return self._loop is not None and self._loop.ready

    async def run(self, on_ready: Callable[[], None]) -> None:
        """Watches until `stop`. `on_ready` is called once all kinds are listed."""
        event_loop = asyncio.get_running_loop()
        client = Client(self._connection)
        caller = PluginCaller(event_loop, _PLUGIN_CALL_SECONDS)
        kinds = kinds_read(self.engine.profiles.values())
        loop = self._loop = SchedulingLoop(
            self.engine,
            _NoWrites(),
            caller,
            event_loop,
            now,
            kinds=[kind.name for kind in kinds],
            may_schedule=lambda: False,
            on_ready=on_ready,
            answers=self.answers,
        )
        reflectors = [
            asyncio.create_task(
                Reflector(
                    client,
                    kind,
                    loop,
                    field_selector=UNFINISHED_PODS if kind.name == "Pod" else "",
                    keep_objects=self._keep_objects and kind.name in REQUIRED_KINDS,
                    required=kind.name in REQUIRED_KINDS,
                ).run()
            )
            for kind in kinds
        ]
        for task in reflectors:
            task.add_done_callback(lambda task: None if task.cancelled() else loop.stop(task.exception()))
        try:
            await loop.run()
        finally:
            self.answers.close()
            for task in reflectors:
                task.cancel()
            await asyncio.gather(*reflectors, return_exceptions=True)
            caller.close()
            await client.close()

    def stop(self) -> None:
        if self._loop is not None:
            self._loop.stop()

    def _wake(self) -> None:
        if self._loop is not None:
            self._loop.wake_from_thread()
