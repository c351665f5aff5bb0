from __future__ import annotations

import pytest

from stowplan.traces import Arrival, TraceObjects
from stowplan.traces.objects import object_name


def names(key: str, gang: int) -> list[str]:
    found = TraceObjects().pods(Arrival(0.0, key, key, {"cpu": 1}, 1.0, gang=gang))
    return [pod.metadata.name for pod in found]


@pytest.mark.parametrize("gang", [1, 2, 100_000])
def test_names_of_long_keys_differ(gang: int) -> None:
    """The keys differ at the end, as task names of a long job do, or at the beginning."""
    first, second, third = (names(key, gang)[-1] for key in ("j" * 70 + "-1", "j" * 70 + "-2", "k" + "j" * 69 + "-1"))
    assert len({first, second, third}) == 3
    assert max(map(len, (first, second, third))) <= 63


@pytest.mark.parametrize(("text", "name"), [("A_b.c", "a-b-c"), ("--", "x"), ("x" * 63, "x" * 63)])
def test_names_that_fit_keep_their_text(text: str, name: str) -> None:
    assert object_name(text) == name


def test_members_of_a_gang_have_its_key() -> None:
    assert names("k" * 56, 2) == ["k" * 56 + "-0", "k" * 56 + "-1"]
