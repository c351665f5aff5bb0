from types import SimpleNamespace
from typing import Any, cast

import pytest

from stowplan.bench.plugins import RackCare
from stowplan.framework import CycleState

NOTHING = cast("Any", None)


@pytest.mark.parametrize(
    ("labels", "refused", "score"),
    [
        ({}, False, 0),
        ({"example.com/rack-state": "ok", "example.com/spare-cooling": "14"}, False, 14),
        ({"example.com/rack-state": "maintenance", "example.com/spare-cooling": "3"}, True, 3),
    ],
)
def test_rack_care(labels: dict[str, str], refused: bool, score: float) -> None:
    plugin = RackCare({}, NOTHING)
    node = cast("Any", SimpleNamespace(labels=labels))
    assert (plugin.filter(CycleState(), NOTHING, node) is not None) is refused
    assert plugin.score(CycleState(), NOTHING, node) == score
