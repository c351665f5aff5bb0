from typing import Any

from tests.builders import World, node, pod

from stowplan.framework import CycleState


def test_what_plugins_may_ask() -> None:
    world = World([node("n"), node("m")], [pod("r", "n")])
    handle: Any = world.plugin("NodeName").handle
    assert handle.profile_name == "default-scheduler"
    assert sorted(info.name for info in handle.node_infos()) == ["m", "n"]
    assert handle.node_info("n").pods.keys() == {"default/r"}
    assert handle.node_info("gone") is None
    world.put("Service", name="s", namespace="default")
    assert list(handle.objects("Service")) == ["default/s"]
    world.nominate(pod("p", nominated="m"))
    assert [other.name for other in handle.nominated_pods("m")] == ["p"]
    assert list(handle.waiting_pods()) == []
    assert handle.activate({}) is None


def test_nothing_is_done_where_decisions_are_only_looked_at() -> None:
    handle: Any = World([node("n")]).plugin("NodeName").handle
    steps = _never()
    handle.start(steps)
    assert steps.cr_frame is None, "closed, and never run"
    handle.emit(None)
    handle.measured("resourceclaim_creates_total", ("success",))
    assert handle.now() > 1e9


async def _never() -> None:
    raise AssertionError


def test_preemption_needs_a_cycle() -> None:
    world = World([node("n")])
    handle: Any = world.plugin("NodeName").handle
    assert isinstance(handle.preempt(CycleState(), world.pod(pod("p")), {}, (10, 100)), str)
