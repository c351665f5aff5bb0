"""Pods that wait together do not wait for longer than pods that are each tried: whatever happens, no pod is left
waiting that a decision made afresh finds a node for, and no pod with a lower priority takes a place before it."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import container, node, pod
from tests.builders.engine_host import Host

from stowplan.engine.invariants import overlooked
from stowplan.framework import Bind

TAINT = {"key": "k", "effect": "NoSchedule"}
NODES: tuple[dict[str, Any], ...] = (
    {"cpu": 2},
    {"cpu": 4, "labels": {"disk": "ssd"}},
    {"cpu": 4, "taints": [TAINT]},
    {"cpu": 4, "unschedulable": True},
    {"cpu": 1, "labels": {"disk": "ssd"}, "taints": [TAINT]},
)
WAITING: tuple[dict[str, Any], ...] = (
    {"requests": {"cpu": "1"}, "priority": 1},
    {"requests": {"cpu": "2"}, "priority": 2},
    {"requests": {"cpu": "1"}, "nodeSelector": {"disk": "ssd"}, "priority": 3},
    {"requests": {"cpu": "1"}, "tolerations": [{"operator": "Exists"}], "priority": 4},
    {"containers": [container(cpu="500m", ports=[{"hostPort": 80, "containerPort": 80}])], "priority": 5},
)


class Overload:
    """A full cluster, and more replicas than fit."""

    def __init__(self, random: Random, **shape: Any) -> None:
        self.random = random
        self._shape = shape
        self.host = Host(retry_replicas_in_turn=True)
        self._number = 0
        for _ in range(random.randint(1, 3)):
            self.node_changes()
        for _ in range(random.randint(8, 25)):
            self.pod_comes()
        self.rest()

    def node_changes(self) -> None:
        self.host.put(node(f"n{self.random.randrange(3)}", **self.random.choice(NODES)))

    def pod_comes(self) -> None:
        self._number += 1
        self.host.put(pod(f"w{self._number}", **self.random.choice(WAITING), **self._shape))

    def running_pod_ends(self) -> None:
        pods = [p for p in self.host.engine.cluster.pods.values() if p.uid not in self.host.engine.attempts]
        if pods:
            self.host.delete(self.host.pod(self.random.choice(pods).name))

    def waiting_pod_ends(self) -> None:
        waiting = [info.pod for info in self.host.engine.queued_pods()]
        if waiting:
            self.host.delete(self.host.pod(self.random.choice(waiting).name))

    def time_passes(self) -> None:
        self.host.advance(self.random.choice((0.1, 2.0, 400.0)))

    def rest(self) -> None:
        self.host.schedule()
        assert [str(each) for each in overlooked(self.host.engine)] == []


EVENTS = (
    Overload.node_changes,
    Overload.pod_comes,
    Overload.waiting_pod_ends,
    Overload.time_passes,
    *[Overload.running_pod_ends] * 6,
)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 32))
def test_no_pod_that_fits_is_left_waiting(seed: int) -> None:
    overload = Overload(Random(seed))
    for _ in range(12):
        for _ in range(overload.random.choice((1, 1, 3))):
            overload.random.choice(EVENTS)(overload)
        overload.rest()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1 << 32))
def test_a_freed_place_goes_to_the_highest_priority_that_fits(seed: int) -> None:
    overload = Overload(Random(seed), preemptionPolicy="Never")
    host = overload.host
    for _ in range(10):
        host.advance(15.0)  # No pod backs off.
        overload.running_pod_ends()
        profile = host.engine.profiles["default-scheduler"]
        waiting = [info.pod for info in host.engine.queued_pods()]
        fitting = [each.priority for each in waiting if profile.decide_afresh(each).node_name]
        before = len(host.done)
        overload.rest()
        binds = [each.pod.priority for each in host.done[before:] if isinstance(each, Bind)]
        assert binds[:1] == sorted(fitting)[-1:]
