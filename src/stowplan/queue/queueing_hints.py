"""Queueing hints: which cluster events make a rejected pod worth another attempt, and how soon.

Upstream: pkg/scheduler/backend/queue/scheduling_queue.go (isPodWorthRequeuing)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
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

OnHint = Callable[[str, str, str, float, int], None]
"""Receives equal hints for one event: plugin, label of the event, Queue, QueueSkip or Error, the seconds that one took
on average, and their number."""

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

    def worth_retrying(self, info: QueuedPodInfo, event: ClusterEvent, old: Any, new: Any) -> QueueingStrategy:
        """How to requeue one pod."""
        return self.strategies((info,), event, old, new)[0]

    def strategies(
        self, infos: Sequence[QueuedPodInfo], event: ClusterEvent, old: Any, new: Any
    ) -> list[QueueingStrategy]:
        """How to requeue each of the pods. The hints of the plugins that rejected it run; a hint of a Pending plugin
        skips the backoff."""
        if event.wildcard:
            return [_strategy_by_wildcard(info, new) for info in infos]
        hints = _EventHints(self.registered_for(event), event, old, new)
        began = self._clock()
        found = [hints.strategy(info) for info in infos]
        if self._on_hint is not None and hints.returned:
            seconds = (self._clock() - began) / len(hints.returned)
            for (plugin, result), times in Counter(hints.returned).items():
                self._on_hint(plugin, event.label, result, seconds, times)
        return found


def _strategy_by_wildcard(info: QueuedPodInfo, new: Any) -> QueueingStrategy:
    # A wildcard event with a pod concerns that pod only.
    concerned = not info.rejected or new is None or (isinstance(new, Pod) and new.uid == info.pod.uid)
    return QueueingStrategy.AfterBackoff if concerned else QueueingStrategy.Skip


class _EventHints:
    """The hints of one profile for one event."""

    def __init__(self, registered: tuple[Registration, ...], event: ClusterEvent, old: Any, new: Any) -> None:
        self._registered = registered
        self._event = event
        self._old = old
        self._new = new
        self.returned: list[tuple[str, str]] = []
        """Plugin and result of each hint that ran."""

    def strategy(self, info: QueuedPodInfo) -> QueueingStrategy:
        rejectors, pending_plugins = info.unschedulable_plugins, info.pending_plugins
        if not rejectors and not pending_plugins:
            return QueueingStrategy.AfterBackoff
        strategy = QueueingStrategy.Skip
        # A hint about a large pod costs as much as an attempt, and only attempts are charged to the namespace.
        large = info.pod.template.large
        for plugin, hint in self._registered:
            pending = plugin in pending_plugins
            if not pending and (strategy is not QueueingStrategy.Skip or plugin not in rejectors):
                continue
            if hint is None or large or self._run(plugin, hint, info.pod):
                if pending:
                    return QueueingStrategy.Immediately
                strategy = QueueingStrategy.AfterBackoff
                if not pending_plugins:
                    break
        return strategy

    def _run(self, plugin: str, hint: HintFunction, pod: Pod) -> bool:
        """Whether a hint is to queue the pod."""
        try:
            given = hint(pod, self._old, self._new)
            queues = given is not QueueingHint.QueueSkip
            result = given.name if queues else "QueueSkip"
        except BaseException as error:
            if is_user_interrupt(error):
                raise
            # A superfluous attempt is harmless; a pod that is never retried is not.
            log.exception(
                error, "QueueingHintFn returns error", event=self._event.label, plugin=plugin, pod=logs.ref(pod)
            )
            queues, result = True, "Error"
        self.returned.append((plugin, result))
        return queues


def _with_taints(registered: tuple[ClusterEventWithHint, ...]) -> tuple[ClusterEventWithHint, ...]:
    """A registration for added nodes includes changed taints: a new node is often tainted until it is ready."""
    actions = Action(0)
    for registration in registered:
        if registration.event.resource == EventResource.Node:
            actions |= registration.event.action
    if Action.Add in actions and Action.UpdateNodeTaint not in actions:
        return (*registered, on(EventResource.Node, Action.UpdateNodeTaint))
    return registered
