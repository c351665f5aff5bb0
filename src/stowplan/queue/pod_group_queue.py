"""The scheduling queue with pod groups: a group is tried as a whole, and backs off as a whole.

Members are queued like other pods, and a group stands where its first member stands. Popping a member takes the others
along, wherever they wait, unless PreEnqueue gates them.

Upstream: pkg/scheduler/backend/queue/scheduling_queue.go (PopSpecificPod)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from stowplan.framework import Pod, QueuedPodInfo
from stowplan.framework.pod_group import group_name
from stowplan.queue.queueing_hints import QueueingStrategy
from stowplan.queue.scheduling_queue import ADDED, FORCE_ACTIVATE, SchedulingQueue

GANG_PLUGIN = "GangScheduling"

GroupKey = tuple[str, str]
"""(namespace, name)"""


class QueuedPodGroupInfo:
    """The queued members of a pod group."""

    __slots__ = ("has_followers", "has_gated", "members")

    def __init__(self) -> None:
        self.members: dict[str, QueuedPodInfo] = {}
        """By uid, without those in flight."""
        self.has_followers = False
        """Whether members may wait that only other members wake."""
        self.has_gated = False
        """Whether GangScheduling may gate members: without it, no member is looked at when another arrives."""


def group_key(pod: Pod) -> GroupKey | None:
    """The group of a pod; None without a group."""
    name = group_name(pod)
    return (pod.template.namespace, name) if name else None


class PodGroupQueue(SchedulingQueue):
    """A queue that knows the groups of its pods. Pods without a group are treated as in `SchedulingQueue`."""

    def __init__(self, *, is_held: Callable[[QueuedPodInfo], bool] = lambda info: False, **options: Any) -> None:
        # Of the members that wait for a gang, `open_gang_gate` checks one; events would check each.
        super().__init__(is_held=lambda info: info.gating_plugin == GANG_PLUGIN or is_held(info), **options)
        self._groups: dict[GroupKey, QueuedPodGroupInfo] = {}
        self.retries_groups = False
        """Whether groups that failed wait for their backoff alone, as in kube-scheduler v1.36, and not for an event."""

    # Attempts

    def take_members(self, first: QueuedPodInfo) -> list[QueuedPodInfo]:
        """All members to try with one that was popped, in the order of the cycle. They are in flight until `done`."""
        key = group_key(first.pod)
        taken = [first]
        group = None if key is None else self._groups.get(key)
        if key is None or group is None:
            return taken
        group.members.pop(first.pod.uid, None)
        group.has_followers = False
        for info in list(group.members.values()):
            info.follows_group = False
            if self._take(info):
                del group.members[info.pod.uid]
                taken.append(info)
        if not group.members:
            del self._groups[key]
        taken.sort(key=_order_in_cycle)
        return taken

    def _take(self, info: QueuedPodInfo) -> bool:
        """Put a queued member in flight, unless PreEnqueue gates it."""
        uid = info.pod.uid
        if info.sub_queue is self._unschedulable and self._is_gated(info):
            self._unschedulable.put(info)
            return False
        if info.sub_queue is not self._active:
            self._entered(info, "active", FORCE_ACTIVATE)
        if info.sub_queue is not None:
            info.sub_queue.discard(info)
        if info.initial_attempt_timestamp is None:
            info.initial_attempt_timestamp = self._clock()
        del self._infos[uid]
        info.attempts += 1
        self._in_flight.enter(info)
        return True

    def share_backoff(self, infos: Sequence[QueuedPodInfo]) -> None:
        """Members of a group failed together, and are about to be requeued: all of them back off for as long as the one
        that failed most often."""
        failures = max((info.unschedulable_count for info in infos), default=0)
        errors = max((info.consecutive_errors for info in infos), default=0)
        for info in infos:
            info.unschedulable_count, info.consecutive_errors = failures, errors

    def add_unschedulable(self, info: QueuedPodInfo, refusal: str = "", *, has_condition: bool = False) -> bool:
        added = super().add_unschedulable(info, refusal, has_condition=has_condition)
        key = group_key(info.pod)
        if added and key is not None:
            group = self._enter_group(key, info)
            group.has_followers |= info.follows_group
        return added

    # Members

    def open_gang_gate(self, key: GroupKey, newest: str = "") -> None:
        """A member, of which `newest` is the uid, or the PodGroup came into existence: requeue the members that
        GangScheduling gates, if it passes them now. One check serves all of them; that of the newest member was one."""
        group = self._groups.get(key)
        if group is None or not group.has_gated:
            return
        info = group.members.get(newest)
        if info is not None and info.gating_plugin == GANG_PLUGIN:
            return
        waiting = [info for info in group.members.values() if info.gating_plugin == GANG_PLUGIN]
        for info in waiting:
            if not self._requeue(info, QueueingStrategy.AfterBackoff, ADDED) and info.gating_plugin == GANG_PLUGIN:
                return
        group.has_gated = any(info.gating_plugin == GANG_PLUGIN for info in waiting)
        if waiting:
            _arrive_together(group.members.values())

    def wake_group(self, key: GroupKey) -> None:
        """The PodGroup changed, or a member runs that was not scheduled here: requeue the group after its backoff."""
        group = self._groups.get(key)
        for info in () if group is None else list(group.members.values()):
            if info.sub_queue is self._unschedulable and not info.gated:
                self._requeue(info, QueueingStrategy.AfterBackoff, ADDED)
                return

    def remove(self, pod: Pod) -> None:
        info = self._infos.get(pod.uid)
        super().remove(pod)
        key = None if info is None else group_key(info.pod)
        group = None if key is None else self._groups.get(key)
        if info is None or key is None or group is None:
            return
        group.members.pop(pod.uid, None)
        if not group.members:
            del self._groups[key]
        elif not info.follows_group:
            self._wake_alone(group)

    def _add(self, pod: Pod, label: str) -> None:
        key = group_key(pod)
        if key is None:
            super()._add(pod, label)
            return
        super()._add(pod, label)
        self._enter_group(key, self._infos[pod.uid])

    def _activate(self, info: QueuedPodInfo, label: str, run_pre_enqueue: bool) -> bool:
        info.follows_group = False
        return super()._activate(info, label, run_pre_enqueue)

    def _back_off(self, info: QueuedPodInfo, label: str) -> bool:
        info.follows_group = False
        return super()._back_off(info, label)

    def _is_gated(self, info: QueuedPodInfo) -> bool:
        gated = super()._is_gated(info)
        key = group_key(info.pod) if gated else None
        group = None if key is None else self._groups.get(key)
        if group is not None:
            group.has_gated |= info.gating_plugin == GANG_PLUGIN
            if not info.follows_group:
                self._wake_alone(group)
        return gated

    def _strategy_after_attempt(self, info: QueuedPodInfo) -> QueueingStrategy:
        if self.retries_groups and group_key(info.pod) is not None:
            return QueueingStrategy.AfterBackoff
        return super()._strategy_after_attempt(info)

    def _enter_group(self, key: GroupKey, info: QueuedPodInfo) -> QueuedPodGroupInfo:
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = QueuedPodGroupInfo()
        group.members[info.pod.uid] = info
        group.has_gated |= info.gating_plugin == GANG_PLUGIN
        return group

    def _wake_alone(self, group: QueuedPodGroupInfo) -> None:
        """A member that others waited with is gone or gated: events wake each of them from now on."""
        if not group.has_followers:
            return
        group.has_followers = False
        for info in group.members.values():
            if info.follows_group:
                info.follows_group = False
                if info.sub_queue is self._unschedulable:
                    self._unschedulable.put(info)


def _arrive_together(infos: Iterable[QueuedPodInfo]) -> None:
    """Give all members one arrival time, so that a late member does not change their order in the cycle."""
    fresh = [(info, info.initial_attempt_timestamp) for info in infos if not info.attempts]
    arrival = min((since for _, since in fresh if since is not None), default=None)
    for info, since in fresh:
        info.initial_attempt_timestamp = None if since is None else arrival


def _order_in_cycle(info: QueuedPodInfo) -> tuple[int, float, str, str]:
    """Higher priority first, then the earlier arrival in the active queue; members that arrived together by name."""
    pod, arrival = info.pod, info.initial_attempt_timestamp
    return -pod.priority, 0.0 if arrival is None else arrival, pod.template.namespace, pod.name
