"""A cluster that is watched, as the source of the page."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from stowplan.cluster.connection import Connection
from stowplan.config import KubeSchedulerConfiguration
from stowplan.engine import Engine
from stowplan.framework import Pod
from stowplan.framework.explanation import Explanation
from stowplan.framework.plugin import need_objects
from stowplan.plugins.registry import REGISTRY
from stowplan.runtime import Factory
from stowplan.scheduler.cluster_watch import ClusterWatch
from stowplan.scheduler.live_insight import LiveInsight
from stowplan.scheduler.web_source import LiveAnswers
from stowplan.web.source import Shown, StateSource


class WatchedCluster:
    """Watches a cluster on this thread's event loop, from `run` to an interrupt or SIGTERM."""

    def __init__(
        self, connection: Connection, config: KubeSchedulerConfiguration, plugins: Mapping[str, Factory]
    ) -> None:
        keep = need_objects(plugins.values())
        watch = self._watch = ClusterWatch(connection, config, {**REGISTRY, **plugins}, keep_objects=keep)
        live = LiveInsight(watch.insight, watch.engine, watch.answers, lambda: watch.ready)
        since = _since(watch.engine)
        name = f"cluster {connection.url}"
        self.source = StateSource(
            watch.engine,
            watch.insight,
            watch.owner,
            _WatchedAnswers(live, name, since, watch.engine),
            Shown(name, "cluster", changes=True, features=["stream"], config=config, since=since),
        )

    def run(self, on_ready: Callable[[], None]) -> None:
        asyncio.run(self._run(on_ready))

    async def _run(self, on_ready: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._watch.stop)
        await self._watch.run(on_ready)


def _since(engine: Engine) -> Callable[[Pod], str]:
    """When the cluster's scheduler first failed to place a pod, by the condition that it wrote."""

    def since(pod: Pod) -> str:
        pending = engine.pending.get(pod.uid)
        condition = None if pending is None else pending.condition("PodScheduled")
        return "" if condition is None else condition.last_transition_time

    return since


class _WatchedAnswers(LiveAnswers):
    """Explanations by our filters; the queue is that of another scheduler, and not known."""

    def __init__(self, insight: LiveInsight, name: str, since: Callable[[Pod], str], engine: Engine) -> None:
        super().__init__(insight)
        self._name = name
        self._since = since
        self._engine = engine

    async def explain(self, namespace: str, pod: str, top: int) -> Any:
        found = self._named(await super().explain(namespace, pod, top))
        if not isinstance(found, Explanation):
            return found
        named = found.pod
        known = [
            each.pod
            for each in list(self._engine.pending.values())
            if each.pod.name == named.name and each.pod.namespace == named.namespace
        ]
        since = self._since(known[0]) if known else ""
        return replace(found, queue=None, pod=replace(named, since=since))

    async def why_not(self, namespace: str, pod: str, node: str) -> Any:
        return self._named(await super().why_not(namespace, pod, node))

    def _named(self, answer: Any) -> Any:
        return replace(answer, as_of=replace(answer.as_of, source=self._name))
