"""Waking replicas one at a time: what one of them is refused, the others are refused as well.

kube-scheduler requeues every pod that an event may concern. Where it is known whether pods of a template fit a node,
only the first of them is requeued, and the next one after its attempt if there is still a node for it. A pod that no
longer fits when its turn comes goes back without an attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Protocol

from stowplan.framework import ClusterEvent, Pod, QueuedPodInfo
from stowplan.queue.unschedulable_pods import UnschedulablePods, WaitingReplicas


class Feasibility(Protocol):
    """Kept answers about pods of a template."""

    def predicts(self, pod: Pod) -> bool:
        """Whether `fits` may know the answer."""
        ...

    def fits(self, pod: Pod) -> bool | None:
        """Whether an attempt finds a node; None if only an attempt shows it."""
        ...


class Unknown:
    """Knows nothing: every pod is requeued."""

    def predicts(self, pod: Pod) -> bool:
        return False

    def fits(self, pod: Pod) -> bool | None:
        return None


class Round:
    """The replicas that an event concerns, while one of them is tried."""

    __slots__ = ("label", "plugins", "tried")

    def __init__(self, label: str, plugins: Iterable[str]) -> None:
        self.label = label
        self.plugins = plugins
        self.tried: set[str] = set()
        """Pods whose attempt failed since the event."""


class ReplicaRounds:
    """The rounds under way. `requeue` moves a pod out of the unschedulable pods; False if PreEnqueue gates it."""

    def __init__(
        self,
        unschedulable: UnschedulablePods,
        feasibility: Feasibility,
        requeue: Callable[[QueuedPodInfo, str], bool],
    ) -> None:
        self._unschedulable = unschedulable
        self._feasibility = feasibility
        self._requeue = requeue
        self._rounds: dict[Hashable, Round] = {}
        self.awake: dict[str, Hashable] = {}
        """The replicas of each pod that is queued or in flight for all of them, by its uid."""

    def predicts(self, replicas: WaitingReplicas) -> bool:
        """Whether one of the pods stands for all of them."""
        if replicas.template is None:
            return False
        pod = replicas.head().pod
        return pod.template is replicas.template and self._feasibility.predicts(pod)

    def wake(self, replicas: WaitingReplicas, event: ClusterEvent, plugins: Iterable[str]) -> bool:
        """Requeue the first of the pods if they fit a node; False if that is not known. `plugins` are those that may
        reject the pods from now on."""
        fits = self._feasibility.fits(replicas.head().pod)
        if fits is None:
            return False
        if not fits:
            self._unschedulable.widen(replicas, plugins)
            return True
        current = self._rounds.get(replicas.key)
        if current is not None:
            current.tried.clear()
            return True
        self._rounds[replicas.key] = Round(event.label, plugins)
        self._advance(replicas.key)
        return True

    def still_fits(self, pod: Pod) -> bool:
        """Whether an attempt of a pod whose turn has come may succeed; otherwise the round is over."""
        if self._feasibility.fits(pod) is not False:
            return True
        self._rounds.pop(self.awake.pop(pod.uid), None)
        return False

    def failed(self, uid: str) -> None:
        """The attempt of a pod failed; `ended` follows."""
        key = self.awake.get(uid)
        if key is not None and key in self._rounds:
            self._rounds[key].tried.add(uid)

    def ended(self, uid: str) -> None:
        """The pod is no longer queued or in flight: continue with the next one."""
        key = self.awake.pop(uid, None)
        if key is not None:
            self._advance(key)

    def _advance(self, key: Hashable) -> None:
        current = self._rounds[key]
        while (replicas := self._unschedulable.replicas(key)) is not None:
            head = replicas.head()
            known = self._feasibility.fits(head.pod) if self.predicts(replicas) else None
            if known is False:
                self._unschedulable.widen(replicas, current.plugins)
                break
            if known is None or head.pod.uid in current.tried:
                self._requeue_rest(replicas, current)
                break
            self.awake[head.pod.uid] = key
            if self._requeue(head, current.label):
                return
            del self.awake[head.pod.uid]
        self._rounds.pop(key, None)

    def _requeue_rest(self, replicas: WaitingReplicas, current: Round) -> None:
        for info in [info for uid, info in replicas.infos.items() if uid not in current.tried]:
            self._requeue(info, current.label)
