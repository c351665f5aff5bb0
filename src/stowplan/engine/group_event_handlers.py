"""Event handlers for pods of groups and for PodGroups: keep the members of each group, and open the gate of gangs.

Upstream: pkg/scheduler/eventhandlers.go (addPodToSchedulingQueue), pkg/scheduler/backend/cache/podgroupstate.go
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from stowplan import api, logs
from stowplan.api.pod_group import COSCHEDULING_LABEL, POD_GROUP_VERSIONS, PREFERRED_TOPOLOGY, preference_problems
from stowplan.config.feature_gates import COSCHEDULING
from stowplan.engine.event_handlers import EventHandlers
from stowplan.engine.preemption import Preemptions
from stowplan.engine.state import EngineState
from stowplan.framework.pod_group import group_name
from stowplan.queue import GroupKey, PodGroupQueue, group_key

_COSCHEDULING_PLUGIN = "Coscheduling"

log = logs.get(__name__)


class GroupEventHandlers(EventHandlers):
    """Event handlers of an engine with the feature gate GenericWorkload."""

    def __init__(
        self,
        state: EngineState,
        preemptions: Preemptions,
        queue: PodGroupQueue,
        settle_gang: Callable[[GroupKey], None],
    ) -> None:
        """`settle_gang` decides about the members that wait at Permit."""
        super().__init__(state, preemptions)
        self._queue = queue
        self._settle_gang = settle_gang
        self._labels = state.cluster.release.has(COSCHEDULING)
        """Whether a label may name the group of a pod."""
        self._left_alone = {name for name, each in state.profiles.items() if _COSCHEDULING_PLUGIN in each.plugin_names}
        """The schedulerNames of profiles in which the plugin Coscheduling reads the label itself."""
        for kind in POD_GROUP_VERSIONS:
            self._put[kind] = self._put_group
            self._remove[kind] = self._remove_group

    def _put_pod(self, source: api.Pod, whole: Any) -> None:
        by_label = self._labels and source.spec.scheduler_name not in self._left_alone
        super()._put_pod(self._with_present_group(source) if by_label else source, whole)

    def _with_present_group(self, source: api.Pod) -> api.Pod:
        """The pod as a member of the group that its label names now. A pod whose label changed leaves its former group
        at once, one that is being bound only after that."""
        state, uid = self._state, source.metadata.uid
        source = with_labelled_group(source)
        placed, pending = state.cluster.pods.get(uid), state.pending.get(uid)
        known = pending.pod if placed is None and pending is not None else placed
        if known is None or group_name(known) == _group_of(source):
            return source
        if placed is None and uid not in state.attempts:
            self._remove_pod(source)
        elif source.spec.node_name:
            state.cluster.pod_groups.remove(known)
            self._queue.wake_group((source.metadata.namespace, _group_of(source)))
        else:
            return _in_group(source, group_name(known))
        return source

    def _put_group(self, group: Any, whole: Any) -> None:
        key = (group.metadata.namespace, group.metadata.name)
        groups = self._state.cluster.pod_groups
        before = groups.rules(*key)
        self._put_other(group, whole)
        self._queue.open_gang_gate(key)
        if groups.rules(*key) != before:
            self._queue.wake_group(key)
            for problem in preference_problems(group.metadata):
                log.warning(
                    "Ignoring a key of an annotation",
                    podGroup=logs.ref(group),
                    annotation=PREFERRED_TOPOLOGY,
                    err=problem,
                )

    def _remove_group(self, group: Any) -> None:
        self._remove_other(group)
        self._settle_gang((group.metadata.namespace, group.metadata.name))

    def _put_assigned(self, source: api.Pod, whole: Any) -> None:
        is_new = source.metadata.uid not in self._state.cluster.pods
        super()._put_assigned(source, whole)
        if source.spec.scheduling_group is not None:
            self._note_member(source.metadata.uid)
            if is_new and source.spec.scheduling_group.pod_group_name:
                # Another scheduler bound it: fewer of the others have to fit.
                self._queue.wake_group((source.metadata.namespace, source.spec.scheduling_group.pod_group_name))

    def _put_unassigned(self, source: api.Pod, whole: Any) -> None:
        if source.spec.scheduling_group is None:
            super()._put_unassigned(source, whole)
            return
        state, uid = self._state, source.metadata.uid
        if uid not in state.pending and uid not in state.cluster.pods:
            # PreEnqueue counts the member already.
            pod = state.cluster.pod(source)
            if group_name(pod):
                state.cluster.pod_groups.add(pod)
        super()._put_unassigned(source, whole)
        self._note_member(uid)

    def _note_member(self, uid: str) -> None:
        """Remember the present version of a member; a gang may be complete now."""
        state = self._state
        pod = state.cluster.pods.get(uid)
        if pod is None and uid in state.pending:
            pod = state.pending[uid].pod
        key = None if pod is None else group_key(pod)
        if pod is None or key is None:
            return
        if uid not in state.cluster.assumed:
            state.cluster.pod_groups.add(pod)
        self._queue.open_gang_gate(key, uid)

    def _remove_pod(self, source: api.Pod) -> None:
        state, uid = self._state, source.metadata.uid
        pending = state.pending.get(uid)
        pod = state.cluster.pods.get(uid) or (None if pending is None else pending.pod)
        super()._remove_pod(source)
        key = None if pod is None else group_key(pod)
        if pod is not None and key is not None:
            state.cluster.pod_groups.remove(pod)
            if state.cluster.pod_groups.get(*key) is None:
                self._settle_gang(key)


def with_labelled_group(source: api.Pod) -> api.Pod:
    """The pod as a member of the group that its label names, unless it has a group."""
    name = source.metadata.labels.get(COSCHEDULING_LABEL)
    if not name or source.spec.scheduling_group is not None:
        return source
    return _in_group(source, name)


def _group_of(source: api.Pod) -> str:
    group = source.spec.scheduling_group
    return "" if group is None else group.pod_group_name or ""


def _in_group(source: api.Pod, name: str) -> api.Pod:
    group = api.PodSchedulingGroup(pod_group_name=name) if name else None
    return replace(source, spec=replace(source.spec, scheduling_group=group))
