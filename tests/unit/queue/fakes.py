"""A queue with a clock that tests set, pods, and plugins made of tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.builders import SCHEDULER, Clock, World, pod

from stowplan.framework import (
    Action,
    ClusterEvent,
    ClusterEventWithHint,
    Code,
    EventResource,
    Pod,
    QueuedPodInfo,
    QueueingHint,
    Status,
    on,
)
from stowplan.queue import Nominator, QueueingHintMap, SchedulingQueue

NODE_ADD = ClusterEvent(EventResource.Node, Action.Add)
NODE_LABEL = ClusterEvent(EventResource.Node, Action.UpdateNodeLabel)
NODE_DELETE = ClusterEvent(EventResource.Node, Action.Delete)
PV_ADD = ClusterEvent(EventResource.PersistentVolume, Action.Add)

_WORLD = World()


def make_pod(name: str, priority: int = 0, **more: Any) -> Pod:
    return _WORLD.pod(pod(name, priority=priority, **more))


def less(a: QueuedPodInfo, b: QueuedPodInfo) -> bool:
    return sort_key(a) < sort_key(b)


def sort_key(item: QueuedPodInfo) -> tuple[int, float]:
    return -item.pod.priority, item.timestamp


def if_asked(pod: Pod, old: Any, new: Any) -> QueueingHint:
    """The hint is the object of the event."""
    return QueueingHint.Queue if new else QueueingHint.QueueSkip


PLUGINS: dict[str, tuple[ClusterEventWithHint, ...]] = {
    "Adds": (on(EventResource.Node, Action.Add | Action.UpdateNodeTaint, if_asked),),
    "Labels": (on(EventResource.Node, Action.UpdateNodeLabel, if_asked),),
    "Always": (on(EventResource.Node, Action.Delete),),
    "Gate": (on(EventResource.Pod, Action.UpdatePodSchedulingGatesEliminated),),
    "Own": (on(EventResource.Pod, Action.UpdatePodLabel), on(EventResource.Pod, Action.UpdatePodToleration)),
    "Any": (on(EventResource.Pod, Action.Update),),
}


TIMES = {"initial_backoff": 1.0, "max_backoff": 10.0, "unschedulable_timeout": 300.0}


class Rig:
    """A queue, and the calls of its hooks."""

    def __init__(self, start: float = 1000.0, *, keyed: bool = True, **settings: Any) -> None:
        self.clock = Clock(start)
        self.nominator = Nominator()
        self.gated: dict[str, str] = {}
        """Which plugin keeps a pod out, by the pod's name."""
        self.asked: list[tuple[str, str]] = []
        """(pod, plugin to ask first) of each PreEnqueue."""
        self.entered: list[tuple[str, str]] = []
        settings = {"hints": {SCHEDULER: QueueingHintMap(PLUGINS)}, **TIMES, **settings}
        self.queue = SchedulingQueue(
            clock=self.clock,
            less=less,
            sort_key=sort_key if keyed else None,
            pre_enqueue=self._pre_enqueue,
            nominator=self.nominator,
            on_enter=lambda unit, queue, label: self.entered.append((queue, label)),
            **settings,
        )

    def _pre_enqueue(self, pod: Pod, first: str) -> Status | None:
        self.asked.append((pod.name, first))
        plugin = self.gated.get(pod.name)
        return None if plugin is None else Status(Code.UnschedulableAndUnresolvable, "wait", plugin=plugin)

    def pop(self) -> QueuedPodInfo:
        unit = self.queue.pop()
        assert unit is not None
        return unit

    def fail(self, unit: QueuedPodInfo, *rejectors: str, pending: Iterable[str] = ()) -> QueuedPodInfo:
        """End an attempt with a rejection by the named plugins, or without any with an error."""
        unit.unschedulable_plugins, unit.pending_plugins = set(rejectors), set(pending)
        assert self.queue.add_unschedulable(unit)
        self.queue.done(unit.pod.uid)
        return unit

    def rejected(self, name: str = "p", *rejectors: str, **more: Any) -> QueuedPodInfo:
        """A new pod, tried and rejected; its backoff is over."""
        self.queue.add(make_pod(name, **more))
        unit = self.fail(self.pop(), *(rejectors or ("Adds",)))
        self.clock.now += 60.0
        return unit

    def where(self, name: str = "p") -> str:
        """The one place that holds a pod."""
        places = [place for place in PLACES if name in names(getattr(self.queue, place))]
        assert len(places) == 1, places
        return places[0]


PLACES = ("active", "backoff", "error_backoff", "throttled", "unschedulable", "gated", "in_flight_pods")


def names(units: Iterable[QueuedPodInfo]) -> list[str]:
    return [unit.pod.name for unit in units]


def pop_all(rig: Rig) -> list[str]:
    popped = []
    while (unit := rig.queue.pop()) is not None:
        popped.append(unit.pod.name)
    return popped
