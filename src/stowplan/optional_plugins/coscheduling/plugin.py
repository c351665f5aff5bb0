"""The plugin: an order of the queue that keeps groups together, and Permit, at which members wait for each other.

Upstream: sigs.k8s.io/scheduler-plugins/pkg/coscheduling/coscheduling.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

import numpy as np

from stowplan import api
from stowplan import framework as fwk
from stowplan.api.kinds import KINDS
from stowplan.cache import Cluster
from stowplan.config.args.optional import RFC_3339, CoschedulingArgs
from stowplan.optional_plugins.base.go_time import parse_go_time
from stowplan.optional_plugins.base.requests import Amounts, amounts
from stowplan.optional_plugins.coscheduling.groups import CoschedulingGroups, GroupKey, group_key
from stowplan.plugins.base import InTreeHandle, InTreePlugin

NAME = "Coscheduling"
DEFAULT_WAIT_SECONDS = 60
_INITIAL_RETRY_SECONDS, _MAX_RETRY_SECONDS = 1.0, 10.0
_NO_TEXT = fwk.Status(fwk.Code.Unschedulable, plugin=NAME)
_NO_GROUP = fwk.Status(fwk.Code.Unschedulable, "can not find pod group", plugin=NAME)
_GROUP_NOT_FOUND = fwk.Status(fwk.Code.Unschedulable, "PodGroup not found", plugin=NAME)


def _refuse(text: str) -> fwk.Status:
    return fwk.Status(fwk.Code.UnschedulableAndUnresolvable, text, plugin=NAME)


class Coscheduling(InTreePlugin):
    """Members of a PodGroup are bound once `minMember` of them have a node."""

    name = NAME
    reads = ("CoschedulingPodGroup",)
    args: CoschedulingArgs

    def __init__(self, args: CoschedulingArgs, handle: fwk.Handle) -> None:
        super().__init__(args, handle)
        self._groups = _groups_of(self.cluster)

    # Queue
    def less(self, a: fwk.QueuedPodInfo, b: fwk.QueuedPodInfo) -> bool:
        return self.sort_key(a) < self.sort_key(b)

    def sort_key(self, item: fwk.QueuedPodInfo) -> tuple[int, float, str]:
        pod, key = item.pod, group_key(item.pod)
        started = item.timestamp if item.initial_attempt_timestamp is None else item.initial_attempt_timestamp
        if key is not None:
            self._groups.queued(pod, key, self._is_pending)
            group = self._groups.get(key)
            if group is not None:
                failed_at = self._groups.record(key).failed_at
                created = parse_go_time(RFC_3339, group.metadata.creation_timestamp) or 0.0
                started = created if failed_at is None else failed_at
        return -pod.priority, started, pod.key

    def pre_enqueue(self, pod: fwk.Pod) -> fwk.Status | None:
        """Keeps members of a group that was just rejected out of the queue: the room that they give up would wake them
        at once, without end."""
        key, group = self._group_of(pod)
        if key is None or group is None or self._groups.record(key).retry_at <= self.handle.now():
            return None
        return _refuse("waiting for the next attempt of the pod group, which was rejected")

    # Filtering
    def pre_filter(self, state: fwk.CycleState, pod: fwk.Pod, nodes: fwk.Nodes) -> fwk.Status | None:
        key, group = self._group_of(pod)
        if key is None or group is None:
            return None
        record, now = self._groups.record(key), self.handle.now()
        if record.backoff_until > now:
            return _refuse(f"podGroup {key[0]}/{key[1]} failed recently")
        refusal = self._too_few(pod, key, group)
        if refusal is not None:
            return refusal
        if group.spec.min_resources is not None and record.permitted_until <= now:
            gap = self._resource_gap(key, group)
            if gap:
                texts = [f"{name}:{_quantity(name, amount)}" for name, amount in sorted(gap.items())]
                return _refuse(f"resource gap: map[{' '.join(texts)}]")
            if self._is_deciding():
                record.permitted_until = now + self.args.permit_waiting_time_seconds
        return None

    def _too_few(self, pod: fwk.Pod, key: GroupKey, group: api.CoschedulingPodGroup) -> fwk.Status | None:
        wanted, assigned = group.spec.min_member, self._groups.assigned(group, key)
        pending = {**self._pending(key), pod.uid: pod}
        if assigned + len(pending) >= wanted:
            return None
        # Members that are gated, or were rejected after they had a node, are searched for among all pending pods.
        pending |= self._all_pending(key)
        total = assigned + len(pending)
        if total < wanted:
            return _refuse(
                f"pre-filter pod {pod.name} cannot find enough sibling pods, "
                f"current pods number: {total}, minMember of group: {wanted}"
            )
        gated = sum(bool(member.template.spec.scheduling_gates) for member in pending.values())
        if wanted - total + gated > 0:
            return _refuse(f"pre-filter pod {pod.name} cannot proceed due to gated pods in the same PodGroup")
        return None

    def _resource_gap(self, key: GroupKey, group: api.CoschedulingPodGroup) -> Amounts:
        """What is missing of minResources on all nodes together, the group's own pods taken away."""
        own: dict[str, int] = {"pods": 0}
        for info in self.nodes:
            for other in info.pods.values():
                if group_key(other) == key:
                    own["pods"] += 1
                    for name, amount in other.template.requests.items():
                        own[name] = own.get(name, 0) + amount
        gap: Amounts = {}
        for name, amount in {**amounts(group.spec.min_resources or {}), "pods": group.spec.min_member}.items():
            offered, requested = (
                (self.nodes.allowed_pods, self.nodes.pod_count) if name == "pods" else self.nodes.resource(name)
            )
            free = np.where(self.nodes.alive, offered.array - requested.array, 0.0)
            missing = amount - own.get(name, 0) - int(np.maximum(free, 0.0).sum())
            if missing > 0:
                gap[name] = missing
        return gap

    def post_filter(
        self, state: fwk.CycleState, pod: fwk.Pod, statuses: Mapping[str, fwk.Status]
    ) -> fwk.Status | fwk.PostFilterResult | None:
        key, group = self._group_of(pod)
        if key is None or group is None:
            return _NO_GROUP
        wanted, assigned = group.spec.min_member, self._groups.assigned(group, key)
        if assigned >= wanted or 100 * (wanted - assigned) <= self.args.pod_group_reject_percentage * wanted:
            return _NO_TEXT
        if self._is_deciding():
            has_enough = assigned + len({**self._pending(key), pod.uid: pod}) >= wanted
            if self.args.pod_group_backoff_seconds > 0 and has_enough:
                record = self._groups.record(key)
                record.backoff_until = self.handle.now() + self.args.pod_group_backoff_seconds
            self._reject_waiting(key, "optimistic rejection in PostFilter")
        text = f"PodGroup {key[0]}/{key[1]} gets rejected due to Pod {pod.name} is unschedulable even after PostFilter"
        return fwk.Status(fwk.Code.Unschedulable, text, plugin=NAME)

    # Binding
    def permit(self, state: fwk.CycleState, pod: fwk.Pod, node_name: str) -> fwk.Status | None:
        key, group = self._group_of(pod)
        if key is None:
            return None
        if group is None:
            return _GROUP_NOT_FOUND
        assigned = self._groups.assigned(group, key)
        if assigned >= group.spec.min_member:
            record = self._groups.record(key)
            record.failed_at, record.failures = None, 0
            for waiting in self._waiting(key):
                waiting.allow(NAME)
            return None
        if assigned == 1 and state.get(fwk.POD_GROUP_CYCLE) is None:  # A pod group cycle tries all members anyway.
            self._activate(key, pod)
        given = group.spec.schedule_timeout_seconds
        return fwk.wait(given or self.args.permit_waiting_time_seconds or DEFAULT_WAIT_SECONDS, "")

    def reserve(self, state: fwk.CycleState, pod: fwk.Pod, node_name: str) -> fwk.Status | None:
        return None

    def unreserve(self, state: fwk.CycleState, pod: fwk.Pod, node_name: str) -> None:
        key = group_key(pod)
        if key is not None and self._groups.get(key) is not None:
            self._reject_waiting(key, "rejection in Unreserve", pod)

    def events_to_register(self) -> Iterable[fwk.ClusterEventWithHint]:
        groups = KINDS["CoschedulingPodGroup"].event_resource
        return (fwk.on(fwk.EventResource.Pod, fwk.Action.Add), fwk.on(groups, fwk.Action.Add | fwk.Action.Update))

    def _group_of(self, pod: fwk.Pod) -> tuple[GroupKey | None, api.CoschedulingPodGroup | None]:
        key = group_key(pod)
        return key, None if key is None else self._groups.get(key)

    def _pending(self, key: GroupKey) -> Mapping[str, fwk.Pod]:
        return self._groups.pending(key, self._is_pending)

    def _all_pending(self, key: GroupKey) -> dict[str, fwk.Pod]:
        """All members without a node, by uid."""
        pods, placed = cast(InTreeHandle, self.handle).pending_pods(), self.cluster.pods
        return {other.uid: other for other in pods if group_key(other) == key and other.uid not in placed}

    def _activate(self, key: GroupKey, but: fwk.Pod | None = None) -> None:
        members = [each for each in self._all_pending(key).values() if but is None or each.uid != but.uid]
        self.handle.activate({each.key: each for each in members})

    async def _retry(self, key: GroupKey, seconds: float) -> None:
        """Try a rejected group again after a while."""
        await fwk.Sleep(seconds)
        self._activate(key)

    def _is_pending(self, pod: fwk.Pod) -> bool:
        return cast(InTreeHandle, self.handle).is_pending(pod)

    def _is_deciding(self) -> bool:
        """Whether the engine applies the decision under way; False for explanations."""
        return cast(InTreeHandle, self.handle).is_deciding()

    def _waiting(self, key: GroupKey) -> list[fwk.WaitingPod]:
        return [waiting for waiting in self.handle.waiting_pods() if group_key(waiting.pod) == key]

    def _reject_waiting(self, key: GroupKey, reason: str, but: fwk.Pod | None = None) -> None:
        """Reject all members that wait at Permit, and note the failure."""
        record, now = self._groups.record(key), self.handle.now()
        record.permitted_until, record.failed_at = 0.0, now
        members = [each for each in self._waiting(key) if but is None or each.pod.uid != but.uid]
        if members and record.retry_at <= now:
            seconds = min(_INITIAL_RETRY_SECONDS * 2.0**record.failures, _MAX_RETRY_SECONDS)
            record.failures, record.retry_at = record.failures + 1, now + seconds
            self.handle.start(self._retry(key, seconds))
        for waiting in members:
            waiting.reject(NAME, reason)


def _quantity(resource: str, amount: int) -> str:
    return f"{amount}m" if resource == "cpu" else str(amount)


def _groups_of(cluster: Cluster) -> CoschedulingGroups:
    made: dict[str, CoschedulingGroups] = cluster.nodes.derive(_shared)
    if NAME not in made:
        made[NAME] = CoschedulingGroups(cluster)
    return made[NAME]


def _shared(nodes: object) -> dict[str, CoschedulingGroups]:
    return {}
