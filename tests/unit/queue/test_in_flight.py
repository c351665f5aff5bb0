from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.queue.fakes import NODE_ADD, make_pod, names

from stowplan.framework import QueuedPodInfo
from stowplan.queue.in_flight import FORGOTTEN, InFlight

UNITS = {name: QueuedPodInfo(make_pod(name), 0.0) for name in "abcd"}
UIDS = {name: unit.pod.uid for name, unit in UNITS.items()}


def play(script: str, in_flight: InFlight) -> InFlight:
    """A letter pops a unit, the capital letter is its end, a digit is an event."""
    for step in script:
        if step.isdigit():
            in_flight.record(NODE_ADD, None, step)
        elif step.islower():
            in_flight.enter(UNITS[step])
        else:
            in_flight.leave(UIDS[step.lower()])
    return in_flight


def missed(in_flight: InFlight, name: str) -> list[Any]:
    return [FORGOTTEN if event is FORGOTTEN else new for event, _, new in in_flight.events_since(UNITS[name])]


@pytest.mark.parametrize(
    ("script", "a", "b", "kept"),
    [
        ("ab", "", "", 0),
        ("a12b3", "123", "3", 3),
        ("a12b3A", None, "3", 1),
        ("ab1A2", None, "12", 2),
        ("b1a2B", "2", None, 1),
        ("b1a2A", None, "12", 2),
        ("a1Aa2", "2", None, 1),
        ("a1b2AB", None, None, 0),
        ("c1a2b3A", None, "3", 3),
        ("c1a2b3AC", None, "3", 1),
    ],
)
def test_a_unit_misses_what_came_after_it(script: str, a: str | None, b: str | None, kept: int) -> None:
    in_flight = play(script, InFlight())
    for name, events in (("a", a), ("b", b)):
        assert (UIDS[name] in in_flight) is (events is not None)
        if events is not None:
            assert missed(in_flight, name) == list(events)
    assert in_flight.events == kept


def test_who_is_in_flight() -> None:
    in_flight = play("abcB", InFlight())
    assert (len(in_flight), names(in_flight)) == (2, ["a", "c"])


def test_units_that_stay_long_do_not_keep_everything() -> None:
    in_flight = play("a12b3456", InFlight(max_events=4))
    assert in_flight.events == 4
    assert missed(in_flight, "a") == [FORGOTTEN, *"3456"]
    assert missed(in_flight, "b") == list("3456")
    play("7c8", in_flight)
    assert missed(in_flight, "b") == [FORGOTTEN, *"5678"]
    play("AB", in_flight)
    assert (missed(in_flight, "c"), in_flight.events) == (["8"], 1)
    play("C", in_flight)
    assert in_flight.events == 0


@given(st.lists(st.sampled_from("abcdABCD0123456789"), max_size=60))
def test_no_event_is_lost_and_none_is_kept_for_nobody(steps: list[str]) -> None:
    in_flight = InFlight()
    expected: dict[str, list[str]] = {}
    for step in steps:
        if step.islower() == (step.lower() in expected) and step.isalpha():
            continue
        if step.isdigit() and not expected:
            continue
        play(step, in_flight)
        if step.isdigit():
            for events in expected.values():
                events.append(step)
        elif step.islower():
            expected[step] = []
        else:
            del expected[step.lower()]
        assert {name: missed(in_flight, name) for name in expected} == expected
        assert in_flight.events == max(map(len, expected.values()), default=0)
