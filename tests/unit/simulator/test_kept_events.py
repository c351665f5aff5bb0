from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.simulator.simulated_cluster import SimulatedCluster, pod

from stowplan.framework.instructions import EmitEvent, RepeatEvent
from stowplan.simulator import kept_events
from stowplan.simulator.kept_events import KeptEvents

POD = SimulatedCluster(pod("a")).scheduled("a")


def event(note: str) -> EmitEvent:
    return EmitEvent(POD, "Normal", "Scheduled", "Binding", note)


@given(st.lists(st.integers(1, 400), max_size=30), st.integers(1, 500))
def test_the_latest_events_are_kept(sizes: list[int], most: int) -> None:
    events, notes = KeptEvents(most), []
    for number, size in enumerate(sizes):
        repeated = RepeatEvent([POD] * size, "Warning", "FailedScheduling", "Scheduling", str(number))
        events.append(event(str(number)) if size == 1 else repeated)
        notes += [str(number)] * size
    assert [each.note for each in events] == notes[-most:]
    assert len(events) == len(notes[-most:])


def test_older_events_are_dropped() -> None:
    events = KeptEvents(10)
    for number in range(10_000):
        events.append(event(str(number)))
        assert len(events._entries) <= 10 + kept_events._MAX_SURPLUS_EVENTS
    assert [each.note for each in events] == [str(number) for number in range(9990, 10_000)]
    assert events.popleft().note == "9990"
