"""Waking replicas one at a time: what one of them is refused, the others are refused as well.

kube-scheduler requeues every pod that an event may concern. Where it is known whether pods of a template fit a node,
the templates that an event concerns take turns in the order of their first pods: that pod is requeued if it fits, and
after its attempt the next one. A pod that no longer fits when its turn comes goes back without an attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Protocol

from stowplan.framework import Pod, QueuedPodInfo
from stowplan.queue.heap import SortKey
from stowplan.queue.unschedulable_pods import UnschedulablePods, WaitingReplicas


class Feasibility(Protocol):
    """Kept answers about pods of a template."""

    def predicts(self, pod: Pod) -> bool:
        """Whether `fits` may know the answer."""
        ...

    def fits(self, pod: Pod) -> bool | None:
        """Whether an attempt of a pod that `predicts` is true for finds a node; None if only an attempt shows it."""
        ...


class Unknown:
    """Knows nothing: every pod is requeued."""

    def predicts(self, pod: Pod) -> bool:
        return False

    def fits(self, pod: Pod) -> bool | None:
        return None


class Round:
    """The replicas that an event concerns, until it is known that they do not fit."""

    __slots__ = ("label", "plugins", "tried")

    def __init__(self, label: str, plugins: Iterable[str]) -> None:
        self.label = label
        self.plugins = plugins
        """The plugins that may reject the pods by then."""
        self.tried: set[str] = set()
        """Pods whose attempt failed since the event."""


class ReplicaRounds:
    """The rounds under way, of which one at a time has a pod in the active queue or in flight.

    `requeue` moves a pod out of the unschedulable pods: False if PreEnqueue gates it. `is_next` tells whether a pod is
    in the active queue or in flight.
    """

    def __init__(
        self,
        unschedulable: UnschedulablePods,
        feasibility: Feasibility,
        key: SortKey,
        requeue: Callable[[QueuedPodInfo, str], bool],
        is_next: Callable[[str], bool],
    ) -> None:
        self._unschedulable = unschedulable
        self._feasibility = feasibility
        self._key = key
        self._requeue = requeue
        self._is_next = is_next
        self._rounds: dict[Hashable, Round] = {}
        self._current = ""
        """The uid of the pod whose attempt the other rounds wait for."""
        self.awake: dict[str, Hashable] = {}
        """The replicas of each pod that is queued or in flight for all of them, by its uid."""

    def predicts(self, replicas: WaitingReplicas) -> bool:
        """Whether one of the pods stands for all of them."""
        if replicas.template is None:
            return False
        pod = replicas.head().pod
        return pod.template is replicas.template and self._feasibility.predicts(pod)

    def concern(self, replicas: WaitingReplicas, label: str, plugins: Iterable[str]) -> None:
        """An event concerns the replicas: they get their turn in `advance`."""
        current = self._rounds.get(replicas.key)
        if current is None:
            self._rounds[replicas.key] = Round(label, plugins)
        else:
            current.tried.clear()

    def is_due(self, replicas: WaitingReplicas) -> bool:
        """Whether the replicas get their turn after an attempt that is under way."""
        return replicas.key in self._rounds and bool(self.awake)

    def advance(self) -> None:
        """Requeue the first pod of the first replicas that fit a node, unless such a pod is tried already."""
        if not self._rounds or (self._current and self._is_next(self._current)):
            return
        self._current = ""
        busy = set(self.awake.values())
        for key in sorted((key for key in self._rounds if key not in busy), key=self._turn):
            if self._take_turn(key):
                return

    def still_fits(self, pod: Pod) -> bool:
        """Whether an attempt of a pod whose turn has come may succeed; otherwise its round is over."""
        if not self._feasibility.predicts(pod) or self._feasibility.fits(pod) is not False:
            return True
        self._rounds.pop(self.awake.pop(pod.uid), None)
        return False

    def failed(self, uid: str) -> None:
        """The attempt of a pod failed; `ended` follows."""
        current = self._rounds.get(self.awake.get(uid))
        if current is not None:
            current.tried.add(uid)

    def ended(self, uid: str) -> None:
        """The attempt of the pod has found a node or failed, or the pod is gone."""
        if self.awake.pop(uid, None) is None:
            return
        if self._current == uid:
            self._current = ""
        self.advance()

    def _turn(self, key: Hashable) -> tuple[Any, ...]:
        replicas = self._unschedulable.replicas(key)
        return () if replicas is None else (*self._key(replicas.head()), id(replicas))

    def _take_turn(self, key: Hashable) -> bool:
        """Requeue the first of the replicas if they fit; whether the other rounds have to wait for its attempt."""
        current = self._rounds[key]
        while (replicas := self._unschedulable.replicas(key)) is not None:
            head = replicas.head()
            uid = head.pod.uid
            fits = self._feasibility.fits(head.pod) if self.predicts(replicas) else None
            if fits is False:
                self._unschedulable.widen(replicas, current.plugins)
                break
            if fits is None or uid in current.tried:
                for info in [info for name, info in replicas.infos.items() if name not in current.tried]:
                    self._requeue(info, current.label)
                break
            self.awake[uid] = key
            if self._requeue(head, current.label):
                if self._is_next(uid):
                    self._current = uid
                return self._current == uid  # Otherwise it backs off.
            del self.awake[uid]
        self._rounds.pop(key, None)
        return False
