from __future__ import annotations

from tests.unit.queue.fakes import make_pod

from stowplan.framework import QueuedPodInfo
from stowplan.queue.refused_batch import RefusedBatch, each_pod


def info(name: str, attempts: int = 1) -> QueuedPodInfo:
    return QueuedPodInfo(make_pod(name), 0.0, attempts, unschedulable_count=attempts, refusal="no room")


class Batches:
    def __init__(self) -> None:
        self.repeated: list[tuple[str, int]] = []
        self.emptied: list[RefusedBatch] = []

    def of(self, first: QueuedPodInfo) -> RefusedBatch:
        def on_repeated(info: QueuedPodInfo, refusals: int) -> None:
            self.repeated.append((info.pod.name, refusals))

        return RefusedBatch(1, first, on_repeated, self.emptied.append)


def test_refusals_are_added_to_pods_when_they_are_read() -> None:
    batches, a, b = Batches(), info("a"), info("b", attempts=5)
    batch = batches.of(a)
    batch.refused(10.0)
    batch.absorb(batches.of(b))
    batch.refused(20.0)
    assert (a.attempts, b.attempts, batches.repeated) == (1, 5, [])
    assert list(each_pod([batch])) == [a, b]
    assert [(i.attempts, i.unschedulable_count, i.timestamp) for i in (a, b)] == [(3, 3, 20.0), (6, 6, 20.0)]
    assert batches.repeated == [("a", 2), ("b", 1)]
    batch.up_to_date()
    assert len(batches.repeated) == 2


def test_a_batch_that_was_refused_more_often_joins_another() -> None:
    batches, a, b = Batches(), info("a"), info("b")
    earlier, later = batches.of(a), batches.of(b)
    for now in (1.0, 2.0, 3.0):
        later.refused(now)
    earlier.absorb(later)
    earlier.refused(4.0)
    earlier.up_to_date()
    assert (a.attempts, b.attempts) == (2, 5)


def test_pods_leave_with_their_counters() -> None:
    batches, a, b = Batches(), info("a"), info("b")
    batch = batches.of(a)
    batch.absorb(batches.of(b))
    pods = batch.pods
    assert batch.pods is pods
    batch.refused(1.0)
    batch.discard(a)
    assert (a.attempts, a.sub_queue, batch.first, batch.pods) == (2, None, b, (b.pod,))
    assert batches.emptied == []
    batch.discard(b)
    assert (len(batch), batches.emptied) == (0, [batch])
