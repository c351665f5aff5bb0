"""The Handle of plugins that an engine runs."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import node, pod
from tests.builders.engine_host import NOW, Host
from tests.builders.objects import typed

from stowplan.cache import Cluster
from stowplan.framework import CycleState, EmitEvent, Handle, Plugin, Pod, Sleep


class Eager(Plugin):
    """Uses its handle in the constructor, when the engine is not complete yet."""

    name = "Eager"

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self.created_at = handle.now()
        self.waiting = list(handle.waiting_pods())
        handle.emit(EmitEvent(unknown_pod(), "Normal", "Created", "Creating", "created"))
        handle.start(self.sleep())

    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        return None

    async def sleep(self) -> None:
        await Sleep(5.0)
        self.handle.emit(EmitEvent(unknown_pod(), "Normal", "Slept", "Sleeping", "slept"))


def unknown_pod() -> Pod:
    return Cluster().pod(typed(pod("other")))


def test_a_plugin_may_use_its_handle_in_its_constructor() -> None:
    made: list[Eager] = []

    def make(args: Any, handle: Handle) -> Eager:
        made.append(Eager(args, handle))
        return made[0]

    host = Host(node("a"), plugins={"Eager": make})
    assert (made[0].created_at, made[0].waiting) == (NOW, [])
    assert [each.reason for each in host.take() if isinstance(each, EmitEvent)] == ["Created"]
    host.clock.now += 5.0
    host.engine.tick()
    assert [each.reason for each in host.take() if isinstance(each, EmitEvent)] == ["Slept"]


def test_the_connection_is_the_engines() -> None:
    connection = object()
    host = Host(node("a"), connection=connection)
    plugin = host.engine.profiles["default-scheduler"].filters[0]
    assert plugin.handle.connection is connection


@pytest.mark.parametrize("name", ["default/p", "default/other"])
def test_activated_pods_are_tried_again(name: str) -> None:
    host = Host(node("a", cpu="1"), pod("p", requests={"cpu": "2"}))
    host.schedule()
    assert host.place("p") == "unschedulable"
    plugin = host.engine.profiles["default-scheduler"].filters[0]
    plugin.handle.activate({name: host.engine.pending["default/p"].pod if name == "default/p" else unknown_pod()})
    assert host.place("p") == ("active" if name == "default/p" else "unschedulable")
