from __future__ import annotations

import numpy as np
import pytest
from tests.unit.runtime.preemption.crowded import COUNT, DEMANDS, EVERY, crowd, told

from stowplan.runtime.preemption.dry_run_many import Cleared, DryRunMany, candidate_of
from stowplan.runtime.preemption.victim_table import VictimTable


@pytest.fixture
def arithmetic() -> DryRunMany:
    return DryRunMany(VictimTable.of(crowd().profile, 50), DEMANDS)


def test_what_is_left_without_victims(arithmetic: DryRunMany) -> None:
    pods, cpu = arithmetic.spare(EVERY, None)
    assert pods.tolist() == [109] * (COUNT - 1) + [108]
    assert cpu.tolist() == [2000] * (COUNT - 1) + [-1000]


def test_who_has_to_go(arithmetic: DryRunMany) -> None:
    cleared = arithmetic.clear(np.array([3, 4, 7, 8]), None)
    assert told(cleared) == [
        # Four pods of half a core on four cores: nobody is in the way, so node 3 is no matter of evictions.
        (4, [2, 3, 4], [0, 2 + (1 << 31), 3 + (3 << 31), 3, -(1 << 62)]),
        (7, [2], [0, 0 + (1 << 31), 0 + (1 << 31), 1, -(1 << 62)]),
        (8, [1, 2, 3], [0, 2 + (1 << 31), 3 + (3 << 31), 3, -(1 << 62)]),
    ]


def test_one_node_in_plain_ints(arithmetic: DryRunMany) -> None:
    vector = {slot: places for slot, places, _ in told(arithmetic.clear(EVERY, None))}
    assert {slot: arithmetic.clear_one(slot, None)[1] for slot in EVERY.tolist()} == {
        slot: vector.get(slot, []) for slot in EVERY.tolist()
    }


def test_nominated_pods_take_their_share(arithmetic: DryRunMany) -> None:
    nominated = np.zeros((2, COUNT), dtype=np.int64)
    nominated[:, 4] = (1, 1000)
    nominated[:, 7] = (1, 2500)
    assert [(slot, places) for slot, places, _ in told(arithmetic.clear(np.array([4, 7]), nominated))] == [
        (4, [1, 2, 3, 4])
    ]
    assert arithmetic.clear_one(4, nominated)[1] == [1, 2, 3, 4]
    assert arithmetic.clear_one(7, nominated)[1] == []


def test_parts_of_different_widths(arithmetic: DryRunMany) -> None:
    one, other = arithmetic.clear(np.array([1, 2]), None), arithmetic.clear(np.array([4, 7, 8]), None)
    assert len(one.victims) < len(other.victims)
    joined = Cleared.joined((one, other))
    assert told(joined) == told(one) + told(other)
    assert told(joined.head(2)) == told(joined)[:2]
    assert told(other.where(np.array([True, False, True]))) == told(other)[::2]


def test_a_candidate_of_a_row(arithmetic: DryRunMany) -> None:
    row, places = arithmetic.clear_one(4, None)
    candidate = candidate_of(row._replace(protected=3), places)
    assert candidate.info.name == "n4"
    assert [victim.name for victim in candidate.victims] == ["p4-2", "p4-1", "p4-0"]
    assert candidate.violations == 1
