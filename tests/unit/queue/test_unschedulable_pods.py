from __future__ import annotations

from math import inf

from tests.unit.queue.fakes import make_pod, names

from stowplan.framework import QueuedPodInfo
from stowplan.queue.unschedulable_pods import UnschedulablePods


def unit(name: str, *rejectors: str, at: float = 0.0, pending: tuple[str, ...] = ()) -> QueuedPodInfo:
    return QueuedPodInfo(make_pod(name), at, unschedulable_plugins=set(rejectors), pending_plugins=set(pending))


def pool_of(*units: QueuedPodInfo) -> UnschedulablePods:
    pool = UnschedulablePods()
    for item in units:
        pool.put(item)
    return pool


def found(pool: UnschedulablePods, plugins: list[str]) -> list[str]:
    return names(pool.rejected_by(plugins))


def test_found_by_who_rejected_them() -> None:
    pool = pool_of(unit("a", "X"), unit("b", "X", "Y"), unit("c", "Y", pending=("Z", "Y")), unit("d", "W"))
    assert found(pool, ["X"]) == ["a", "b"]
    assert found(pool, ["X", "Y"]) == ["a", "b", "c"]
    assert found(pool, ["Z", "nobody"]) == ["c"]
    assert (len(pool), names(pool)) == (4, ["a", "b", "c", "d"])


def test_what_leaves_is_not_found() -> None:
    a, b = unit("a", "X", "Y"), unit("b", "X")
    pool = pool_of(a, b)
    pool.discard(a)
    assert (a.sub_queue, b.sub_queue) == (None, pool)
    assert found(pool, ["X", "Y"]) == ["b"]
    pool.discard(b)
    assert (len(pool), pool._by_rejector, pool._groups, pool._of) == (0, {}, {}, {})


def test_rejectors_may_change_in_place() -> None:
    a = unit("a", "X")
    pool = pool_of(a, unit("b", "X"))
    a.unschedulable_plugins = {"Y"}
    pool.put(a)
    assert found(pool, ["X"]) == ["b"]
    assert found(pool, ["Y"]) == ["a"]
    assert names(pool) == ["a", "b"]


def test_flushing_marks_who_waited_too_long() -> None:
    a, b, c = (unit(name, "X", at=at) for name, at in [("a", 10.0), ("b", 20.0), ("c", 5.0)])
    pool = pool_of(a, b, c)
    assert pool.waiting_since == 5.0
    c.flush_timestamp = 21.0
    assert pool.flush(30.0, now=50.0) == [a]
    assert (a.was_flushed, a.flush_timestamp, b.was_flushed, c.was_flushed) == (True, 50.0, False, False)
    assert pool.waiting_since == 20.0
    assert pool.flush(30.0, now=52.0) == [b, c]


def test_an_empty_pool_waits_for_nothing() -> None:
    a = unit("a", "X", at=3.0)
    pool = pool_of(a)
    pool.discard(a)
    assert pool.waiting_since == inf
    assert pool.flush(30.0, now=50.0) == []


def test_held_pods_are_found_by_no_event_until_they_are_put_again() -> None:
    held = {"a", "b"}
    pool = UnschedulablePods(lambda info: info.pod.name in held)
    a, b = unit("a", "X"), unit("b", "X")
    a.gating_plugin = "X"
    pool.put(a)
    pool.put(b)
    assert found(pool, ["X"]) == ["b"], "only gated pods are held"
    held.clear()
    pool.put(a)
    assert found(pool, ["X"]) == ["b", "a"]
    assert len(pool) == 2


def test_equal_pods_take_the_place_of_a_batch() -> None:
    template = unit("t").pod.template
    a, batch, c, b1, b2 = (unit(name, "X") for name in ("a", "batch", "c", "b1", "b2"))
    for info in (a, batch, c, b1, b2):
        info.pod.template = template
    pool = pool_of(a, batch, c)
    assert pool.before(c) is batch
    pool.split(batch, [b1, b2])
    assert found(pool, ["X"]) == names(pool.by_group()) == ["a", "b1", "b2", "c"]
    assert (batch.sub_queue, b1.sub_queue, len(pool)) == (None, pool, 4)
    for info in (b2, a, c, b1):
        pool.discard(info)
    assert (len(pool), pool._by_rejector, pool._groups, pool._of) == (0, {}, {}, {})
