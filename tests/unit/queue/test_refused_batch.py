from __future__ import annotations

import pytest
from tests.unit.queue.fakes import NODE_ADD, Rig, make_pod

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


@pytest.mark.parametrize(
    ("start", "pauses", "batches"),
    [
        (1000.0, (0.0, 0.0), 1),
        (1000.0, (0.02, 0.02), 1),
        (1000.0, (0.02, 0.04), 2),
        (1000.0, (1.0, 0.0), 2),
        (1000.97, (0.02, 0.02), 2),
    ],
    ids=["at once", "within a moment", "longer than a moment", "apart", "other second"],
)
def test_equal_pods_refused_within_a_moment_whose_backoff_ends_together_move_on_as_one(
    start: float, pauses: tuple[float, float], batches: int
) -> None:
    rig = Rig(start, join_seconds=0.05)
    for name in "abc":
        rig.queue.add(make_pod(name))
    at = []
    for pause in (0.0, *pauses):
        rig.clock.now += pause
        at.append(rig.clock.now)
        refused = rig.pop()
        refused.unschedulable_plugins = {"Adds"}
        rig.queue.add_unschedulable(refused, "no room", has_condition=True)
        rig.queue.done(refused.pod.uid)
    assert [info.timestamp for info in rig.queue.unschedulable] == at, "until they are refused together"
    rig.queue.move(NODE_ADD, None, True)
    popped = 0
    while isinstance(batch := rig.queue.pop(), RefusedBatch):
        popped += 1
        batch.refused(rig.clock.now)
        rig.queue.refuse_batch(batch)
    assert popped == batches
    assert {info.timestamp for info in rig.queue.unschedulable} == {rig.clock.now}


def test_batches_are_dissolved_until_a_single_pod_is_next_while_a_namespace_may_have_to_wait() -> None:
    """The first pod of a batch is deleted, so that the others are younger than the next batch."""
    rig = Rig(join_seconds=0.05, max_namespace_share=0.25)
    for name, app in (("a", "x"), ("b", "y"), ("c", "x")):
        rig.queue.add(make_pod(name, labels={"app": app}))
    refused = [rig.pop() for _ in range(3)]
    for info in refused:
        rig.clock.now += 0.01
        info.unschedulable_plugins = {"Adds"}
        rig.queue.add_unschedulable(info, "no room", has_condition=True)
        rig.queue.done(info.pod.uid)
    rig.queue.move(NODE_ADD, None, True)
    rig.queue.charge("other", 60.0)
    rig.queue.remove(refused[0].pod)
    assert [rig.pop().pod.name for _ in range(2)] == ["b", "c"]
    assert rig.queue.pop() is None
