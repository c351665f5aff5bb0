"""Kept answers are those that a fresh look at the columns gives, whatever changed and whenever they were refreshed."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stowplan import api
from stowplan.api import codec
from stowplan.cache import NodeTable
from stowplan.cache.kept import KeptBySlot, KeptOnDemand

Slots = NDArray[np.intp]

SIZES = st.integers(1, 200)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("pods"), st.lists(SIZES, max_size=40)),
        st.tuples(st.just("put"), SIZES),
        st.tuples(st.just("remove"), SIZES),
        st.tuples(st.just("refresh"), st.sampled_from(["eager", "nodes", "lazy"])),
    ),
    max_size=30,
)


class ChangingCluster:
    """Nodes with a number each for the node object and for the pods on it."""

    def __init__(self) -> None:
        self.table = NodeTable()
        self.numbers: dict[int, int] = {}
        self.turn = 0

    def put(self, number: int) -> None:
        self.turn += 1
        metadata = {"name": str(number), "labels": {"turn": str(self.turn)}}
        self.table.put(codec.convert(api.Node, {"metadata": metadata}))

    def remove(self, number: int) -> None:
        if str(number) in self.table.slot_of:
            self.numbers.pop(self.table.slot_of[str(number)], None)
            self.table.remove(str(number))

    def pods(self, numbers: list[int]) -> None:
        for number in numbers:
            slot = self.table.slot_of.get(str(number))
            if slot is not None:
                self.turn += 1
                self.numbers[slot] = self.turn
                self.table.log.append(slot)

    def answer(self, slot: int, *, of_pods: bool) -> int:
        info = self.table.infos[slot]
        if info is None:
            return -1
        return int(info.labels["turn"]) + (1000 * self.numbers.get(slot, 0) if of_pods else 0)

    def answers(self, *, of_pods: bool) -> list[int]:
        return [self.answer(slot, of_pods=of_pods) for slot in range(self.table.high)]


class Eager(KeptBySlot[None]):
    def __init__(self, world: ChangingCluster, *, follows_pods: bool) -> None:
        super().__init__(world.table, follows_pods=follows_pods)
        self.world = world
        self.of_pods = follows_pods

    def rebuild(self, context: None = None) -> None:
        self.values = np.zeros(self.nodes.capacity, dtype=np.int64)
        self.repair_many(np.arange(self.nodes.high))

    def repair_many(self, slots: Slots, context: None = None) -> None:
        self.values[slots] = [self.world.answer(slot, of_pods=self.of_pods) for slot in slots.tolist()]

    def repair_one(self, slot: int, context: None = None) -> None:
        self.values[slot] = self.world.answer(slot, of_pods=self.of_pods)


class Lazy(KeptOnDemand):
    def __init__(self, world: ChangingCluster) -> None:
        super().__init__(world.table)
        self.world = world

    def rebuild(self, context: None = None) -> None:
        super().rebuild()
        self.values = np.zeros(self.nodes.capacity, dtype=np.int64)

    def read(self, slots: Slots) -> list[int]:
        self.refresh(None)
        for slot in self.unknown(slots).tolist():
            self.values[slot] = self.world.answer(slot, of_pods=True)
            self.settle(slot)
        answers: list[int] = self.values[slots].tolist()
        return answers


@given(STEPS)
def test_kept_answers_are_those_of_a_fresh_look(steps: list[tuple[str, object]]) -> None:
    world = ChangingCluster()
    eager, by_nodes, lazy = Eager(world, follows_pods=True), Eager(world, follows_pods=False), Lazy(world)

    def check(kind: object) -> None:
        high = world.table.high
        if kind == "lazy":
            half = np.arange(0, high, 2)
            assert lazy.read(half) == world.answers(of_pods=True)[::2]
            return
        kept = eager if kind == "eager" else by_nodes
        kept.refresh(None)
        if high:
            assert kept.values[:high].tolist() == world.answers(of_pods=kept.of_pods)

    world.put(0)
    for step, argument in [*steps, ("refresh", "eager"), ("refresh", "nodes"), ("refresh", "lazy")]:
        if step == "refresh":
            check(argument)
        elif step == "put":
            for number in range(argument) if world.turn % 3 else [argument]:  # type: ignore[call-overload]
                world.put(number)
        else:
            getattr(world, step)(argument)
    assert lazy.read(np.arange(world.table.high)) == world.answers(of_pods=True)
