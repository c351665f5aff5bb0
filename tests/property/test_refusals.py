"""An engine that remembers refusals gives the same instructions as one that decides every attempt anew."""

from __future__ import annotations

import os
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import HOSTNAME, away, container, node, pod, spread, term
from tests.builders.engine_host import Host

from stowplan.engine import Observer
from stowplan.framework import Bind, EmitEvent, Evict, Instruction, PatchStatus, QueuedPodInfo, RepeatEvent, Status
from stowplan.runtime import Decision

TAINT = {"key": "k", "effect": "NoSchedule"}
NODES: tuple[dict[str, Any], ...] = (
    {"cpu": 2},
    {"cpu": 4, "labels": {"disk": "ssd"}},
    {"cpu": 4, "memory": "1Gi", "taints": [TAINT]},
    {"cpu": 4, "unschedulable": True},
    {"cpu": 1, "labels": {"disk": "ssd"}, "taints": [TAINT]},
)
PODS: tuple[dict[str, Any], ...] = (
    {"requests": {"cpu": "1"}},
    {"requests": {"cpu": "1"}, "labels": {"app": "a"}},
    {"requests": {"cpu": "2", "memory": "1Gi"}, "priority": 1},
    {"requests": {"cpu": "1"}, "priority": 2},
    {"requests": {"cpu": "3"}, "priority": 3},
    {"requests": {"cpu": "1"}, "nodeSelector": {"disk": "ssd"}},
    {"requests": {"cpu": "1"}, "tolerations": [{"operator": "Exists"}]},
    {"containers": [container(cpu="500m", ports=[{"hostPort": 80, "containerPort": 80}])]},
    {"requests": {"cpu": "500m"}, "labels": {"app": "a"}, "affinity": away(term(HOSTNAME))},
    {"requests": {"cpu": "500m"}, "labels": {"app": "a"}, "topologySpreadConstraints": [spread(HOSTNAME)]},
)


class Attempts(Observer):
    """Every attempt with its result."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int, str, str]] = []

    def decided(self, queued: QueuedPodInfo, decision: Decision) -> None:
        self.seen.append((queued.pod.name, queued.attempts, decision.message, decision.record().node))

    def attempt_failed(self, queued: QueuedPodInfo, status: Status) -> None:
        self.seen.append((queued.pod.name, queued.attempts, status.message, "failed"))


class Overload:
    """More pods than fit. Two of these with the same seed do the same."""

    def __init__(self, seed: int, *, remembers: bool, observer: Observer | None) -> None:
        self.random = Random(seed)
        self.host = Host(observer=observer, check_invariants=remembers)
        for profile in self.host.engine.profiles.values():
            profile.refusals.enabled = remembers
        self._number = 0
        self._shapes = self.random.sample(PODS, self.random.randint(1, 3))
        self._policy = self.random.choice(({}, {"preemptionPolicy": "Never"}))
        for _ in range(self.random.randint(1, 3)):
            self.node_changes()
        for _ in range(self.random.randint(6, 20)):
            self.pod_comes()
        self.host.schedule()

    def node_changes(self) -> None:
        self.host.put(node(f"n{self.random.randrange(3)}", **self.random.choice(NODES)))

    def pod_comes(self) -> None:
        self._number += 1
        self.host.put(pod(f"w{self._number}", **{"labels": {}, **self.random.choice(self._shapes), **self._policy}))

    def pod_changes(self, nominated: str = "") -> None:
        waiting = sorted(known.pod.name for known in self.host.engine.pending.values())
        if waiting:
            shape = {"labels": {}, **self.random.choice(self._shapes), **self._policy}
            self.host.put(pod(self.random.choice(waiting), nominated=nominated, **shape))

    def pod_is_nominated(self) -> None:
        self.pod_changes(nominated=f"n{self.random.randrange(3)}")

    def running_pod_ends(self) -> None:
        running = sorted(each.name for each in self.host.engine.cluster.pods.values())
        if running:
            self.host.delete(self.host.pod(self.random.choice(running)))

    def waiting_pod_ends(self) -> None:
        waiting = sorted(known.pod.name for known in self.host.engine.pending.values())
        if waiting:
            self.host.delete(self.host.pod(self.random.choice(waiting)))

    def time_passes(self) -> None:
        self.host.advance(self.random.choice((0.1, 2.0, 12.0, 400.0)))

    def walk(self) -> None:
        for _ in range(25):
            for _ in range(self.random.choice((1, 1, 1, 3))):
                self.random.choice(EVENTS)(self)
            self.host.schedule()

    def results(self) -> list[Any]:
        engine = self.host.engine
        queued = [(name, info.pod.name, astuple_of(info)) for name in PLACES for info in engine.queued_pods(name)]
        uids = sorted(engine.pending)
        history = [[(e.count, e.first, e.latest, e.message) for e in engine.failed_attempts(uid)] for uid in uids]
        return [list(events_of(self.host.done)), sorted(queued), engine.cycles, history]


PLACES = ("active", "backoff", "unschedulable")
EVENTS = (
    Overload.node_changes,
    Overload.pod_comes,
    Overload.pod_changes,
    Overload.pod_is_nominated,
    Overload.waiting_pod_ends,
    Overload.time_passes,
    *[Overload.running_pod_ends] * 6,
)


def astuple_of(info: QueuedPodInfo) -> tuple[Any, ...]:
    return (info.timestamp, info.attempts, info.unschedulable_count, info.was_flushed, info.initial_attempt_timestamp)


def events_of(done: list[Instruction]) -> Iterator[tuple[Any, ...]]:
    """Instructions as plain data."""
    for each in done:
        for one in each.each() if isinstance(each, RepeatEvent) else (each,):
            if isinstance(one, EmitEvent):
                yield "event", one.regarding.name, one.reason, one.note
            elif isinstance(one, PatchStatus):
                yield "patch", one.pod.name, one.condition, one.nominated_node_name
            elif isinstance(one, Bind):
                yield "bind", one.pod.name, one.node_name
            elif isinstance(one, Evict):
                yield "evict", one.pod.name


@pytest.mark.parametrize("observed", [False, True])
@settings(max_examples=int(os.environ.get("STOWPLAN_EXAMPLES", "20")), deadline=None)
@given(st.integers(0, 1 << 32))
def test_refusals_are_remembered_without_a_difference(observed: bool, seed: int) -> None:
    observers = [Attempts(), Attempts()]
    walks = [
        Overload(seed, remembers=remembers, observer=observer if observed else None)
        for remembers, observer in zip((True, False), observers, strict=True)
    ]
    for walk in walks:
        walk.walk()
    one, other = (walk.results() for walk in walks)
    assert one == other
    assert observers[0].seen == observers[1].seen


def test_many_equal_pods_are_refused_in_few_steps() -> None:
    fillers = [pod(f"f{number}", on="n", requests={"cpu": "10m"}) for number in range(10)]
    host = Host(node("n", cpu=2), pod("r", on="n", requests={"cpu": "1"}), *fillers)
    host.put(*(pod(f"w{number}", requests={"cpu": "1"}) for number in range(50)))
    host.schedule()
    for number in range(8):  # Often enough to back off for the longest time.
        host.delete(host.pod(f"f{number}"))
        host.advance(12.0)
    steps, cycles = 0, host.engine.cycles
    host.delete(host.pod("f8"))
    while host.engine.schedule_one():
        steps += 1
        host.settle()
    assert (steps, host.engine.cycles - cycles) == (1, 50)
    assert {info.attempts for info in host.engine.queued_pods("unschedulable")} == {10}


def test_equal_pods_are_refused_in_one_step_after_one_of_them_is_bound() -> None:
    fillers = [pod(f"f{number}", on="n", requests={"cpu": "10m"}) for number in range(10)]
    running = [pod(f"r{number}", on="n", requests={"cpu": "1"}) for number in range(2)]
    host = Host(node("n", cpu=2.1), *running, *fillers)
    host.put(*(pod(f"w{number}", requests={"cpu": "1"}) for number in range(50)))
    host.schedule()
    for number in range(8):
        host.delete(host.pod(f"f{number}"))
        host.advance(12.0)
    steps, cycles = 0, host.engine.cycles
    host.delete(host.pod("r0"))
    while host.engine.schedule_one():
        steps += 1
        host.settle()
    assert (steps, host.engine.cycles - cycles) == (2, 50)
    assert len(list(host.engine.queued_pods("unschedulable"))) == 49
