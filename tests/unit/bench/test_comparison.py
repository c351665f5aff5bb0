import json
from typing import NamedTuple

from stowplan.bench.comparison import Comparison, encode, ratios_of


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
