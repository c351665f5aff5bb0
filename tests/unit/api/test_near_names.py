"""Near spellings of names."""

from __future__ import annotations

import pytest

from stowplan.api.near_names import edit_distance, near_names


@pytest.mark.parametrize(
    ("name", "known", "found"),
    [
        ("disktype", ["disk-type", "DiskType", "region"], ["DiskType", "disk-type"]),
        ("postgres-dta", ["postgres-data", "postgres", "postgres-dat"], ["postgres-data", "postgres-dat"]),
        ("nvme", ["nvm", "ssd", "nvme"], ["nvm"]),
        ("a", ["b", "c"], []),
    ],
)
def test_near_names_are_found_the_nearest_first(name: str, known: list[str], found: list[str]) -> None:
    assert near_names(name, known) == found


@pytest.mark.parametrize(("a", "b", "distance"), [("zone", "zone", 0), ("zone", "zones", 1), ("12", "21", 2)])
def test_edit_distance_is_counted_up_to_a_limit(a: str, b: str, distance: int) -> None:
    assert edit_distance(a, b) == distance
