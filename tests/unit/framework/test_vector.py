import numpy as np
import pytest

from stowplan.api import Node, ObjectMeta
from stowplan.framework import NodeInfo, Nodes


def infos(*names: str | None) -> list[NodeInfo | None]:
    made = (Node(metadata=ObjectMeta(name=name)) if name else None for name in names)
    return [None if node is None else NodeInfo(slot, node, None) for slot, node in enumerate(made)]  # type: ignore[arg-type]


TABLE = infos("a", None, "c", "d", None, "f", None)


def whole(holes: list[int] | None = None) -> Nodes:
    array = None if holes is None else np.array(holes, dtype=np.intp)
    return Nodes(slice(0, 6), 6, TABLE, array)


def some(*slots: int) -> Nodes:
    return Nodes(np.array(slots, dtype=np.intp), len(slots), TABLE)


@pytest.mark.parametrize(
    ("nodes", "count", "slots", "names"),
    [
        (whole([1, 4]), 6, [0, 2, 3, 5], {0: "a", 2: "c", 3: "d", 5: "f"}),
        (whole([0, 1, 4]), 6, [2, 3, 5], {2: "c", 3: "d", 5: "f"}),
        (whole([0, 1, 2, 3, 4, 5]), 6, [], {}),
        (some(5, 0), 2, [5, 0], {0: "f", 1: "a"}),
        (some(), 0, [], {}),
    ],
)
def test_who_is_meant(nodes: Nodes, count: int, slots: list[int], names: dict[int, str]) -> None:
    assert len(nodes) == nodes.count == count
    assert nodes.meant == len(slots)
    assert nodes.slots().tolist() == slots
    assert {position: info.name for position, info in nodes.infos()} == names


def test_empty_slots_are_never_shown() -> None:
    assert [info.name for _, info in whole().infos()] == ["a", "c", "d", "f"]
    assert [info.name for _, info in some(0, 1, 2).infos()] == ["a", "c"]


def test_positions_to_slots() -> None:
    positions = np.array([0, 2], dtype=np.intp)
    assert whole().slots_at(positions).tolist() == [0, 2]
    assert some(5, 3, 0).slots_at(positions).tolist() == [5, 0]
    assert Nodes(slice(2, 6), 4, TABLE).slots_at(positions).tolist() == [2, 4]


@pytest.mark.parametrize(
    ("holes", "expected"),
    [([1, 4], (2, 6)), ([0, 1, 4], (2, 6)), ([0, 1, 2, 3, 4], (3, 3)), ([4, 5], (2, 99)), (None, (-7, 99))],
)
def test_extremes_leave_holes_out(holes: list[int] | None, expected: tuple[int, int]) -> None:
    values = np.array([4, 99, 2, 6, -7, 3])
    assert whole(holes).extremes(values) == expected


def test_extremes_of_nothing() -> None:
    assert whole([0, 1, 2, 3, 4, 5]).extremes(np.array([5, 5, 5, 5, 5, 5])) == (0, 0)


@pytest.mark.parametrize("fleeting", [False, True])
def test_reading_columns(fleeting: bool) -> None:
    column, other = np.arange(10, 17), np.arange(20, 27)
    nodes = Nodes(np.array([5, 0], dtype=np.intp), 2, TABLE, fleeting=fleeting)
    for _ in range(2):
        assert nodes.read(column).tolist() == [15, 10]
        assert nodes.read(other).tolist() == [25, 20]
    assert whole().read(column).tolist() == [10, 11, 12, 13, 14, 15]


def test_a_fleeting_subset_is_not_fooled_by_arrays_that_come_and_go() -> None:
    nodes = Nodes(np.array([1], dtype=np.intp), 1, TABLE, fleeting=True)
    assert [int(nodes.read(np.full(7, number))[0]) for number in range(50)] == list(range(50))
