"""A running scheduler as the source of the page: its data below /insight/v1/page/, and with --web the page at /ui/.

Reads run between scheduling cycles (`answers`). Nothing is computed until a client requests it; samples over time are
taken from then on, on the server's thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any, TypeVar

from msgspec.structs import replace

from stowplan.config import KubeSchedulerConfiguration
from stowplan.engine import Engine
from stowplan.insight.finding import FoundPod
from stowplan.insight.insight import Insight
from stowplan.insight.slices import Slices
from stowplan.insight.workloads import WorkloadReference
from stowplan.observe.metrics import SchedulerMetrics
from stowplan.observe.series import Histogram
from stowplan.scheduler.answers import Answers
from stowplan.scheduler.live_insight import LiveInsight
from stowplan.serving.insight_pages import INSIGHT_PREFIX, NotReadyError
from stowplan.serving.pages import Pages
from stowplan.web.assets import add_asset_pages, read_assets
from stowplan.web.history import SAMPLE_SECONDS, Buckets, HistoryRing, SchedulingTotals
from stowplan.web.owner import unchanged
from stowplan.web.routes import DEFAULT_TOP, add_data_pages
from stowplan.web.source import PodAnswers, Shown, StateSource
from stowplan.web.stream import StreamHub
from stowplan.web.wire import Hello

T = TypeVar("T")

PAGE_PREFIX = f"{INSIGHT_PREFIX}page/"
UI_PREFIX = "/ui/"


class LiveOwner:
    """Runs questions on the scheduling loop's thread."""

    def __init__(self, answers: Answers, is_ready: Callable[[], bool]) -> None:
        self._answers = answers
        self._is_ready = is_ready

    async def answer(self, begin: Callable[[], Slices[T]], revision: Callable[[], Hashable] = unchanged) -> T:
        result: T = await self._asked(_Question(begin, revision), first=False)
        return result

    async def read(self, function: Callable[[], T]) -> T:
        result: T = await self._asked(_Question(lambda: _once(function), unchanged), first=True)
        return result

    async def _asked(self, question: _Question, *, first: bool) -> Any:
        if not self._is_ready():
            raise NotReadyError("the caches are not synced yet")
        return await asyncio.wrap_future(self._answers.ask(question, lambda answer: answer.result, first=first))


class _Question:
    """A question of the page."""

    def __init__(self, begin: Callable[[], Slices[Any]], revision: Callable[[], Hashable]) -> None:
        self.begin = begin
        self.revision = revision


def _once(function: Callable[[], T]) -> Slices[T]:
    yield from ()
    return function()


class LiveAnswers:
    """The explanations of a running scheduler."""

    def __init__(self, insight: LiveInsight) -> None:
        self._insight = insight

    async def explain(self, namespace: str, pod: str, top: int) -> Any:
        return await _result(self._insight.explain(namespace, pod, top))

    async def why_not(self, namespace: str, pod: str, node: str) -> Any:
        return await _result(self._insight.why_not(namespace, pod, node))

    async def about(self, namespace: str, pod: str, answer: Callable[[FoundPod], Slices[T]]) -> T:
        result: T = await _result(self._insight.about(namespace, pod, answer))
        return result

    async def workload(self, reference: WorkloadReference) -> Any:
        return await _result(self._insight.workload(reference, DEFAULT_TOP))


async def _result(future: Future[Any]) -> Any:
    return await asyncio.wrap_future(future)


class LiveSource(StateSource):
    """The page's source of a scheduler; samples its metrics once a client has looked."""

    def __init__(
        self,
        engine: Engine,
        insight: Insight,
        owner: LiveOwner,
        answers: PodAnswers,
        shown: Shown,
        metrics: SchedulerMetrics | None = None,
    ) -> None:
        super().__init__(engine, insight, owner, answers, shown)
        self.other_leader: Callable[[], str] = lambda: ""
        """The identity of the leader, if this replica does not lead: the queue of the leader is the relevant one."""
        self._metrics = metrics
        self._sampling: asyncio.Task[None] | None = None
        if metrics is not None:
            self.history = HistoryRing(self.mirror.epoch)

    async def hello(self) -> Hello:
        return replace(await super().hello(), leader=self.other_leader())

    async def refresh(self, min_seconds: float = 0.0) -> None:
        if self._metrics is not None and (self._sampling is None or self._sampling.done()):
            self._sampling = asyncio.create_task(self._sample(self._metrics))
        await super().refresh(min_seconds)

    async def _sample(self, metrics: SchedulerMetrics) -> None:
        assert self.history is not None
        while True:
            await asyncio.to_thread(metrics.registry.prepare)
            self.history.add(self.now, dict(metrics.gauges.pending_pods()), _totals(metrics), _use(self.engine))
            await asyncio.sleep(SAMPLE_SECONDS)


def live_source(
    engine: Engine,
    insight: Insight,
    owner: LiveOwner,
    live: LiveInsight,
    config: KubeSchedulerConfiguration,
    metrics: SchedulerMetrics,
) -> LiveSource:
    """The source of a scheduler at work."""
    shown = Shown("scheduler", "scheduler", changes=True, features=["stream", "queue", "history"], config=config)
    return LiveSource(engine, insight, owner, LiveAnswers(live), shown, metrics)


def add_page(pages: Pages, source: StateSource, *, with_ui: bool) -> None:
    """Serves the page's data, for clients that may list pods in all namespaces; with `with_ui` the page itself."""
    add_data_pages(pages, source, PAGE_PREFIX)
    pages.add_stream(f"{PAGE_PREFIX}events", StreamHub(source).respond)
    pages.require_pods(PAGE_PREFIX)
    if with_ui:
        add_asset_pages(pages, read_assets(data_address=f"..{PAGE_PREFIX}"), UI_PREFIX)
        pages.require_pods(UI_PREFIX)


def _totals(metrics: SchedulerMetrics) -> SchedulingTotals:
    bound = failed = 0.0
    for sample in metrics.attempts.samples():
        if sample.labels.get("result") == "scheduled":
            bound += sample.value
        else:
            failed += sample.value
    evicted = sum(histogram.sum for histogram in metrics.victims.each())
    return SchedulingTotals(
        bound, failed, evicted, _buckets(metrics.sli_duration.each()), _buckets(metrics.attempt_duration.each())
    )


def _buckets(histograms: list[Histogram]) -> Buckets:
    """The sums of histograms with the same bounds."""
    if not histograms:
        return Buckets((), ())
    counts = [sum(column) for column in zip(*(list(each.counts) for each in histograms), strict=True)]
    return Buckets(histograms[0].bounds, counts)


def _use(engine: Engine) -> dict[str, float]:
    """Requested share of allocatable, by resource; read while the engine works, so a node or two may be off."""
    table = engine.cluster.nodes
    alive = table.alive
    found = {}
    for name, offered in list(table.allocatable.items()):
        requested = table.requested.get(name)
        array = offered.array
        if requested is None or len(array) != len(alive) or len(requested.array) != len(alive):
            continue
        total = float(array[alive].sum())
        if total > 0:
            found[name] = round(float(requested.array[alive].sum()) / total, 5)
    return found
