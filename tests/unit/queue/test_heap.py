from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.queue.fakes import less, make_pod, names, sort_key

from stowplan.framework import QueuedPodInfo
from stowplan.queue.heap import PodHeap, SortKey, key_by

PODS = [make_pod(f"p{i}", i % 3) for i in range(30)]


KEYS = [sort_key, key_by(less)]


@pytest.mark.parametrize("key", KEYS)
def test_equals_keep_their_order(key: SortKey) -> None:
    heap = PodHeap(key, count(1))
    for i in range(12):
        heap.push(QueuedPodInfo(PODS[i], 1.0))
    expected = sorted(range(12), key=lambda i: (-PODS[i].priority, i))
    assert names(heap) == [f"p{i}" for i in expected]
    popped = []
    while (unit := heap.pop()) is not None:
        popped.append(unit.pod.name)
    assert popped == [f"p{i}" for i in expected]


@pytest.mark.parametrize("key", KEYS)
def test_units_are_taken_from_anywhere(key: SortKey) -> None:
    heap = PodHeap(key, count(1))
    units = [QueuedPodInfo(pod, float(i)) for i, pod in enumerate(PODS)]
    for unit in units:
        heap.push(unit)
    for unit in units[:28]:
        heap.discard(unit)
        assert unit.sub_queue is None
    assert (len(heap), names(heap)) == (2, ["p29", "p28"])
    head = heap.peek()
    assert head is units[29]
    heap.discard(head)
    heap.push(head)
    assert [heap.pop(), heap.pop(), heap.pop()] == [units[29], units[28], None]
    assert (len(heap), heap.peek()) == (0, None)


def test_stale_entries_do_not_pile_up() -> None:
    heap = PodHeap(sort_key, count(1))
    unit = QueuedPodInfo(PODS[0], 1.0)
    for _ in range(1000):
        heap.push(unit)
        heap.discard(unit)
    assert len(heap._entries) < 100


def test_heaps_that_share_tickets_do_not_mistake_each_others_units() -> None:
    tickets = count(1)
    first, second = PodHeap(sort_key, tickets), PodHeap(sort_key, tickets)
    unit = QueuedPodInfo(PODS[0], 1.0)
    first.push(unit)
    first.discard(unit)
    second.push(unit)
    assert (first.pop(), second.pop()) == (None, unit)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    ("priority", "order"), [(0, ["p0", "p3", "p6"]), (9, ["p3", "p0", "p6"]), (-1, ["p0", "p6", "p3"])]
)
def test_another_version_of_a_pod_moves_only_if_it_compares_differently(
    key: SortKey, priority: int, order: list[str]
) -> None:
    heap = PodHeap(key, count(1))
    units = [QueuedPodInfo(PODS[i], 1.0) for i in (0, 3, 6)]
    for unit in units:
        heap.push(unit)
    heap.replace_pod(units[1], make_pod("p3", priority))
    assert (names(heap), len(heap)) == (order, 3)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 29))))
def test_a_heap_is_a_sorted_list(ops: list[tuple[int, int]]) -> None:
    heap = PodHeap(sort_key, count(1))
    held: list[QueuedPodInfo] = []
    for op, i in ops:
        if op == 0:
            held.append(QueuedPodInfo(PODS[i], float(i % 2)))
            heap.push(held[-1])
            held.sort(key=sort_key)
        elif op == 1 and held:
            heap.discard(held.pop(i % len(held)))
        elif op == 2:
            assert heap.pop() is (held.pop(0) if held else None)
        assert list(heap) == held
        assert (len(heap), heap.peek()) == (len(held), held[0] if held else None)
