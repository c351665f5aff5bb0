import json

import msgspec

from stowplan.bench.result import Result

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
