"""The pod in the scheduling queue, in words: where it is, since when, and what brings it back to the active queue."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from itertools import takewhile
from math import isfinite
from typing import NamedTuple, Protocol

from stowplan.api.selector_words import listed, pods_in_words
from stowplan.framework import ClusterEvent, Pod, QueuedPodInfo
from stowplan.framework.explanation import HistoryEntry, QueueState
from stowplan.insight.wake_words import WakeWords
from stowplan.runtime.points.waiting_pods import WaitingPods

_MAX_NAMES_AHEAD = 3
_MAX_COUNTED_AHEAD = 500
"""To count tens of thousands of pods in order would delay a running scheduler."""
_BINDING, _PERMIT, _UNKNOWN = "binding", "permit", "unknown"
_UNITS = ((86400, "day", "days"), (3600, "h", "h"), (60, "min", "min"))


class FailedAttemptsView(Protocol):
    """Consecutive attempts that failed alike, as the engine keeps them."""

    rejected: bool
    plugins: frozenset[str]
    count: int
    first: float
    latest: float
    message: str


class QueueView(Protocol):
    """The scheduling queue, as the engine exposes it."""

    @property
    def waiting_pods(self) -> WaitingPods: ...

    @property
    def attempts(self) -> Collection[str]:
        """The uids of pods that are being bound."""
        ...

    def next_to_pop(self, count: int) -> list[QueuedPodInfo]:
        """The first pods of the active queue."""
        ...

    def queue_place(self, uid: str) -> tuple[str, QueuedPodInfo] | None: ...

    def retry_deadline(self, info: QueuedPodInfo) -> float: ...

    def failed_attempts(self, uid: str) -> Sequence[FailedAttemptsView]:
        """The last failed attempts of a pod, the oldest first."""
        ...

    def waking_events(self, info: QueuedPodInfo, plugin: str) -> list[ClusterEvent]: ...


class Clocks(NamedTuple):
    """The clock of the queue, and the time of day, which may be another clock."""

    queue: Callable[[], float]
    wall: Callable[[], float]

    def timestamp(self, when: float) -> str:
        """A time of the queue's clock in RFC 3339."""
        return self._datetime(when).strftime("%Y-%m-%dT%H:%M:%SZ")

    def time_of_day(self, when: float) -> str:
        return self._datetime(when).strftime("%H:%M:%S")

    def _datetime(self, when: float) -> datetime:
        return datetime.fromtimestamp(self.wall() + when - self.queue(), UTC)


def duration_in_words(seconds: float) -> str:
    """`45 s`, `4 min`, `2 h`, `3 days`."""
    for size, one, many in _UNITS:
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {one if count == 1 else many}"
    return f"{max(0, int(seconds))} s"


def queue_state(view: QueueView, clocks: Clocks, pod: Pod) -> QueueState:
    """Where the pod is, and what it waits for."""
    if view.waiting_pods.get(pod.uid) is not None:
        return QueueState(place=_PERMIT, text="waits at Permit")
    place = view.queue_place(pod.uid)
    if pod.uid in view.attempts:
        node = f" to {pod.node_name}" if pod.node_name else ""
        return QueueState(place=_BINDING, text=f"being bound{node}")
    if place is None:
        return QueueState(place=_UNKNOWN, text="not known to the scheduler's queue")
    name, info = place
    words = _WORDS[name](view, clocks, info)
    return QueueState(
        place=name.replace("_", "-"),
        text=words.text,
        since=clocks.timestamp(info.timestamp),
        attempts=info.attempts,
        latest="" if words.latest is None else clocks.timestamp(words.latest),
        ahead=words.ahead,
        plugins=tuple(sorted(info.unschedulable_plugins | info.pending_plugins)),
        wakes=() if words.wakes is None else tuple(words.wakes.wakes.values()),
    )


def history_of(view: QueueView, clocks: Clocks, pod: Pod) -> tuple[HistoryEntry, ...]:
    """The last failed attempts of the pod."""
    return tuple(
        HistoryEntry(
            time=clocks.timestamp(each.first),
            latest=clocks.timestamp(each.latest),
            attempts=each.count,
            verdict="rejected" if each.rejected else "error",
            plugins=tuple(sorted(each.plugins)),
            message=each.message,
        )
        for each in view.failed_attempts(pod.uid)
    )


class _Words(NamedTuple):
    text: str
    latest: float | None = None
    ahead: int = 0
    wakes: WakeWords | None = None


def _active(view: QueueView, clocks: Clocks, info: QueuedPodInfo) -> _Words:
    ahead = list(takewhile(lambda other: other is not info, view.next_to_pop(_MAX_COUNTED_AHEAD + 1)))
    if not ahead:
        return _Words("next to be tried")
    names = [f"{other.pod.key} (priority {other.pod.priority})" for other in ahead[:_MAX_NAMES_AHEAD]]
    more = ", …" if len(ahead) > _MAX_NAMES_AHEAD else ""
    count = pods_in_words(len(ahead))
    if len(ahead) > _MAX_COUNTED_AHEAD:
        count = f"more than {pods_in_words(_MAX_COUNTED_AHEAD)}"
    return _Words(f"behind {count}; ahead: {', '.join(names)}{more}", ahead=len(ahead))


def _in_flight(view: QueueView, clocks: Clocks, info: QueuedPodInfo) -> _Words:
    return _Words("being decided now")


def _backoff(view: QueueView, clocks: Clocks, info: QueuedPodInfo) -> _Words:
    """The backoff ends after its last whole second."""
    until, latest = "", None
    if info.backoff_expiration is not None and isfinite(info.backoff_expiration):
        latest = info.backoff_expiration + 1
        until = f" until {clocks.time_of_day(latest)}"
    after = " after an error" if not info.rejected else ""
    return _Words(f"in backoff{after}{until} (attempt {info.attempts})", latest)


def _throttled(view: QueueView, clocks: Clocks, info: QueuedPodInfo) -> _Words:
    return _Words(f"waits because pods of namespace {info.pod.namespace} used up their share of scheduling time")


def _unschedulable(view: QueueView, clocks: Clocks, info: QueuedPodInfo) -> _Words:
    wakes = _wakes(view, info)
    latest = view.retry_deadline(info)
    for_ = duration_in_words(clocks.queue() - info.timestamp)
    attempts = f"{info.attempts:,} attempt{'' if info.attempts == 1 else 's'}"
    text = f"unschedulable for {for_}, after {attempts}; tried again at {clocks.time_of_day(latest)} at the latest"
    when = wakes.text()
    return _Words(f"{text}, or when {when}" if when else text, latest, wakes=wakes)


def _gated(view: QueueView, clocks: Clocks, info: QueuedPodInfo) -> _Words:
    wakes = WakeWords(info.pod)
    wakes.add(info.gating_plugin, view.waking_events(info, info.gating_plugin))
    when = wakes.text()
    return _Words(f"gated by {info.gating_plugin}" + (f"; woken when {when}" if when else ""), wakes=wakes)


def _wakes(view: QueueView, info: QueuedPodInfo) -> WakeWords:
    wakes = WakeWords(info.pod)
    for plugin in sorted(info.unschedulable_plugins | info.pending_plugins):
        wakes.add(plugin, view.waking_events(info, plugin))
    return wakes


_WORDS: dict[str, Callable[[QueueView, Clocks, QueuedPodInfo], _Words]] = {
    "active": _active,
    "in_flight": _in_flight,
    "backoff": _backoff,
    "error_backoff": _backoff,
    "throttled": _throttled,
    "unschedulable": _unschedulable,
    "gated": _gated,
}


def permit_sentence(view: QueueView, clocks: Clocks, pod: Pod) -> str | None:
    """For a pod that waits at Permit: the node that is kept for it, the plugins, and how long they may wait."""
    waiting = view.waiting_pods.get(pod.uid)
    if waiting is None:
        return None
    plugins = [
        f"{plugin} ({waiting.reasons[plugin]})" if waiting.reasons.get(plugin) else plugin
        for plugin in waiting.pending_plugins
    ]
    left = waiting.deadline - clocks.queue()
    more = f", up to {duration_in_words(left)} more" if isfinite(left) else ""
    hold = "holds" if len(plugins) == 1 else "hold"
    kept = f"{pod.node_name or 'A node'} is kept for it"
    return f"{kept}; {listed(plugins)} {hold} it back{more}."


def preempting_sentence(pod: Pod, victims: Collection[Pod]) -> str:
    """For a pod for which evictions are under way."""
    node = pod.nominated_node_name or "a node"
    names = [victim.key for victim in victims]
    if not names:
        return f"Room is being made on {node}."
    who = names[0] if len(names) == 1 else f"{names[0]} and {pods_in_words(len(names) - 1, 'other pod')}"
    return f"Room is being made on {node}: {who} {'is' if len(names) == 1 else 'are'} being deleted."


def gate_sentence(pod: Pod, plugin: str, message: str) -> str:
    """For a pod that PreEnqueue keeps out of the queue."""
    gates = [gate.name for gate in pod.spec.scheduling_gates]
    if plugin == "SchedulingGates" and gates:
        the = "the gate" if len(gates) == 1 else "the gates"
        return f"Waits for the removal of {the} {listed(gates)}; no node has been looked at."
    return f"{plugin} keeps it out of the queue: {message}."
