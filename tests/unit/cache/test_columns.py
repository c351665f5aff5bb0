from weakref import ref

import numpy as np
import pytest

from stowplan.cache.columns import ChangeLog, Column, ScalarColumns


def test_a_column_is_a_list_and_an_array_of_equal_numbers() -> None:
    column = Column(3)
    column.set(1, 7)
    column.grow(5)
    column.set(4, 9)
    assert column.values == [0, 7, 0, 0, 9]
    assert column.array.tolist() == column.values


def test_the_list_is_exact_beyond_what_floats_hold() -> None:
    column = Column(1)
    column.set(0, 2**53 + 1)
    assert column.values == [2**53 + 1]


def test_growing_keeps_the_list() -> None:
    """Checks that were compiled for a template hold on to it."""
    column = Column(2)
    values = column.values
    column.grow(4)
    column.set(3, 1)
    assert values[3] == 1


class TestChangeLog:
    def test_what_came_after_a_position(self) -> None:
        log = ChangeLog(4)
        log.append(2)
        position = log.position
        assert log.recent(position, 9) == []
        log.append(1)
        log.append(1)
        assert log.recent(position, 9) == [1, 1]
        assert log.changed_since(position).tolist() == [1]
        assert log.position == position + 2

    def test_slots_that_are_new(self) -> None:
        log = ChangeLog(1)
        start = log.position
        log.append(0)
        log.grow(3)
        log.append(2)
        assert log.recent(start, 9) == [0, 2]
        assert log.changed_since(start).tolist() == [0, 2]

    @pytest.mark.parametrize("readers", [range(0, 30_000, 777)])
    def test_trimming_loses_nothing(self, readers: range) -> None:
        """A reader who is too far behind is told so, and the array reaches back for ever."""
        random = np.random.default_rng(0)
        slots = random.integers(0, 9, 30_000).tolist()
        log = ChangeLog(9)
        positions = []
        for slot in slots:
            positions.append(log.position)
            log.append(slot)
        for reader in readers:
            recent = log.recent(positions[reader], 30_000)
            assert recent is None or recent == slots[reader:]
            assert set(log.changed_since(positions[reader]).tolist()) == set(slots[reader:])
        assert log.recent(positions[0], 30_000) is None
        assert log.recent(positions[-100], 100) == slots[-100:]
        assert log.recent(positions[-100], 99) is None
        kept = sum(log.recent(position, 30_000) is not None for position in positions)
        assert 4000 < kept < 9000


class TestScalarColumns:
    def columns(self) -> tuple[dict[str, Column], ScalarColumns]:
        live: dict[str, Column] = {}
        return live, ScalarColumns(live, 4, [2], 1.0)

    def test_a_column_without_amounts_has_no_storage_and_is_not_kept(self) -> None:
        live, columns = self.columns()
        column, other = columns.get("a"), columns.get("b")
        assert columns.get("a") is column
        assert column.array is other.array
        assert not live
        assert [column.values[slot] for slot in range(4)] == [0, 0, 0, 0]
        gone = ref(column)
        del column
        assert gone() is None

    def test_a_column_is_kept_while_it_has_an_amount(self) -> None:
        live, columns = self.columns()
        columns.get("a").set(1, 5)
        column = columns.get("a")
        values = column.values
        assert live == {"a": column}
        assert column.array.tolist() == [0, 5, 1, 0]
        column.set(3, 0)
        column.set(1, 0)
        assert not live
        assert column.array is columns.get("b").array
        column.set(0, 2)
        assert column.values is values
        assert values[0] == 2
        assert column.array.tolist() == [2, 0, 1, 0]

    def test_growing(self) -> None:
        _, columns = self.columns()
        used, unused = columns.get("a"), columns.get("b")
        used.set(0, 7)
        columns.grow(6)
        assert used.array.tolist() == [7, 0, 1, 0, 0, 0]
        assert len(unused.array) == 6
        used.set(5, 3)
        assert used.values[5] == used.array[5] == 3
