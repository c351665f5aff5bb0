"""Event handlers: update the cache and the queue, and wake pods that wait for the event.

Upstream: pkg/scheduler/eventhandlers.go
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stowplan import api
from stowplan.api.pod import FINISHED_PHASES
from stowplan.cache import key_of
from stowplan.engine.preemption import Preemptions
from stowplan.engine.state import EngineState, PendingPod, assigned_copy
from stowplan.framework import Action, Pod
from stowplan.queue.cluster_events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    event_of,
    gives_up_nomination,
    node_events,
    pod_events,
)
from stowplan.runtime.points.waiting_pods import REMOVED


class EventHandlers:
    """Event handlers. Idempotent; the old object is taken from the cache, not from the caller."""

    def __init__(self, state: EngineState, preemptions: Preemptions) -> None:
        self._state = state
        self._preemptions = preemptions
        self._put: dict[type, Callable[[Any, Any], None]] = {api.Pod: self._put_pod, api.Node: self._put_node}
        self._remove: dict[type, Callable[[Any], None]] = {api.Pod: self._remove_pod, api.Node: self._remove_node}

    def put(self, item: Any, whole: Any = None) -> None:
        """An object was added or updated."""
        self._put.get(type(item), self._put_other)(item, whole)

    def remove(self, item: Any) -> None:
        """An object was deleted."""
        self._remove.get(type(item), self._remove_other)(item)

    def _put_node(self, node: api.Node, whole: Any) -> None:
        state = self._state
        info = state.cluster.nodes.get(node.metadata.name)
        if info is None:
            state.cluster.put_node(node, whole)
            self._move(api.Node, Action.Add, None, node)
            return
        old = info.node
        state.observer.node_updated(node)
        state.cluster.put_node(node, whole)
        for event in node_events(old, node):
            state.observer.event_received(event.label, node)
            state.queue.move(event, old, node)

    def _remove_node(self, node: api.Node) -> None:
        state = self._state
        info = state.cluster.nodes.get(node.metadata.name)
        if info is not None:
            self._move(api.Node, Action.Delete, info.node, None)
            state.cluster.remove_node(info.name)

    def _put_other(self, item: Any, whole: Any) -> None:
        state = self._state
        old = state.cluster.stores.of(type(item)).items().get(key_of(item.metadata))
        state.cluster.put(item)
        self._move(type(item), Action.Add if old is None else Action.Update, old, item)

    def _remove_other(self, item: Any) -> None:
        state = self._state
        old = state.cluster.stores.of(type(item)).items().get(key_of(item.metadata))
        if old is None:
            return
        state.cluster.remove(item)
        self._move(type(item), Action.Delete, old, None)

    def _move(self, kind: type, action: Action, old: Any, new: Any) -> None:
        event = event_of(kind, action)
        if event is not None:
            self._state.observer.event_received(event.label, old if new is None else new)
            self._state.queue.move(event, old, new)

    # Pods
    def _put_pod(self, source: api.Pod, whole: Any) -> None:
        if source.status.phase in FINISHED_PHASES:
            self._remove_pod(source)
        elif source.spec.node_name:
            self._put_assigned(source, whole)
        elif source.spec.scheduler_name in self._state.profiles:
            self._put_unassigned(source, whole)

    def _put_assigned(self, source: api.Pod, whole: Any) -> None:
        state = self._state
        uid = source.metadata.uid
        old = state.cluster.pods.get(uid)
        confirmed = old is None or uid in state.cluster.assumed
        if source.metadata.deletion_timestamp is not None and not confirmed and _removal_follows(source, old):
            state.observer.event_received("AssignedPodUpdate", old)
            return
        pod = state.cluster.pod(source, whole if state.keep_assigned_objects else None)
        if pod.terminating:
            self._preemptions.pod_leaves(uid)
        state.cluster.add_pod(pod)
        if old is not None and not confirmed:
            state.observer.event_received("AssignedPodUpdate", pod)
            for event in pod_events(old, pod, assigned=True):
                state.queue.move(event, old, pod)
            return
        state.observer.event_received("AssignedPodAdd", pod)
        state.queue.move(ASSIGNED_POD_ADD, None, pod)
        pending = state.pending.pop(uid, None)
        if pending is not None:
            state.observer.event_received("UnschedulablePodDelete", pending.pod)
            state.queue.remove(pending.pod)
            waiting = state.waiting_pods.get(uid)
            if waiting is not None:
                waiting.reject("", REMOVED)  # Another scheduler bound it.

    def _put_unassigned(self, source: api.Pod, whole: Any) -> None:
        state = self._state
        uid = source.metadata.uid
        known = state.pending.get(uid)
        if known is None:
            if uid in state.cluster.pods:
                return  # An update from before it was bound.
            pod = state.cluster.pod(source, whole)
            state.pending[uid] = PendingPod(pod, source)
            state.observer.event_received("UnschedulablePodAdd", pod)
            state.queue.add(pod)
            return
        if source.metadata.resource_version and source.metadata.resource_version == known.resource_version:
            return
        old, new = known.pod, state.cluster.pod(source, whole)
        assumed = uid in state.cluster.assumed
        state.observer.event_received("UnschedulablePodUpdate", None if assumed else new)
        state.pending[uid] = PendingPod(new, source)
        if assumed:
            if new.terminating and not old.terminating:
                self._forget_assumed(state.cluster.pods[uid])
            return
        if uid in state.attempts:
            return  # It was forgotten; it is requeued when its attempt ends.
        if known.conditions != state.pending[uid].conditions:
            state.queue.condition_changed(uid, state.pending[uid].refusal)
        state.queue.update(old, new)
        if gives_up_nomination(old, new):
            self._nomination_ended(old)

    def _remove_pod(self, source: api.Pod) -> None:
        state = self._state
        uid = source.metadata.uid
        pending = state.pending.pop(uid, None)
        cached = state.cluster.pods.get(uid)
        self._preemptions.pod_leaves(uid)
        if pending is not None:
            state.observer.event_received("UnschedulablePodDelete", pending.pod)
            state.queue.remove(pending.pod)
        if cached is not None and uid in state.cluster.assumed:
            self._forget_assumed(cached)
        elif cached is not None:
            state.observer.event_received("AssignedPodDelete", cached)
            state.cluster.remove_pod(uid)
            state.queue.move(ASSIGNED_POD_DELETE, cached, None)
        elif pending is not None and gives_up_nomination(pending.pod, None):
            self._nomination_ended(pending.pod)

    def _nomination_ended(self, pod: Pod) -> None:
        """Wakes pods of the same or lower priority: they were filtered as if the pod ran on its nominated node."""
        self._state.queue.move(ASSIGNED_POD_DELETE, pod, None, pre_check=lambda other: other.priority <= pod.priority)

    def _forget_assumed(self, pod: Pod) -> None:
        """An assumed pod is deleted: its room is free at once, and its binding fails later."""
        state = self._state
        removed = assigned_copy(pod, pod.node_name)
        waiting = state.waiting_pods.get(pod.uid)
        if waiting is not None:
            waiting.reject("", REMOVED)
        else:
            state.cluster.forget(pod)
        state.queue.move(ASSIGNED_POD_DELETE, removed, None)


def _removal_follows(source: api.Pod, old: Pod | None) -> bool:
    """Whether an update is the first half of a deletion without a grace period: the API server sets the timestamp and
    removes the pod in one request. A preemptor woken between the two events would only find the pod terminating."""
    metadata = source.metadata
    if metadata.deletion_grace_period_seconds != 0 or metadata.finalizers:
        return False
    return old is not None and not old.terminating
