"""Label columns: ids, sizes and choices by value."""

from __future__ import annotations

import sys
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.api.selectors import SelectorRequirement, requirements_match
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


TOP = 2**63 - 1
numbers = st.one_of(
    st.integers(-3, 3).map(str),
    st.sampled_from([TOP - 1, TOP, TOP + 1, -TOP, -TOP - 1, -TOP - 2]).map(str),
    st.sampled_from(["", "-", "+2", "-0", "007", "0" * 62 + "1", "9" * 63]),
    st.sampled_from(["1_0", " 1", "1\n", "0x1", "1.0", "1e1", "٣", "²", "big"]),
)
number_changes = st.lists(st.tuples(st.integers(0, 5), st.none() | numbers), max_size=12)


@given(st.lists(st.tuples(number_changes, st.sampled_from(["Gt", "Lt"]), numbers), max_size=5), st.integers(6, 9))
def test_numbers_are_compared_as_one_label_is(
    steps: list[tuple[list[tuple[int, str | None]], str, str]], later_size: int
) -> None:
    column = LabelColumn("size", 6)
    labels: list[dict[str, str]] = [{} for _ in range(6)]
    for puts, operator, bound in steps:
        for slot, text in puts:
            labels[slot] = {} if text is None else {"size": text}
            column.put(slot, labels[slot])
        if puts and len(labels) < later_size:
            column.grow(later_size)
            labels += [{} for _ in range(later_size - len(labels))]
        wanted = SelectorRequirement("size", operator, (bound,))
        expected = [requirements_match((wanted,), each) for each in labels]
        assert column.matching(wanted, slice(0, len(labels))).tolist() == expected
        assert column.matching(wanted, np.array([5, 0])).tolist() == [expected[5], expected[0]]


@pytest.mark.parametrize("operator", ["Gt", "Lt"])
def test_the_labels_of_nodes_are_parsed_once_for_all_bounds(operator: str) -> None:
    """A pod can have thousands of such terms, and a cluster thousands of values."""
    column = LabelColumn("size", 500)
    for slot in range(500):
        column.put(slot, {"size": str(slot)})
    calls = 0

    def count_call(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count_call)
    try:
        for bound in range(200):
            column.matching(SelectorRequirement("size", operator, (str(bound),)), slice(0, 500))
            column.put(bound, {"size": f"1{bound}"})
    finally:
        sys.setprofile(None)
    assert calls <= 500 * 3 + 200 * 20
