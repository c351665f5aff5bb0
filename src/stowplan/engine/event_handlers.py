"""Taking in what a watch tells: into the cache, into the queue, and to the pods that waited for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stowplan import api
from stowplan.cache import key_of
from stowplan.engine.attempt import as_it_was
from stowplan.engine.pending import PendingPod
from stowplan.engine.state import EngineState
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

_FINISHED = ("Succeeded", "Failed")


class EventHandlers:
    """The engine's ear. Telling it the same thing twice does no harm; what was there before it knows itself."""

    def __init__(self, core: EngineState) -> None:
        self._core = core
        self._put: dict[type, Callable[[Any, Any], None]] = {api.Pod: self._put_pod, api.Node: self._put_node}
        self._remove: dict[type, Callable[[Any], None]] = {api.Pod: self._remove_pod, api.Node: self._remove_node}

    def put(self, item: Any, whole: Any = None) -> None:
        """An object was added or changed."""
        self._put.get(type(item), self._put_other)(item, whole)

    def remove(self, item: Any) -> None:
        """An object is gone."""
        self._remove.get(type(item), self._remove_other)(item)

    def _put_node(self, node: api.Node, whole: Any) -> None:
        core = self._core
        info = core.cluster.nodes.get(node.metadata.name)
        if info is None:
            core.cluster.put_node(node, whole)
            self._move(api.Node, Action.Add, None, node)
            return
        old = info.node
        core.observer.changed_node(node)
        core.cluster.put_node(node, whole)
        for event in node_events(old, node):
            core.observer.heard(event.label, node)
            core.queue.move(event, old, node)

    def _remove_node(self, node: api.Node) -> None:
        core = self._core
        info = core.cluster.nodes.get(node.metadata.name)
        if info is not None:
            self._move(api.Node, Action.Delete, info.node, None)
            core.cluster.remove_node(info.name)

    def _put_other(self, item: Any, whole: Any) -> None:
        core = self._core
        old = core.cluster.stores.of(type(item)).items().get(key_of(item.metadata))
        core.cluster.put(item)
        self._move(type(item), Action.Add if old is None else Action.Update, old, item)

    def _remove_other(self, item: Any) -> None:
        core = self._core
        old = core.cluster.stores.of(type(item)).items().get(key_of(item.metadata))
        if old is None:
            return
        core.cluster.remove(item)
        self._move(type(item), Action.Delete, old, None)

    def _move(self, kind: type, action: Action, old: Any, new: Any) -> None:
        event = event_of(kind, action)
        if event is not None:
            self._core.observer.heard(event.label, old if new is None else new)
            self._core.queue.move(event, old, new)

    # Pods
    def _put_pod(self, source: api.Pod, whole: Any) -> None:
        if source.status.phase in _FINISHED:
            self._remove_pod(source)
        elif source.spec.node_name:
            self._put_assigned(source, whole)
        elif source.spec.scheduler_name in self._core.profiles:
            self._put_unassigned(source, whole)

    def _put_assigned(self, source: api.Pod, whole: Any) -> None:
        core = self._core
        uid = source.metadata.uid
        pod = core.cluster.pod(source, whole if core.keep_assigned else None)
        old = core.cluster.pods.get(uid)
        confirmed = old is None or uid in core.cluster.assumed
        core.cluster.add_pod(pod)
        if old is not None and not confirmed:
            core.observer.heard("AssignedPodUpdate", pod)
            for event in pod_events(old, pod, assigned=True):
                core.queue.move(event, old, pod)
            return
        core.observer.heard("AssignedPodAdd", pod)
        core.queue.move(ASSIGNED_POD_ADD, None, pod)
        waited = core.pending.pop(uid, None)
        if waited is not None:
            core.observer.heard("UnschedulablePodDelete", waited.pod)
            core.queue.remove(waited.pod)
            waiting = core.waiting_pods.get(uid)
            if waiting is not None:
                waiting.reject("", REMOVED)  # Somebody else has bound it.

    def _put_unassigned(self, source: api.Pod, whole: Any) -> None:
        core = self._core
        uid = source.metadata.uid
        known = core.pending.get(uid)
        if known is None:
            if uid in core.cluster.pods:
                return  # Older news than that it was bound.
            pod = core.cluster.pod(source, whole)
            core.pending[uid] = PendingPod(pod, source)
            core.observer.heard("UnschedulablePodAdd", pod)
            core.queue.add(pod)
            return
        if source.metadata.resource_version and source.metadata.resource_version == known.resource_version:
            return
        old, new = known.pod, core.cluster.pod(source, whole)
        assumed = uid in core.cluster.assumed
        core.observer.heard("UnschedulablePodUpdate", None if assumed else new)
        core.pending[uid] = PendingPod(new, source)
        if assumed:
            if new.terminating and not old.terminating:
                self._give_up_assumed(core.cluster.pods[uid])
            return
        if uid in core.attempts:
            return  # It was given up; it comes back when its attempt ends.
        core.queue.update(old, new)
        if gives_up_nomination(old, new):
            self._nomination_ended(old)

    def _remove_pod(self, source: api.Pod) -> None:
        core = self._core
        uid = source.metadata.uid
        waited = core.pending.pop(uid, None)
        known = core.cluster.pods.get(uid)
        if waited is not None:
            core.observer.heard("UnschedulablePodDelete", waited.pod)
            core.queue.remove(waited.pod)
        if known is not None and uid in core.cluster.assumed:
            self._give_up_assumed(known)
        elif known is not None:
            core.observer.heard("AssignedPodDelete", known)
            core.cluster.remove_pod(uid)
            core.queue.move(ASSIGNED_POD_DELETE, known, None)
        elif waited is not None and gives_up_nomination(waited.pod, None):
            self._nomination_ended(waited.pod)

    def _nomination_ended(self, pod: Pod) -> None:
        """Pods of at most its priority were scheduled as if it were on its node already."""
        self._core.queue.move(ASSIGNED_POD_DELETE, pod, None, pre_check=lambda other: other.priority <= pod.priority)

    def _give_up_assumed(self, pod: Pod) -> None:
        """A pod goes away while it is being bound: what it holds is free at once, the binding fails when it may."""
        core = self._core
        gone = as_it_was(pod, pod.node_name)
        waiting = core.waiting_pods.get(pod.uid)
        if waiting is not None:
            waiting.reject("", REMOVED)
        else:
            core.cluster.forget(pod)
        core.queue.move(ASSIGNED_POD_DELETE, gone, None)
