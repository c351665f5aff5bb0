import json
from typing import NamedTuple

import msgspec

from stowplan.bench.result import Comparison, Result, encode, ratios_of

CONTRACT = {
    "scenario": "basic",
    "nodes": 5000,
    "pods": 20000,
    "per_second": 1234.568,
    "cpu_us_per_pod": 1.5,
    "p50_us": 1.25,
    "p99_us": 9.0,
    "rss_mib": 100.0,
    "calibration_s": 0.5,
    "scaled_per_second": 617.284,
    "floor": 20000,
    "checked": 200,
    "agreed": 200,
    "unplaced": 0,
    "peers": {},
    "ratios": {},
}
RESULT = Result(**CONTRACT | {"per_second": 1234.5678})  # type: ignore[arg-type]


def test_json_is_one_line_with_the_fields_of_the_contract() -> None:
    line = RESULT.to_json()
    assert b"\n" not in line
    assert json.loads(line) == CONTRACT


def test_a_scenario_without_a_floor_has_it_as_null() -> None:
    assert json.loads(msgspec.structs.replace(RESULT, floor=None).to_json())["floor"] is None


def test_what_applies_to_some_scenarios_only_is_there_when_it_applies() -> None:
    extra = {"max_rss_mib": 250.0, "cost_ratio": 1.2, "max_cost_ratio": 2.0}
    assert json.loads(msgspec.structs.replace(RESULT, **extra).to_json()) == CONTRACT | extra


class Figures(NamedTuple):
    rate: float
    cpu: float


def test_ratios_are_ours_divided_by_theirs() -> None:
    peers = {"a": Figures(5.0, 2.0), "b": Figures(0.0, 1.0)}
    ratios = ratios_of(Figures(10.0, 1.0), peers, ("rate", "cpu"))
    assert ratios["a"] == {"rate": 2.0, "cpu": 0.5}
    assert ratios["b"]["rate"] > 1e6, "nobody divides by zero"


def test_a_line_has_three_decimals() -> None:
    line = encode({"a": [1.23456], "b": {"c": 2.0004}, "d": [Comparison(bar="x", measured=0.12345, met=True)], "e": 7})
    assert json.loads(line) == {
        "a": [1.235],
        "b": {"c": 2.0},
        "d": [{"bar": "x", "measured": 0.123, "met": True}],
        "e": 7,
    }
