from hypothesis import given
from hypothesis import strategies as st

from stowplan.api import ContainerImage
from stowplan.cache.images import ImageState, ImageTable


def image(size: int, *names: str) -> ContainerImage:
    return ContainerImage(names=names, size_bytes=size)


def test_who_holds_an_image() -> None:
    table = ImageTable()
    table.replace(0, (), (image(10, "a", "b"),))
    table.replace(3, (), (image(10, "a"),))
    found = table.get("a")
    assert found is not None
    assert len(found) == 2
    assert [slot for slot in range(-1, 6) if slot in found] == [0, 3]
    assert found.slot_array().tolist() == [0, 3]
    assert table.get("c") is None


def test_the_size_first_reported_stays_until_nobody_holds_the_image() -> None:
    table = ImageTable()
    first, second = (image(10, "a"),), (image(99, "a"),)
    table.replace(0, (), first)
    table.replace(1, (), second)
    found = table.get("a")
    assert found is not None
    assert found.size == 10
    table.replace(0, first, ())
    table.replace(1, second, ())
    assert table.get("a") is None
    table.replace(1, (), second)
    found = table.get("a")
    assert found is not None
    assert found.size == 99


def test_changes_are_new_versions_and_reach_the_array() -> None:
    table = ImageTable()
    images = (image(10, "a"),)
    table.replace(0, (), images)
    version, found = table.version, table.get("a")
    assert found is not None
    assert found.slot_array().tolist() == [0]
    table.replace(0, images, images)
    assert table.version == version
    table.replace(5, (), images)
    assert table.version > version
    assert sorted(found.slot_array().tolist()) == [0, 5]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 12)), max_size=60))
def test_slots_are_those_of_a_set(steps: list[tuple[bool, int]]) -> None:
    state, plain = ImageState(1), set[int]()
    for adds, slot in steps:
        (state.add if adds else state.discard)(slot)
        (plain.add if adds else plain.discard)(slot)
        assert len(state) == len(plain)
        assert state.slot_array().tolist() == sorted(plain)
        assert {slot for slot in range(14) if slot in state} == plain
