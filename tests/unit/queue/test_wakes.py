"""Which events wake whom, with the hints of the real plugins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.builders import SCHEDULER, World
from tests.unit.queue.fakes import TIMES, Clock, less, names
from tests.unit.queue.wake_rows import PLAIN, ROWS, Change, Row

from stowplan import api
from stowplan.api import codec
from stowplan.api.kinds import KINDS
from stowplan.framework import ALL_EVENTS, Action, ClusterEvent, EventResource
from stowplan.plugins.registry import REGISTRY
from stowplan.queue import QueueingHintMap, SchedulingQueue
from stowplan.queue.cluster_events import ASSIGNED_POD_ADD, ASSIGNED_POD_DELETE, event_of, node_events, pod_events

HEARD_BY = ("preEnqueue", "preFilter", "filter", "reserve", "permit")


class Scene:
    """A cluster, and a queue with the real plugins' hints."""

    def __init__(self, row: Row, table: QueueingHintMap | None = None) -> None:
        self.row = row
        self.world = World()
        for kind, item in row.objects:
            self.world.cluster.put(codec.convert(KINDS[kind].struct, item))  # type: ignore[arg-type]
        self.clock = Clock()
        self.queue = SchedulingQueue(
            clock=self.clock,
            less=less,
            pre_enqueue=self.world.profile.pre_enqueue,
            hints={SCHEDULER: table or hint_table(self.world)},
            nominator=self.world.nominator,
            **TIMES,
        )
        self._reject()

    def _reject(self) -> None:
        self.queue.add(self.world.pod(self.row.rejected))
        unit = self.queue.pop()
        if unit is not None:
            unit.unschedulable_plugins = {self.row.plugin}
            self.queue.add_unschedulable(unit)
            self.queue.done(unit.pod.uid)
        self.clock.now += 60.0
        assert [u.unschedulable_plugins for u in (*self.queue.unschedulable, *self.queue.gated)] == [{self.row.plugin}]

    def happens(self, change: Change) -> list[ClusterEvent]:
        """Tell the queue of a change as the engine does; the events that it amounts to."""
        if self.row.resource == "Pod":
            return self._pod_change(change)
        struct = KINDS[self.row.resource].struct
        old, new = (None if item is None else codec.convert(struct, item) for item in (change.old, change.new))
        if isinstance(old, api.Node) and isinstance(new, api.Node):
            events = node_events(old, new)
        else:
            events = [self._object_event(struct, old, new)]
        self._store(old, new)
        for event in events:
            self.queue.move(event, old, new)
        return events

    def _object_event(self, struct: type, old: Any, new: Any) -> ClusterEvent:
        event = event_of(struct, Action.Add if old is None else Action.Delete if new is None else Action.Update)
        assert event is not None
        return event

    def _store(self, old: Any, new: Any) -> None:
        cluster = self.world.cluster
        for item in (old, new):
            if isinstance(item, api.Node):
                cluster.put_node(item)
            elif item is not None:
                cluster.put(item)

    def _pod_change(self, change: Change) -> list[ClusterEvent]:
        old, new = (None if item is None else self.world.pod(item) for item in (change.old, change.new))
        if old is None:
            events = [ASSIGNED_POD_ADD]
        elif new is None:
            events = [ASSIGNED_POD_DELETE]
        else:
            events = pod_events(old, new, assigned=not change.own and not change.unscheduled)
            if change.own:
                self.queue.update(old, new)
                return events
        for event in events:
            self.queue.move(event, old, new)
        return events


def hint_table(world: World) -> QueueingHintMap:
    plugins = {plugin.name: plugin for point in HEARD_BY for plugin in world.profile.points[point]}
    return QueueingHintMap({name: plugin.events_to_register() for name, plugin in plugins.items()})


def cases() -> Iterator[Any]:
    for row in ROWS:
        for change, wakes in ((row.wakes, True), (row.leaves, False)):
            if change is not None:
                outcome = "wakes" if wakes else "leaves"
                yield pytest.param(row, change, wakes, id=f"{row.plugin}-{row.resource}{row.action}-{outcome}")


@pytest.mark.parametrize(("row", "change", "wakes"), list(cases()))
def test_wakes(row: Row, change: Change, wakes: bool) -> None:
    scene = Scene(row)
    events = scene.happens(change)
    assert [event.action.name for event in events] == [row.action]
    assert names(scene.queue.active) == (["p"] if wakes else [])


def registered() -> set[tuple[str, str, str]]:
    """(plugin, resource, action) of all that the in-tree plugins register for, and of what is implied."""
    found = set()
    table = hint_table(World())
    for plugin, registration in table._registrations:
        event = registration.event
        whole = Action.Update in event.action
        actions = [Action.Add, Action.Delete, Action.Update] if whole else list(Action)
        resource = event.resource.rsplit("/")[-1]
        found |= {(plugin, resource, str(action.name)) for action in actions if action in event.action}
    return found


def test_every_registration_has_its_row() -> None:
    assert {(row.plugin, row.resource, row.action) for row in ROWS} == registered()
    assert {row.plugin for row in ROWS} <= REGISTRY.keys()


OBJECT_ACTIONS = (Action.Add, Action.Update, Action.Delete)
BITS: dict[str, list[Action]] = {
    resource: [action for action in Action if not str(action.name).startswith(other)]
    for resource, other in ((EventResource.AssignedPod, "UpdateNode"), (EventResource.Node, "UpdatePod"))
}
"""Pods and nodes are told apart by what changed; the names of actions say whose they are."""
USUAL = [r.event.resource for r in ALL_EVENTS if r.event.resource != EventResource.Pod] + [EventResource.AssignedPod]


def events(*resources: str) -> list[ClusterEvent]:
    """All that can happen to objects of these kinds."""
    return [ClusterEvent(kind, action) for kind in resources for action in BITS.get(kind, OBJECT_ACTIONS)]


@pytest.mark.parametrize("plugin", sorted({row.plugin for row in ROWS} - {"SchedulingGates"}))
def test_events_of_other_kinds_wake_nobody(plugin: str) -> None:
    scene = Scene(Row(plugin, "", "", PLAIN, None))
    table = hint_table(scene.world)
    others = [
        event
        for event in events(*USUAL, EventResource.ResourceSlice, EventResource.VolumeAttachment)
        if not table.is_registered(plugin, event)
    ]
    assert len(others) > 10
    for event in others:
        scene.queue.move(event, None, None)
    assert names(scene.queue.unschedulable) == ["p"]


@pytest.mark.parametrize("event", events(*USUAL), ids=lambda event: event.label)
def test_what_an_extender_rejected_is_woken_by_anything(event: ClusterEvent) -> None:
    scene = Scene(Row("Extender", "", "", PLAIN, None), QueueingHintMap({"Extender": ALL_EVENTS}))
    scene.queue.move(event, None, None)
    assert names(scene.queue.active) == ["p"]
