"""The port: what a host can rely on."""

from __future__ import annotations

import pytest
from tests.builders import node, pod
from tests.builders.engine_host import Host

from stowplan import api
from stowplan.api import codec
from stowplan.engine import CheckedEngine, Engine
from stowplan.framework import Bind, Failure


def test_instructions_are_taken_once_and_in_order() -> None:
    host = Host(node("a"), pod("p"), pod("q"))
    while host.engine.schedule_one():
        pass
    assert [each.pod.name for each in host.engine.take() if isinstance(each, Bind)] == ["p", "q"]
    assert host.engine.take() == []


def test_the_next_deadline_is_the_earliest_of_all() -> None:
    host = Host(node("a", cpu=1))
    assert host.engine.next_deadline() is None
    host.put(pod("p", requests={"cpu": 2}))
    host.schedule()
    flush = host.engine.next_deadline()
    assert flush is not None
    assert flush > host.clock.now + 300
    host.state.timers.after(5.0, lambda: None)
    assert host.engine.next_deadline() == host.clock.now + 5.0


def test_pods_that_have_waited_for_long_are_tried_for_the_sake_of_it() -> None:
    host = Host(node("a", cpu=1), pod("p", requests={"cpu": 2}))
    host.schedule()
    host.advance(299)
    assert host.unit("p").attempts == 1
    host.advance(60)
    assert host.unit("p").attempts == 2


def test_how_long_is_up_to_whoever_makes_the_engine() -> None:
    host = Host(node("a", cpu=1), pod("p", requests={"cpu": 2}), unschedulable_timeout=30.0)
    host.schedule()
    host.advance(70)
    assert host.unit("p").attempts >= 2


def test_backoff_is_configured() -> None:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "podInitialBackoffSeconds": 20,
        "podMaxBackoffSeconds": 20,
    }
    host = Host(node("a"), pod("p"), config=config)
    host.schedule(Bind)
    host.answer(Bind, Failure("no"))
    host.advance(20)
    assert host.place("p") == "error_backoff"
    host.advance(1)
    assert host.node_of("p") == "a"


def test_whole_objects_are_kept_where_somebody_wants_them() -> None:
    host, item = Host(keep_objects=True), pod("p")
    host.engine.put(codec.convert(api.Pod, item), item)
    assert host.engine.pending["default/p"].pod.object == item


@pytest.mark.parametrize("keep_assigned", [True, False])
def test_whole_objects_of_pods_that_run_are_kept_where_somebody_wants_them(keep_assigned: bool) -> None:
    host = Host(keep_objects=True, keep_assigned_objects=keep_assigned)
    host.engine.put(codec.convert(api.Pod, pod("runs", "n")), b'{"odd":1}')
    host.engine.put(codec.convert(api.Pod, pod("waits")), b'{"odd":2}')
    runs, waits = host.engine.cluster.pods["default/runs"], host.engine.pending["default/waits"].pod
    assert (runs.source is not None) == keep_assigned
    assert waits.object == {"odd": 2}


def test_invariants_cost_nothing_where_they_are_not_checked() -> None:
    assert type(Host(check_invariants=False).engine) is Engine
    assert type(Host().engine) is CheckedEngine
