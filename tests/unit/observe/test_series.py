import math
import random

import pytest

from stowplan.observe.series import Family, Histogram, NumberSeries, Sample, Tally, exponential, go_float, take

BOUNDS = (1.0, 2.0, 4.0)


def numbers(*label_names: str) -> Family[NumberSeries]:
    return Family("m", "counter", "", label_names, NumberSeries)


def test_a_value_on_a_bound_belongs_below_it() -> None:
    histogram = Histogram(BOUNDS)
    for value in (0.5, 1.0, 1.5, 4.0, 4.1):
        histogram.observe(value)
    assert histogram.counts == [2, 1, 1, 1]
    assert histogram.sum == pytest.approx(11.1)


def test_many_values_at_once_are_counted_as_one_by_one() -> None:
    rng = random.Random(7)
    values = [rng.choice((*BOUNDS, rng.random() * 6)) for _ in range(500)]
    one_by_one, at_once = Histogram(BOUNDS), Histogram(BOUNDS)
    for value in values:
        one_by_one.observe(value)
    at_once.observe_many(values)
    assert at_once.counts == one_by_one.counts
    assert at_once.sum == pytest.approx(one_by_one.sum)


def test_observing_several_times() -> None:
    histogram = Histogram(BOUNDS)
    histogram.observe(3.0, 5)
    assert (histogram.counts, histogram.sum) == ([0, 0, 5, 0], 15.0)


def test_buckets_are_cumulative_and_end_with_all() -> None:
    histogram = Histogram(BOUNDS)
    histogram.observe_many([0.5, 3.0, 9.0])
    samples = list(histogram.samples({"a": "b"}))
    assert [(sample.labels.get("le"), sample.value) for sample in samples] == [
        ("1", 1),
        ("2", 1),
        ("4", 2),
        ("+Inf", 3),
        (None, 12.5),
        (None, 3),
    ]
    assert [sample.suffix for sample in samples[-2:]] == ["_sum", "_count"]


def test_the_same_labels_give_the_same_series() -> None:
    family = numbers("result")
    family.series("a").add(2)
    assert family.series("a").value == 2
    assert family.series("b").value == 0


def test_a_family_without_labels_is_there_from_the_start() -> None:
    assert list(numbers().samples()) == [Sample("", {}, 0.0)]
    assert not list(numbers("result").samples())


def test_labels_are_told_in_alphabetical_order() -> None:
    family = numbers("b", "a")
    family.series("1", "2")
    assert [list(sample.labels.items()) for sample in family.samples()] == [[("a", "2"), ("b", "1")]]


def test_label_values_that_are_not_allowed_share_one_series() -> None:
    family = numbers("event", "queue")
    surprises: list[None] = []
    family.on_unexpected = lambda: surprises.append(None)
    family.allowed = {"event": {"NodeAdd"}}
    for event in ("NodeAdd", "PodAdd", "NodeDelete"):
        family.series(event, "active").add()
    assert {sample.labels["event"]: sample.value for sample in family.samples()} == {"NodeAdd": 1, "unexpected": 2}
    assert len(surprises) == 2


def test_reset_keeps_series_in_the_hands_of_their_holders() -> None:
    family = numbers("result")
    held = family.series("a")
    held.add(3)
    family.reset()
    held.add()
    assert [sample.value for sample in family.samples()] == [1]


def test_reset_leaves_gauges_alone() -> None:
    family = Family("m", "gauge", "", (), NumberSeries)
    family.series().set(3)
    family.reset()
    assert family.series().value == 3


def test_exponential_bounds_are_multiplied_step_by_step() -> None:
    assert exponential(0.00001, 1.5, 3) == (1e-05, 1.5000000000000002e-05, 2.2500000000000005e-05)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (-3.0, "-3"),
        (0.25, "0.25"),
        (1e-05, "1e-05"),
        (999999.0, "999999"),
        (1000000.0, "1e+06"),
        (1048576.0, "1.048576e+06"),
        (2592000.0, "2.592e+06"),
        (1.8446744073709552e19, "1.8446744073709552e+19"),
        (1794748849.69, "1.79474884969e+09"),
        (-1e6, "-1e+06"),
        (1e100, "1e+100"),
        (math.inf, "+Inf"),
        (-math.inf, "-Inf"),
        (math.nan, "NaN"),
    ],
)
def test_numbers_look_as_go_writes_them(value: float, text: str) -> None:
    assert go_float(value) == text


def test_a_tally_returns_what_is_new() -> None:
    tally: Tally[str] = Tally()
    tally["a"] = 2
    tally["b"] = 1
    assert tally.new() == {"a": 2, "b": 1}
    tally["a"] += 3
    assert tally.new() == {"a": 3}
    assert tally.new() == {}


def test_taken_items_are_gone() -> None:
    items = [1, 2]
    assert take(items) == [1, 2]
    assert items == []
