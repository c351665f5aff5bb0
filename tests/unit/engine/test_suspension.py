"""A cycle that waits for an extender: nothing that happens meanwhile may change what it sees."""

import random
from typing import Any

from tests.builders import member, node, pod, pod_group
from tests.extenders import FakeExtender

from stowplan import api
from stowplan.api import codec
from stowplan.config import default_configuration
from stowplan.config.feature_gates import GANG_SCHEDULING, GENERIC_WORKLOAD, TOPOLOGY_AWARE, WORKLOAD_PREEMPTION
from stowplan.config.releases import LATEST, Release
from stowplan.engine import CheckedEngine, Engine
from stowplan.framework import Bind, Evict, Failure, PatchStatus
from stowplan.framework.extender import CallExtender, Filtered
from stowplan.plugins.registry import REGISTRY


def engine_with(*extenders: FakeExtender, release: Release = LATEST) -> Engine:
    config = default_configuration(release)
    return CheckedEngine(config, REGISTRY, clock=lambda: 1000.0, rng=random.Random(0), extenders=extenders)


def put(engine: Engine, kind: Any, *items: dict[str, Any]) -> None:
    for item in items:
        engine.put(codec.convert(kind, item))


def calls(engine: Engine) -> list[CallExtender]:
    return [each for each in engine.take() if isinstance(each, CallExtender)]


ALL = FakeExtender(filter=lambda pod, nodes: Filtered(list(nodes)))


def test_events_wait_until_the_cycle_ends() -> None:
    engine = engine_with(ALL)
    put(engine, api.Node, node("a"))
    put(engine, api.Pod, pod("p"), pod("q"))
    assert engine.schedule_one()
    (call,) = calls(engine)
    assert not engine.schedule_one()
    put(engine, api.Node, node("b"))
    engine.remove(codec.convert(api.Node, node("a")))
    engine.tick()
    assert set(engine.cluster.nodes.slot_of) == {"a"}
    engine.answer(call, ALL.answer(call))
    assert set(engine.cluster.nodes.slot_of) == {"b"}
    (bind,) = engine.take()
    assert isinstance(bind, Bind)
    assert (bind.pod.name, bind.node_name) == ("p", "a")


def test_answers_to_others_wait_too() -> None:
    engine = engine_with(ALL)
    put(engine, api.Node, node("a"))
    put(engine, api.Pod, pod("p"), pod("q"))
    engine.schedule_one()
    (call,) = calls(engine)
    engine.answer(call, ALL.answer(call))
    (bind,) = engine.take()
    engine.schedule_one()
    (call,) = calls(engine)
    assert isinstance(bind, Bind)
    engine.answer(bind, Failure("no", "Conflict"))
    assert "default/p" in engine.cluster.assumed
    engine.answer(call, ALL.answer(call))
    assert set(engine.cluster.assumed) == {"default/q"}


def test_a_pod_that_goes_meanwhile_is_let_go_when_its_cycle_ends() -> None:
    engine = engine_with(ALL)
    put(engine, api.Node, node("a"))
    put(engine, api.Pod, pod("p"))
    engine.schedule_one()
    (call,) = calls(engine)
    engine.remove(codec.convert(api.Pod, pod("p")))
    engine.answer(call, ALL.answer(call))
    assert not engine.cluster.pods
    (bind,) = engine.take()
    assert isinstance(bind, Bind)
    engine.answer(bind, Failure('pods "p" not found', "NotFound"))
    assert not engine.pending
    assert not list(engine.queued_pods())


def test_an_extender_binds_in_place_of_the_plugins() -> None:
    binder = FakeExtender(bind=lambda pod, node_name: None)
    engine = engine_with(binder)
    put(engine, api.Node, node("a"))
    put(engine, api.Pod, pod("p"))
    assert engine.schedule_one()
    assert not engine.suspended
    (call,) = calls(engine)
    assert (call.verb, call.argument) == ("bind", "a")
    engine.answer(call, None)
    (event,) = engine.take()
    assert getattr(event, "reason", "") == "Scheduled"


def test_a_binder_that_fails_is_an_error_of_the_attempt() -> None:
    engine = engine_with(FakeExtender(bind=lambda pod, node_name: None))
    put(engine, api.Node, node("a"))
    put(engine, api.Pod, pod("p"))
    engine.schedule_one()
    (call,) = calls(engine)
    engine.answer(call, Failure("refused"))
    patches = [each for each in engine.take() if isinstance(each, PatchStatus)]
    assert [each.condition.message for each in patches if each.condition] == ["refused"]
    assert [unit.pod.name for unit in engine.queued_pods("error_backoff")] == ["p"]


def test_a_pod_that_no_extender_cares_for_is_not_held_up() -> None:
    engine = engine_with(
        FakeExtender(interested=lambda pod: pod.name == "p", filter=lambda pod, nodes: Filtered(nodes))
    )
    put(engine, api.Node, node("a"))
    put(engine, api.Pod, pod("q"), pod("p"))
    assert engine.schedule_one()
    assert [each.pod.name for each in engine.take() if isinstance(each, Bind)] == ["q"]
    assert engine.schedule_one()
    assert engine.suspended


def test_a_binder_that_may_fail_leaves_it_to_the_plugins() -> None:
    engine = engine_with(FakeExtender(ignorable=True, bind=lambda pod, node_name: None))
    put(engine, api.Node, node("a"))
    put(engine, api.Pod, pod("p"))
    engine.schedule_one()
    (call,) = calls(engine)
    engine.answer(call, Failure("refused"))
    (bind,) = engine.take()
    assert isinstance(bind, Bind)
    assert "default/p" in engine.cluster.assumed


GATES = (GENERIC_WORKLOAD, GANG_SCHEDULING, TOPOLOGY_AWARE, WORKLOAD_PREEMPTION)


def answered(engine: Engine, extender: FakeExtender) -> list[Any]:
    """Answers calls of the extender until there is none; returns the other instructions."""
    others: list[Any] = []
    while taken := engine.take():
        for each in taken:
            if isinstance(each, CallExtender):
                engine.answer(each, extender.answer(each))
            else:
                others.append(each)
    return others


def gang_engine(extender: FakeExtender, size: int, *nodes: dict[str, Any], **group: Any) -> Engine:
    engine = engine_with(extender, release=LATEST.with_gates(dict.fromkeys(GATES, True)))
    put(engine, api.Node, *nodes)
    put(engine, api.PodGroup, pod_group("g", size, **group))
    put(engine, api.Pod, *(member(f"g-{i}", "g", priority=10, requests={"cpu": "1"}) for i in range(size)))
    return engine


def test_extenders_are_called_for_members_of_groups() -> None:
    last = FakeExtender(filter=lambda pod, nodes: Filtered([name for name in nodes if name != "a"]))
    engine = gang_engine(last, 2, node("a", cpu=4), node("b", cpu=2))
    assert engine.schedule_one()
    assert engine.suspended
    put(engine, api.Node, node("c"))
    binds = [each for each in answered(engine, last) if isinstance(each, Bind)]
    assert [(each.pod.name, each.node_name) for each in binds] == [("g-0", "b"), ("g-1", "b")]
    assert set(engine.cluster.nodes.slot_of) == {"a", "b", "c"}


def test_a_gang_that_extenders_leave_no_room_for_is_not_bound() -> None:
    """Members are tried in every domain; then the search for victims tries them again."""
    only = FakeExtender(filter=lambda pod, nodes: Filtered([name for name in nodes if name == "b"]))
    racks = [node(name, cpu=2, labels={"rack": name}) for name in ("a", "b")]
    engine = gang_engine(only, 3, *racks, rack="rack")
    assert engine.schedule_one()
    done = answered(engine, only)
    assert not [each for each in done if isinstance(each, Bind)]
    assert not engine.suspended
    assert not engine.cluster.pods
    engine = gang_engine(only, 2, *racks, priority=10)
    put(engine, api.Pod, *(pod(f"low-{name}", name, priority=1, requests={"cpu": "2"}) for name in ("a", "b")))
    assert engine.schedule_one()
    assert [each.pod.name for each in answered(engine, only) if isinstance(each, Evict)] == ["low-b"]


def test_an_extender_that_fails_fails_the_group() -> None:
    down = FakeExtender(filter=lambda pod, nodes: Failure("down"))
    engine = gang_engine(down, 2, node("a", cpu=4))
    assert engine.schedule_one()
    patches = [each for each in answered(engine, down) if isinstance(each, PatchStatus)]
    assert [each.pod.name for each in patches] == ["g-0", "g-1"]
    assert not engine.cluster.pods
