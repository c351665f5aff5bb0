"""Which cluster events are worth another attempt of a rejected pod, and how soon."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any

from stowplan import logs
from stowplan.framework import (
    Action,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    Pod,
    QueuedPodInfo,
    QueueingHint,
    on,
)
from stowplan.framework.events import HintFunction

log = logs.get(__name__)

OnHint = Callable[[str, str, str, float], None]
"""Told of a hint: plugin, label of the event, what it said (Queue, QueueSkip, Error), and the seconds it took."""

Listener = tuple[str, HintFunction | None]
"""A plugin's name, and its closer look at the event; None where every such event is worth an attempt."""


class QueueingStrategy(Enum):
    """What becomes of a info after an event."""

    Skip = 0
    AfterBackoff = 1
    Immediately = 2


class HintTable:
    """What the plugins of a profile registered for, by plugin name."""

    def __init__(
        self,
        registrations: Mapping[str, Iterable[ClusterEventWithHint]],
        on_hint: OnHint | None = None,
        clock: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """`on_hint` hears of each hint that is asked for; the clock times them."""
        self._on_hint = on_hint
        self._clock = clock
        self._registrations = [
            (plugin, registration)
            for plugin, registered in registrations.items()
            for registration in _with_taints(tuple(registered))
        ]
        self._listeners: dict[ClusterEvent, tuple[Listener, ...]] = {}

    def listeners(self, event: ClusterEvent) -> tuple[Listener, ...]:
        """Who wants to hear of an event, in the order of registration."""
        found = self._listeners.get(event)
        if found is None:
            found = self._listeners[event] = tuple(
                (plugin, registered.hint)
                for plugin, registered in self._registrations
                if registered.event.matches(event)
            )
        return found

    def hears(self, plugin: str, event: ClusterEvent) -> bool:
        """Whether a plugin wants to hear of an event."""
        return any(name == plugin for name, _ in self.listeners(event))

    def worth_retrying(self, info: QueuedPodInfo, event: ClusterEvent, old: Any, new: Any) -> QueueingStrategy:
        """Ask the plugins that rejected the info. What a Pending plugin waited for makes backoff pointless."""
        if not info.rejected:
            return QueueingStrategy.AfterBackoff
        if event.wildcard:
            # With a pod, it is meant for that pod alone.
            for_all = new is None or (isinstance(new, Pod) and new.uid == info.pod.uid)
            return QueueingStrategy.AfterBackoff if for_all else QueueingStrategy.Skip
        strategy = QueueingStrategy.Skip
        for plugin, hint in self.listeners(event):
            pending = plugin in info.pending_plugins
            if not pending and (strategy is not QueueingStrategy.Skip or plugin not in info.unschedulable_plugins):
                continue
            if hint is None or self._asks_for_retry(plugin, hint, event, info.pod, old, new):
                if pending:
                    return QueueingStrategy.Immediately
                strategy = QueueingStrategy.AfterBackoff
                if not info.pending_plugins:
                    break
        return strategy

    def _asks_for_retry(
        self, plugin: str, hint: HintFunction, event: ClusterEvent, pod: Pod, old: Any, new: Any
    ) -> bool:
        began = self._clock()
        try:
            given = hint(pod, old, new)
            told = given.name
        except Exception as error:
            # A pod too many in the queue is harmless, one that is never tried again is not.
            log.exception(error, "QueueingHintFn returns error", event=event.label, plugin=plugin, pod=logs.ref(pod))
            given, told = QueueingHint.Queue, "Error"
        if self._on_hint is not None:
            self._on_hint(plugin, event.label, told, self._clock() - began)
        return given is not QueueingHint.QueueSkip


def _with_taints(registered: tuple[ClusterEventWithHint, ...]) -> tuple[ClusterEventWithHint, ...]:
    """Who wants to hear of new nodes hears of changed taints too: a new node is often tainted until it is ready."""
    actions = Action(0)
    for registration in registered:
        if registration.event.resource == EventResource.Node:
            actions |= registration.event.action
    if Action.Add in actions and Action.UpdateNodeTaint not in actions:
        return (*registered, on(EventResource.Node, Action.UpdateNodeTaint))
    return registered
