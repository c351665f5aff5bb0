"""Kept answers follow the change logs: each slot that changed is repaired, no other is."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from stowplan import api
from stowplan.api import codec
from stowplan.cache import NodeTable
from stowplan.cache.kept import MAX_SCALAR_REPAIRS, KeptBySlot, KeptOnDemand

Slots = NDArray[np.intp]


def nodes_of(count: int) -> NodeTable:
    table = NodeTable()
    for number in range(count):
        put(table, f"n{number}")
    return table


def put(table: NodeTable, name: str, **labels: str) -> None:
    table.put(codec.convert(api.Node, {"metadata": {"name": name, "labels": labels}}))


class Recorded(KeptBySlot[object]):
    """Records its repairs."""

    def __init__(self, nodes: NodeTable, *, follows_pods: bool = True) -> None:
        super().__init__(nodes, follows_pods=follows_pods)
        self.repairs: list[object] = []
        self.fails = False

    def take(self, context: object = None) -> list[object]:
        """The repairs of one refresh."""
        self.repairs.clear()
        self.refresh(context)
        return self.repairs.copy()

    def rebuild(self, context: object) -> None:
        self.repairs.append(("all", context))

    def repair_many(self, slots: Slots, context: object) -> None:
        self.repairs.append((slots.tolist(), context))

    def repair_one(self, slot: int, context: object) -> None:
        if self.fails:
            raise ValueError("no answer")
        self.repairs.append((slot, context))


class Rebuilt(Recorded):
    rebuilds_for_nodes = True


@pytest.fixture
def table() -> NodeTable:
    return nodes_of(40)


class TestRefresh:
    def test_the_first_makes_all_answers_and_the_next_none(self, table: NodeTable) -> None:
        kept = Recorded(table)
        assert kept.take("context") == [("all", "context")]
        assert kept.take() == []

    def test_few_slots_are_repaired_one_by_one_each_once(self, table: NodeTable) -> None:
        kept = Recorded(table)
        kept.refresh(None)
        for slot in (3, 5, 3):
            table.log.append(slot)
        assert sorted(kept.take("context"), key=str) == [(3, "context"), (5, "context")]
        assert kept.take() == []

    def test_many_slots_are_repaired_together(self, table: NodeTable) -> None:
        kept = Recorded(table)
        kept.refresh(None)
        for slot in range(MAX_SCALAR_REPAIRS):
            table.log.append(slot)
        assert len(kept.take()) == MAX_SCALAR_REPAIRS
        for slot in range(MAX_SCALAR_REPAIRS + 1):
            table.log.append(slot)
        assert kept.take(7) == [(list(range(MAX_SCALAR_REPAIRS + 1)), 7)]

    def test_a_changed_node_object_takes_the_vector_form(self, table: NodeTable) -> None:
        kept, rebuilt = Recorded(table), Rebuilt(table)
        kept.refresh(None)
        rebuilt.refresh(None)
        table.log.append(2)
        put(table, "n4", zone="a")
        assert kept.take() == [([2, 4], None)]
        assert rebuilt.take() == [("all", None)]

    def test_answers_about_node_objects_do_not_follow_pods(self, table: NodeTable) -> None:
        kept = Recorded(table, follows_pods=False)
        kept.refresh(None)
        table.log.append(2)
        assert kept.take() == []
        put(table, "n4", zone="a")
        assert kept.take() == [([4], None)]

    def test_more_room_in_the_table_makes_all_answers_anew(self, table: NodeTable) -> None:
        kept = Recorded(table)
        kept.refresh(None)
        put(table, "new")
        assert kept.take() == [([40], None)]
        for number in range(table.capacity):
            put(table, f"more{number}")
        assert kept.take() == [("all", None)]

    def test_a_failed_repair_makes_all_answers_anew(self, table: NodeTable) -> None:
        kept = Recorded(table)
        kept.refresh(None)
        table.log.append(2)
        kept.fails = True
        with pytest.raises(ValueError, match="no answer"):
            kept.refresh(None)
        kept.fails = False
        assert kept.take() == [("all", None)]

    def test_discarded_answers_are_made_anew(self, table: NodeTable) -> None:
        kept = Recorded(table)
        kept.refresh(None)
        kept.discard()
        assert kept.take() == [("all", None)]

    def test_a_class_without_a_scalar_form_gets_one_slot_at_a_time(self, table: NodeTable) -> None:
        class Vectors(Recorded):
            def repair_one(self, slot: int, context: object) -> None:
                KeptBySlot.repair_one(self, slot, context)

        kept = Vectors(table)
        kept.refresh(None)
        table.log.append(2)
        assert kept.take(1) == [([2], 1)]

    def test_the_base_class_has_no_answers(self, table: NodeTable) -> None:
        with pytest.raises(NotImplementedError):
            KeptBySlot[None](table).refresh(None)


class TestOnDemand:
    def test_answers_are_known_until_the_slot_changes(self, table: NodeTable) -> None:
        kept = KeptOnDemand(table)
        kept.refresh(None)
        every = np.arange(40)
        assert kept.unknown(every).tolist() == every.tolist()
        kept.settle(every)
        kept.refresh(None)
        assert kept.unknown(every).tolist() == []
        table.log.append(3)
        kept.refresh(None)
        assert kept.unknown(every).tolist() == [3]
        assert kept.unknown(every[4:]).tolist() == []
        for slot in range(20):
            table.log.append(slot)
        kept.refresh(None)
        assert kept.unknown(every).tolist() == list(range(20))

    def test_answers_are_forgotten_for_other_reasons(self, table: NodeTable) -> None:
        kept = KeptOnDemand(table)
        kept.refresh(None)
        kept.settle(np.arange(40))
        kept.forget([1, 2])
        kept.settle(2)
        assert [kept.is_known(slot) for slot in range(4)] == [True, False, True, True]
        kept.forget(slice(None))
        assert len(kept.unknown(np.arange(40))) == 40
