"""The pods of each pod group, and the rules of the groups.

Upstream: pkg/scheduler/backend/cache/podgroupstate.go
"""

from __future__ import annotations

from collections.abc import Iterator

from stowplan import api
from stowplan.api.meta import Wire
from stowplan.api.pod_group import POD_GROUP_VERSIONS, pod_group_rules
from stowplan.cache.stores import Stores
from stowplan.framework import Pod
from stowplan.framework.pod_group import PodGroupState, group_name

GroupKey = tuple[str, str]
"""(namespace, name)"""


class PodGroupStates:
    """Group states by namespace and name, from the first member to the last.

    The caller reports members: nothing is done for pods without a group.
    """

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._states: dict[GroupKey, PodGroupState] = {}
        self._rules: tuple[Wire, api.PodGroupRules] | None = None
        """The PodGroup that was read last; a cycle reads the same one for every member."""

    def rules(self, namespace: str, name: str) -> api.PodGroupRules | None:
        """The rules of the PodGroup; None if there is no such object."""
        group = self._find(namespace, name)
        if group is None:
            return None
        if self._rules is None or self._rules[0] is not group:
            self._rules = (group, pod_group_rules(group))
        return self._rules[1]

    def _find(self, namespace: str, name: str) -> Wire | None:
        for kind in POD_GROUP_VERSIONS:
            found: Wire | None = self._stores.of(kind).get(name, namespace)
            if found is not None:
                return found
        return None

    def rules_of(self, pod: Pod) -> api.PodGroupRules | None:
        """The rules of the pod's group."""
        return self.rules(pod.namespace, group_name(pod))

    def __iter__(self) -> Iterator[GroupKey]:
        """All groups that have members."""
        return iter(self._states)

    def get(self, namespace: str, name: str) -> PodGroupState | None:
        return self._states.get((namespace, name))

    def of(self, pod: Pod) -> PodGroupState | None:
        """The state of the pod's group."""
        return self._states.get((pod.namespace, group_name(pod)))

    def add(self, pod: Pod) -> None:
        """A member exists: it is assigned if it has a node, else unscheduled."""
        state = self._states.setdefault((pod.namespace, group_name(pod)), PodGroupState())
        state.all[pod.uid] = pod
        if pod.node_name:
            state.unscheduled.pop(pod.uid, None)
            state.assumed.pop(pod.uid, None)
            state.assigned[pod.uid] = pod
        elif pod.uid not in state.assumed:
            state.unscheduled[pod.uid] = pod

    def remove(self, pod: Pod) -> None:
        """A member is gone."""
        key = (pod.namespace, group_name(pod))
        state = self._states.get(key)
        if state is None:
            return
        for pods in (state.all, state.unscheduled, state.assumed, state.assigned):
            pods.pop(pod.uid, None)
        if not state.all:
            del self._states[key]

    def assume(self, pod: Pod) -> None:
        """An unscheduled member is assumed on a node."""
        state = self.of(pod)
        if state is not None and state.unscheduled.pop(pod.uid, None) is not None:
            state.assumed[pod.uid] = pod

    def forget(self, pod: Pod) -> None:
        """An assumed member is unscheduled again; a member that was seen on its node meanwhile stays assigned."""
        state = self.of(pod)
        if state is not None and state.assumed.pop(pod.uid, None) is not None:
            state.unscheduled[pod.uid] = pod
