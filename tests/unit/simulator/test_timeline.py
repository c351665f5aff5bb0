"""The events of a run, replayed here as the page replays them."""

from collections import Counter
from typing import Any

import pytest

from stowplan import api
from stowplan.simulator.demo import ScenarioRun, load_scenario
from stowplan.simulator.simulation import EPOCH
from stowplan.simulator.timeline import MAX_SAMPLES, RunTimeline
from stowplan.web import wire
from stowplan.web.columns import Times, copy_nodes
from stowplan.web.history import HistoryRing
from stowplan.web.mirror import Mirror


class Recorded:
    """The whole demo on a small cluster, with its columns at the end."""

    def __init__(self) -> None:
        self.run = ScenarioRun(load_scenario(), 60, 0)
        self.timeline = self.run.recorder.timeline = RunTimeline(by_attempts=False)
        self.timeline.begin(self.run.simulation)
        while self.run.simulation.step() or self.run.simulation.advance(EPOCH + self.run.scenario.seconds):
            pass
        self.mirror = Mirror("e", lambda: Times(0.0))
        self.mirror.begin(copy_nodes(self.run.simulation.engine.cluster))
        self.events = self.timeline.events(self.mirror)
        self.pods = self.timeline.pods(self.mirror)


@pytest.fixture(scope="module")
def recorded() -> Recorded:
    return Recorded()


def listed(column: Any, length: int) -> list[int]:
    return column if isinstance(column, list) else [column.all] * length


def test_events_lead_to_the_state_at_the_end(recorded: Recorded) -> None:
    events, pods = recorded.events, recorded.pods
    number = len(recorded.timeline.pod_names(recorded.mirror).suffix)
    node = listed(events.start, number)
    left = set()
    for kind, pod, where in zip(events.kind, events.pod, events.node, strict=True):
        if kind == wire.CREATED:
            assert node[pod] == -2
            node[pod] = -1
        elif kind == wire.BOUND:
            assert node[pod] == -1
            node[pod] = where
        elif kind == wire.GONE:
            node[pod] = -2
        elif kind == wire.LEFT:
            left.add(events.nodes[where])
    present = {pod.metadata.name: pod.spec.node_name for pod in recorded.run.simulation.api_server.all(api.Pod)}
    names = recorded.timeline.pod_names(recorded.mirror)
    prefixes = listed(names.prefix.index, number)
    for pod, where in enumerate(node):
        name = (names.prefix.values[prefixes[pod]] + names.suffix[pod]).partition("/")[2]
        if where != -2:
            assert present[name] == (events.nodes[where] if where >= 0 else "")
    assert Counter(node)[-2] == number - len(present)
    assert left == set(events.lost.name)
    assert len(left) == 2
    slots = {each.name: each.slot for each in recorded.run.simulation.engine.cluster.nodes}
    assert listed(pods.node, number) == [slots[events.nodes[where]] if where >= 0 else -1 for where in node]


def test_requests_of_pods_add_up_to_those_of_nodes(recorded: Recorded) -> None:
    number = len(recorded.timeline.pod_names(recorded.mirror).suffix)
    sums: Counter[int] = Counter()
    slots = listed(recorded.pods.node, number)
    for slot, cpu in zip(slots, listed(recorded.pods.requests["cpu"], number), strict=True):
        if slot >= 0:
            sums[slot] += cpu
    nodes = recorded.run.simulation.engine.cluster.nodes
    assert {info.slot: info.requested["cpu"] for info in nodes} == {info.slot: sums[info.slot] for info in nodes}


def test_a_page_of_events_continues_the_one_before(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    events = recorded.events
    monkeypatch.setattr("stowplan.simulator.timeline.MAX_ANSWER_EVENTS", 1000)
    first = recorded.timeline.events(recorded.mirror)
    later = recorded.timeline.events(recorded.mirror, 1000)
    assert (first.first, first.total, len(first.dt)) == (0, len(events.dt), 1000)
    assert (later.first, later.total) == (1000, len(events.dt))
    assert first.dt + later.dt == events.dt[:2000]
    assert first.kind + later.kind == events.kind[:2000]
    assert (first.nodes, later.nodes, later.start) == (events.nodes, [], [])
    assert sum(events.dt) <= 1000 * events.end
    assert min(events.dt) >= 0


def test_a_run_in_which_nothing_happens() -> None:
    """All pods had a node before."""
    events = RunTimeline(by_attempts=True).events(Mirror("e", lambda: Times(0.0)))
    assert (events.total, events.dt, events.kind) == (0, [], [])


def test_reasons_and_evictions(recorded: Recorded) -> None:
    events = recorded.events
    failed = {events.reasons[node] for kind, node in zip(events.kind, events.node, strict=True) if kind == wire.FAILED}
    assert "Insufficient cpu" in failed
    assert events.kind.count(wire.EVICTED) == len(recorded.run.recorder.evictions) > 0


def test_history(recorded: Recorded) -> None:
    history = HistoryRing("e")
    recorded.timeline.fill(history)
    found = history.since(-1.0)
    assert found.time[0] == 0.0
    assert found.time == sorted(set(found.time))
    assert 20 < len(found.time) <= MAX_SAMPLES + 1
    assert {len(values) for values in (*found.queues.values(), found.bound, found.use["cpu"])} == {len(found.time)}
    assert max(found.queues["gated"]) > 0
    assert 0.5 < max(found.use["cpu"]) <= 1.0
    bound = sum(
        rate * (now - then) for rate, now, then in zip(found.bound[1:], found.time[1:], found.time, strict=False)
    )
    assert bound == pytest.approx(recorded.run.recorder.bindings, rel=0.02)


def test_samples_are_thinned() -> None:
    run = ScenarioRun(load_scenario(), 6, 0)
    timeline = run.recorder.timeline = RunTimeline(by_attempts=True)
    timeline.begin(run.simulation)
    pod = next(iter(run.simulation.engine.cluster.pods.values()), None)
    assert pod is None
    while run.simulation.step() or run.simulation.advance(EPOCH + run.scenario.seconds):
        pass
    history = HistoryRing("e")
    timeline.fill(history)
    found = history.since(-1.0)
    assert timeline.events(Mirror("e")).unit == "attempts"
    assert found.time[-1] == run.recorder.decisions
    assert len(found.time) <= MAX_SAMPLES + 1
