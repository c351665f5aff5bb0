"""Label columns: ids, sizes and choices by value."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stowplan.cache import ABSENT, LabelColumn

changes = st.lists(st.tuples(st.integers(0, 7), st.sampled_from([None, "a", "b", "c"])), max_size=40)


@given(changes)
def test_sizes_follow_the_values(steps: list[tuple[int, str | None]]) -> None:
    column = LabelColumn("zone", 8)
    values: dict[int, str] = {}
    for slot, text in steps:
        version, before = column.version, values.get(slot)
        column.put(slot, {"other": "x"} if text is None else {"zone": text})
        values.pop(slot, None)
        values |= {} if text is None else {slot: text}
        assert (column.version != version) == (text != before)
    texts = list(values.values())
    assert {text: column.sizes[column.find(text)] for text in texts} == {text: texts.count(text) for text in texts}
    assert (column.present, column.occupied) == (len(texts), len(set(texts)))
    assert column.unique == (len(texts) == len(set(texts)))
    assert column.array.tolist() == column.values
    assert [ABSENT if i == ABSENT else column.texts[i] for i in column.values] == [
        values.get(slot, ABSENT) for slot in range(8)
    ]


def test_growing_keeps_values() -> None:
    column = LabelColumn("zone", 2)
    column.put(1, {"zone": "a"})
    column.where(np.array([True, False]), slice(0, 2))
    column.grow(4)
    assert column.values == column.array.tolist() == [ABSENT, 0, ABSENT, ABSENT]
    assert column.where(np.array([True, False]), slice(0, 4)).tolist() == [False, True, False, False]


def test_unknown_values_are_nobodys() -> None:
    column = LabelColumn("zone", 2)
    assert column.find("a") not in column.values


@given(st.integers(1, 400), st.data())
def test_choices_by_value(values: int, data: st.DataObject) -> None:
    """Few values are looked up in kept masks and many are not; both ways mean the same."""
    column = LabelColumn("zone", values + 3)
    for slot in range(values + 2):
        column.put(slot, {"zone": str(slot % values)})
    chosen = np.array([data.draw(st.booleans()) for _ in range(4)] * (values // 4 + 1))[: values + 1]
    expected = [bool(chosen[slot % values]) for slot in range(values + 2)] + [bool(chosen[-1])]
    slots = np.array([values + 2, 0], dtype=np.intp)
    for _ in range(2):
        assert column.where(chosen, slice(0, values + 3)).tolist() == expected
        assert column.where(chosen, slots).tolist() == [expected[-1], expected[0]]
    column.put(0, {})
    assert column.where(chosen, slice(0, 1)).tolist() == [bool(chosen[-1])]


def test_choices_that_differ_little_from_the_one_before() -> None:
    random = Random(7)
    column = LabelColumn("zone", 40)
    for slot in range(37):
        column.put(slot, {"zone": f"z{slot % 9}"} if slot % 5 else {})
    chosen = np.ones(len(column.texts) + 1, dtype=np.bool_)
    for turn in range(300):
        for _ in range(random.randint(0, 5)):
            chosen[random.randrange(len(chosen))] ^= True
        assert column.where(chosen, slice(0, 40)).tolist() == chosen[column.array].tolist()
        if turn % 50 == 49:
            column.put(random.randrange(37), {"zone": f"z{random.randrange(9)}"})


def test_ids_of_values_that_are_gone_are_taken_again() -> None:
    column = LabelColumn("host", 4)
    for i in range(1000):
        column.put(i % 4, {"host": f"h{i}"})
    assert sorted(filter(None, column.texts)) == [f"h{i}" for i in range(996, 1000)]
    assert len(column.texts) <= 5
    assert [column.find(f"h{i}") >= 0 for i in (995, 996, 999)] == [False, True, True]
    assert column.unique


def test_columns_of_keys_that_no_node_has_share_their_storage() -> None:
    one, other = LabelColumn("one", 8), LabelColumn("other", 8)
    assert one.array is other.array
    assert one.values is other.values
    one.put(3, {"one": "a"})
    assert other.values == [ABSENT] * 8
    assert one.values[3] == 0
    one.put(3, {})
    assert one.array is other.array
    one.grow(16)
    other.grow(16)
    assert one.values is other.values
    assert len(one.values) == 16


def test_versions_differ_between_columns_of_one_key() -> None:
    """A column that is made again for a key must not pass for the earlier one."""
    first, second = LabelColumn("zone", 2), LabelColumn("zone", 2)
    first.put(0, {"zone": "a"})
    second.put(1, {"zone": "a"})
    assert first.version != second.version
