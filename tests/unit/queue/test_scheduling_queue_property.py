"""Whatever happens, every pod is in one place, comes in its turn, and hears of all that happened while it was tried."""

from __future__ import annotations

from collections import Counter
from math import floor
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.unit.queue.fakes import NODE_ADD, NODE_DELETE, NODE_LABEL, PLACES, PV_ADD, Rig, make_pod, sort_key

from stowplan.framework import Pod, QueuedPodInfo

LABELLED, UPDATED, ACTIVATED, FLUSHED = "new labels", "updated", "activated", "flushed"
PODS = {
    f"p{i}": [
        make_pod(f"p{i}", priority, namespace="even" if i % 2 == 0 else "odd", labels=labels)
        for priority, labels in ((i % 3, {}), (i % 3, {"a": "b"}), ((i + 1) % 3, {}))
    ]
    for i in range(6)
}
"""Some versions of each pod."""
NAMES = st.sampled_from(sorted(PODS))
REJECTORS = st.sets(st.sampled_from(["Adds", "Labels", "Always", "Own"]), max_size=2)


def helps(name: str, plugin: str, event: Any, new: str) -> bool:
    """What the plugins of the rig make of events, for a pod."""
    if event in (ACTIVATED, FLUSHED):
        return new in ("", name)
    wakes = {"Adds": NODE_ADD, "Labels": NODE_LABEL, "Always": NODE_DELETE, "Own": LABELLED}[plugin]
    return event == wakes and (plugin in ("Always", "Own") or bool(new))


class QueueMachine(RuleBasedStateMachine):
    """The queue beside the plainest model of it: which pods there are, and what each in flight has missed."""

    keyed = True
    share = 0.0

    def __init__(self) -> None:
        super().__init__()
        self.rig = Rig(start=50.25, keyed=self.keyed, max_namespace_share=self.share)
        self.queue = self.rig.queue
        self.known: dict[str, Pod] = {}
        self.flying: dict[str, QueuedPodInfo] = {}
        self.missed: dict[str, list[tuple[Any, str]]] = {}

    def happened(self, event: Any, new: str = "") -> None:
        for events in self.missed.values():
            events.append((event, new))

    @rule(name=NAMES)
    def add(self, name: str) -> None:
        if name not in self.known:
            self.known[name] = PODS[name][0]
            self.queue.add(PODS[name][0])

    @rule(name=NAMES, version=st.integers(0, 2))
    def update(self, name: str, version: int) -> None:
        old, new = self.known.get(name, PODS[name][0]), PODS[name][version]
        self.known[name] = new
        self.queue.update(old, new)
        if name in self.flying:
            self.happened(LABELLED if old.labels != new.labels else UPDATED)

    @rule(name=NAMES)
    def remove(self, name: str) -> None:
        self.queue.remove(PODS[name][0])
        if name not in self.flying:
            self.known.pop(name, None)

    @rule()
    def pop(self) -> None:
        active, backoff = list(self.queue.active), list(self.queue.backoff)
        unit = self.queue.pop()
        if unit is None:
            assert not active
            assert not backoff
            return
        if active:
            assert unit in active
            assert all(sort_key(unit) <= sort_key(other) for other in active)
        else:
            assert unit in backoff
            assert all((_until(unit), sort_key(unit)) <= (_until(other), sort_key(other)) for other in backoff)
        self.popped(unit)

    def popped(self, unit: QueuedPodInfo) -> None:
        name = unit.pod.name
        assert unit.pod is self.known[name]
        assert name not in self.flying
        self.flying[name] = unit
        self.missed[name] = []

    @precondition(lambda self: self.flying)
    @rule(which=st.integers(0, 5), rejectors=REJECTORS, pending=REJECTORS)
    def fail(self, which: int, rejectors: set[str], pending: set[str]) -> None:
        name = sorted(self.flying)[which % len(self.flying)]
        unit, missed = self.flying.pop(name), self.missed.pop(name)
        unit.pod = self.known[name]
        self.rig.fail(unit, *rejectors, pending=pending)
        expected = "backoff" if rejectors or pending else "error_backoff"
        woken = any(helps(name, plugin, *event) for event in missed for plugin in rejectors | pending)
        if not woken and expected == "backoff":
            expected = "unschedulable"
        elif name in self.rig.gated:
            expected = "gated"
        elif any(helps(name, p, *event) for event in missed if event[0] not in (ACTIVATED, FLUSHED) for p in pending):
            expected = "active"
        assert self.rig.where(name) == expected

    @precondition(lambda self: self.flying)
    @rule(which=st.integers(0, 5))
    def bind(self, which: int) -> None:
        name = sorted(self.flying)[which % len(self.flying)]
        self.queue.done(self.flying.pop(name).pod.uid)
        del self.missed[name], self.known[name]

    @rule(event=st.sampled_from([NODE_ADD, NODE_LABEL, NODE_DELETE, PV_ADD]), new=st.sampled_from(["", "helps"]))
    def move(self, event: Any, new: str) -> None:
        waiting = {
            unit.pod.name: unit.unschedulable_plugins | unit.pending_plugins for unit in self.queue.unschedulable
        }
        self.queue.move(event, None, new)
        for name, rejectors in waiting.items():
            woken = self.rig.where(name) != "unschedulable"
            assert woken is any(helps(name, plugin, event, new) for plugin in rejectors - {"Gate"})
        if event != PV_ADD:
            self.happened(event, new)

    @rule(name=NAMES)
    def activate(self, name: str) -> None:
        self.queue.activate([PODS[name][0]])
        if name in self.flying:
            self.happened(ACTIVATED, name)
        elif name in self.known:
            assert self.rig.where(name) in ("active", "gated")

    @rule(name=NAMES, closed=st.booleans())
    def gate(self, name: str, closed: bool) -> None:
        if closed:
            self.rig.gated[name] = "Gate"
        else:
            self.rig.gated.pop(name, None)

    @rule(seconds=st.sampled_from([0.25, 1.0, 3.5, 30.0, 400.0]))
    def wait(self, seconds: float) -> None:
        self.rig.clock.now += seconds
        self.rig.entered.clear()
        self.queue.tick()
        if any(label == "UnschedulableTimeout" for _, label in self.rig.entered):
            self.happened(FLUSHED)
        deadline = self.queue.next_deadline()
        assert deadline is None or deadline > self.rig.clock.now
        assert all(
            _until(unit) >= floor(self.rig.clock.now) for unit in (*self.queue.backoff, *self.queue.error_backoff)
        )

    @invariant()
    def every_pod_is_in_one_place(self) -> None:
        places = Counter(unit.pod.name for place in PLACES for unit in getattr(self.queue, place))
        assert places == Counter(list(self.known))
        assert {unit.pod.name for unit in self.queue.in_flight_pods} == self.flying.keys()
        assert len(self.queue) + len(self.flying) == len(self.known)
        assert sum(self.queue.counts().values()) == len(self.queue)
        for name, pod in self.known.items():
            assert self.queue.in_flight(pod.uid) is (name in self.flying)
            assert self.queue.is_queued(pod.uid) is (name not in self.flying)

    @invariant()
    def events_are_kept_for_those_in_flight_only(self) -> None:
        assert self.queue._in_flight.events == max((len(events) for events in self.missed.values()), default=0)


def _until(unit: QueuedPodInfo) -> float:
    assert unit.backoff_expiration is not None
    return unit.backoff_expiration


class LessMachine(QueueMachine):
    """The same for a queue that is sorted by `less`."""

    keyed = False


class ThrottledMachine(QueueMachine):
    """Attempts may be expensive, so that pods of their namespace are held back when it is their turn."""

    share = 0.25

    @rule(seconds=st.sampled_from([0.0, 0.0, 0.5, 4.0, 30.0]))
    def pop(self, seconds: float = 0.0) -> None:
        unit = self.queue.pop()
        if unit is None:
            assert not list(self.queue.active)
            assert not list(self.queue.backoff)
            assert not list(self.queue.throttled) or self.queue.next_deadline() is not None
            return
        attempts = unit.attempts
        self.popped(unit)
        assert unit.attempts == attempts
        self.rig.clock.now += seconds
        if seconds:
            assert self.queue.charge(unit.pod.namespace, seconds) <= 40 * 30.0 / self.share

    def teardown(self) -> None:
        """Held pods come back, whatever was charged."""
        self.rig.clock.now += 40 * 30.0 / self.share
        self.queue.tick()
        assert not list(self.queue.throttled)


TestQueue = QueueMachine.TestCase
TestQueue.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestQueueByLess = LessMachine.TestCase
TestQueueByLess.settings = settings(max_examples=15, stateful_step_count=40, deadline=None)
TestThrottledQueue = ThrottledMachine.TestCase
TestThrottledQueue.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
