"""Queueing hints: which cluster events make a rejected pod worth another attempt, and how soon.

Upstream: pkg/scheduler/backend/queue/scheduling_queue.go (isPodWorthRequeuing)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
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
from stowplan.framework.safe_text import is_user_interrupt

log = logs.get(__name__)

OnHint = Callable[[str, str, str, float], None]
"""Receives each hint: plugin, label of the event, Queue, QueueSkip or Error, and the seconds it took."""

Registration = tuple[str, HintFunction | None]
"""A plugin's name and its hint function; without a function, every such event is worth an attempt."""


class QueueingStrategy(Enum):
    """How to requeue a pod after an event."""

    Skip = 0
    AfterBackoff = 1
    Immediately = 2


class QueueingHintMap:
    """Events for which the plugins of a profile registered."""

    def __init__(
        self,
        registrations: Mapping[str, Iterable[ClusterEventWithHint]],
        on_hint: OnHint | None = None,
        clock: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """`on_hint` receives the result of each hint function; the clock times them."""
        self._on_hint = on_hint
        self._clock = clock
        self._registrations = [
            (plugin, registration)
            for plugin, registered in registrations.items()
            for registration in _with_taints(tuple(registered))
        ]
        self._by_event: dict[ClusterEvent, tuple[Registration, ...]] = {}
        self.plugins = frozenset(plugin for plugin, _ in self._registrations)
        """The plugins that registered for events."""

    def registered_for(self, event: ClusterEvent) -> tuple[Registration, ...]:
        """Plugins that registered for an event, in the order of registration."""
        found = self._by_event.get(event)
        if found is None:
            found = self._by_event[event] = tuple(
                (plugin, registered.hint)
                for plugin, registered in self._registrations
                if registered.event.matches(event)
            )
        return found

    def events_of(self, plugin: str) -> list[ClusterEvent]:
        """The events that a plugin registered."""
        return [registered.event for name, registered in self._registrations if name == plugin]

    def is_registered(self, plugin: str, event: ClusterEvent) -> bool:
        """Whether a plugin registered for an event."""
        return any(name == plugin for name, _ in self.registered_for(event))

    def worth_retrying(
        self, info: QueuedPodInfo, event: ClusterEvent, old: Any, new: Any, rejectors: Set[str] | None = None
    ) -> QueueingStrategy:
        """Runs the hints of the plugins that rejected the pod, or of `rejectors`. A hint of a Pending plugin skips the
        backoff."""
        if not info.rejected:
            return QueueingStrategy.AfterBackoff
        if event.wildcard:
            # A wildcard event with a pod concerns that pod only.
            for_all = new is None or (isinstance(new, Pod) and new.uid == info.pod.uid)
            return QueueingStrategy.AfterBackoff if for_all else QueueingStrategy.Skip
        strategy = QueueingStrategy.Skip
        rejectors = info.unschedulable_plugins if rejectors is None else rejectors
        for plugin, hint in self.registered_for(event):
            pending = plugin in info.pending_plugins
            if not pending and (strategy is not QueueingStrategy.Skip or plugin not in rejectors):
                continue
            if hint is None or self._run_hint(plugin, hint, event, info.pod, old, new):
                if pending:
                    return QueueingStrategy.Immediately
                strategy = QueueingStrategy.AfterBackoff
                if not info.pending_plugins:
                    break
        return strategy

    def _run_hint(self, plugin: str, hint: HintFunction, event: ClusterEvent, pod: Pod, old: Any, new: Any) -> bool:
        began = self._clock()
        try:
            given = hint(pod, old, new)
            result = given.name
        except BaseException as error:
            if is_user_interrupt(error):
                raise
            # A superfluous attempt is harmless; a pod that is never retried is not.
            log.exception(error, "QueueingHintFn returns error", event=event.label, plugin=plugin, pod=logs.ref(pod))
            given, result = QueueingHint.Queue, "Error"
        if self._on_hint is not None:
            self._on_hint(plugin, event.label, result, self._clock() - began)
        return given is not QueueingHint.QueueSkip


def _with_taints(registered: tuple[ClusterEventWithHint, ...]) -> tuple[ClusterEventWithHint, ...]:
    """A registration for added nodes includes changed taints: a new node is often tainted until it is ready."""
    actions = Action(0)
    for registration in registered:
        if registration.event.resource == EventResource.Node:
            actions |= registration.event.action
    if Action.Add in actions and Action.UpdateNodeTaint not in actions:
        return (*registered, on(EventResource.Node, Action.UpdateNodeTaint))
    return registered
