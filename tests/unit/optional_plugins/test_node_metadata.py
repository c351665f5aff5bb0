from random import Random
from typing import Any

import pytest
from tests.builders import node, pod
from tests.unit.optional_plugins.test_registry import configuration
from tests.unit.optional_plugins.test_small_score_plugins import scores, world_with

from stowplan.config import InvalidConfigurationError, from_builtins
from stowplan.optional_plugins.base.go_time import parse_go_time
from stowplan.optional_plugins.node_metadata import NO_VALUE

NAME = "NodeMetadata"
NUMBER = {"metadataKey": "rank", "metadataSource": "Label", "metadataType": "Number", "scoringStrategy": "Highest"}
TIME = {
    "metadataKey": "since",
    "metadataSource": "Annotation",
    "metadataType": "Timestamp",
    "scoringStrategy": "Newest",
}


@pytest.mark.parametrize(
    ("strategy", "values", "expected"),
    [
        ("Highest", ["10", "20", "15"], [(10, 1), (20, 100), (15, 50)]),
        ("Lowest", ["10", "20", "15"], [(-10, 100), (-20, 1), (-15, 50)]),
        ("Highest", ["1.9", "-1.9", "1e3"], [(1, 1), (-1, 1), (1000, 100)]),
        ("Highest", ["7", None, "many"], [(7, 1), (NO_VALUE, 0), (NO_VALUE, 0)]),
        ("Highest", [None, "nan", "inf"], [(NO_VALUE, 0)] * 3),
        ("Highest", ["1_000", "0x10", ""], [(NO_VALUE, 0)] * 3),
        ("Highest", ["9e18", "-9e18", "0"], [(9 * 10**18, 100), (-9 * 10**18, 1), (0, 50)]),
        ("Highest", ["1e300", "5", "5"], [(2**63 - 1, 100), (5, 1), (5, 1)]),
    ],
)
def test_numbers(strategy: str, values: list[str | None], expected: list[tuple[int, int]]) -> None:
    nodes = [node(f"n{i}", labels={} if value is None else {"rank": value}) for i, value in enumerate(values)]
    found = scores(world_with(NAME, {**NUMBER, "scoringStrategy": strategy}, nodes), NAME, pod("p"))
    assert list(found.values()) == expected


@pytest.mark.parametrize(("strategy", "expected"), [("Newest", [1, 50, 100, 0]), ("Oldest", [100, 50, 1, 0])])
def test_times(strategy: str, expected: list[int]) -> None:
    times = ["2026-01-01T00:00:00Z", "2026-01-01T02:00:00+01:00", "2026-01-01T02:00:00.5Z", "yesterday"]
    nodes = [node(f"n{i}", annotations={"since": text}) for i, text in enumerate(times)]
    found = scores(world_with(NAME, {**TIME, "scoringStrategy": strategy}, nodes), NAME, pod("p"))
    assert [normalized for _, normalized in found.values()] == expected


def test_random_numbers_equal_a_plain_reference() -> None:
    random = Random(3)
    values = {f"n{i}": random.choice([random.randint(-(10**9), 10**9), None]) for i in range(1000)}
    nodes = [node(name, labels={} if value is None else {"rank": str(value)}) for name, value in values.items()]
    known = [value for value in values.values() if value is not None]
    low, high = min(known), max(known)
    expected = {name: 0 if value is None else (value - low) * 99 // (high - low) + 1 for name, value in values.items()}
    found = scores(world_with(NAME, NUMBER, nodes), NAME, pod("p"))
    assert {name: normalized for name, (_, normalized) in found.items()} == expected


@pytest.mark.parametrize(
    ("layout", "text", "expected"),
    [
        ("2006-01-02T15:04:05Z07:00", "1970-01-02T00:00:00Z", 86400),
        ("2006-01-02T15:04:05Z07:00", "1970-01-02T00:00:00+01:00", 82800),
        ("2006-01-02", "1970-01-03", 172800),
        ("Jan _2 15:04:05 2006", "Jan  2 00:00:01 1970", 86401),
        ("Mon, 02 Jan 2006 15:04:05 -0700", "Fri, 02 Jan 1970 01:00:00 +0100", 86400),
        ("02/01/06 03:04 PM", "02/01/70 01:00 PM", 86400 + 13 * 3600),
        ("January 2, 2006", "February 1, 1970", 31 * 86400),
        ("2006-01-02 15:04:05.000", "1970-01-01 00:00:01.25", 1.25),
        ("2006-01-02", "1970-13-03", None),
        ("2006-01-02", "1970-02-30", None),
        ("2006-01-02", "1970-02-03 ", None),
    ],
)
def test_go_layouts(layout: str, text: str, expected: float | None) -> None:
    assert parse_go_time(layout, text) == expected


def test_args_are_validated() -> None:
    enabled = {"score": {"enabled": [{"name": NAME}]}}

    def errors(args: dict[str, Any]) -> list[str]:
        with pytest.raises(InvalidConfigurationError) as caught:
            from_builtins(configuration(enabled, {"name": NAME, "args": args}))
        return [f"{error.path.rpartition('.')[2]}: {error.message}" for error in caught.value.errors]

    assert errors({}) == [
        'metadataKey: Invalid value: "": metadataKey cannot be empty',
        'metadataSource: Invalid value: "": metadataSource must be either "Label" or "Annotation"',
        'metadataType: Invalid value: "": metadataType must be either "Number" or "Timestamp"',
    ]
    assert errors({**NUMBER, "scoringStrategy": "Newest"}) == [
        'scoringStrategy: Invalid value: "Newest": scoringStrategy must be either "Highest" or "Lowest"'
    ]
