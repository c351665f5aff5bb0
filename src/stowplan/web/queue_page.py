"""The page of the scheduling queue."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from math import isfinite

from stowplan.engine import Engine
from stowplan.framework import QueuedPodInfo
from stowplan.web.wire import Happening, QueuePage, QueueRow

MAX_QUEUE_ROWS = 50


def queue_page(engine: Engine, epoch: str, now: float, start: float, feed: list[Happening]) -> QueuePage:
    """The first pods of each sub-queue, in its order."""
    return QueuePage(
        epoch=epoch,
        time=now,
        counts=engine.queue_counts(),
        active=_rows(engine.next_to_pop(MAX_QUEUE_ROWS), start),
        backoff=[_row(info, start, info.backoff_expiration) for info in engine.next_to_return(MAX_QUEUE_ROWS)],
        unschedulable=_rows(engine.queued_pods("unschedulable"), start),
        gated=_rows(engine.queued_pods("gated"), start),
        permit=_permit(engine, start),
        feed=feed,
    )


def _rows(pods: Iterable[QueuedPodInfo], start: float) -> list[QueueRow]:
    return [_row(info, start) for info in islice(pods, MAX_QUEUE_ROWS)]


def _row(info: QueuedPodInfo, start: float, until: float | None = None) -> QueueRow:
    gating = (info.gating_plugin,) if info.gating_plugin else ()
    return QueueRow(
        pod=info.pod.key,
        priority=info.pod.priority,
        attempts=info.attempts,
        since=info.timestamp - start,
        until=0.0 if until is None or not isfinite(until) else until + 1 - start,
        plugins=sorted({*info.unschedulable_plugins, *info.pending_plugins, *gating}),
    )


def _permit(engine: Engine, start: float) -> list[QueueRow]:
    return [
        QueueRow(
            pod=waiting.pod.key,
            priority=waiting.pod.priority,
            attempts=0,
            since=0.0,
            until=waiting.deadline - start if isfinite(waiting.deadline) else 0.0,
            plugins=waiting.pending_plugins,
        )
        for waiting in islice(engine.waiting_pods, MAX_QUEUE_ROWS)
    ]
