"""Writes the condition PodGroupScheduled.

Upstream: pkg/scheduler/schedule_one_podgroup.go (updatePodGroupCondition)
"""

from __future__ import annotations

from typing import Any

from stowplan import api, logs
from stowplan.api import codec
from stowplan.api.pod_group import POD_GROUP_SCHEDULED
from stowplan.engine.state import EngineState
from stowplan.framework import Failure, Sleep, Write
from stowplan.queue import GroupKey
from stowplan.runtime.groups import GroupCondition

log = logs.get(__name__)

_KIND = "PodGroup"
_MAX_ATTEMPTS = 5
_RETRY_SECONDS = 0.1
_FINAL = ("Forbidden", "Invalid")


class GroupConditions:
    """Conditions of PodGroups. Of a group, one write runs at a time; a later condition replaces one that waits."""

    def __init__(self, state: EngineState) -> None:
        self._state = state
        self._running: dict[GroupKey, GroupCondition | None] = {}
        """The condition to write next, by group; None if the write under way is the last one."""

    def write(self, key: GroupKey, condition: GroupCondition) -> None:
        """Write the condition, unless the PodGroup has it already, or has been scheduled before."""
        if key in self._running:
            self._running[key] = condition
            return
        group = self._state.cluster.stores.of(api.PodGroup).get(key[1], key[0])
        if group is None:
            log.v(2, "No PodGroup to update", podGroup=logs.ObjectRef(*key))
        elif _changes(group, condition):
            self._running[key] = None
            self._state.tasks.start(self._write(key, group, condition))

    async def _write(self, key: GroupKey, group: api.PodGroup, condition: GroupCondition) -> None:
        following: GroupCondition | None = condition
        while following is not None:
            group = await self._write_one(group, following)
            following, self._running[key] = self._running[key], None
        del self._running[key]

    async def _write_one(self, group: api.PodGroup, condition: GroupCondition) -> api.PodGroup:
        """The PodGroup as last seen, after the write or without it."""
        for attempt in range(1, _MAX_ATTEMPTS + 1):
            if not _changes(group, condition):
                return group
            changes = {"status": {"conditions": self._conditions(group, condition)}}
            outcome = await Write("patch", _KIND, group, changes, "status")
            if not isinstance(outcome, Failure):
                return outcome if isinstance(outcome, api.PodGroup) else group
            if outcome.reason == "NotFound":
                return group
            if outcome.reason in _FINAL or attempt == _MAX_ATTEMPTS:
                log.error(outcome.message, "Error updating pod group", podGroup=_ref(group))
                return group
            await Sleep(_RETRY_SECONDS * attempt)
            found = await Write("get", _KIND, group)
            group = found if isinstance(found, api.PodGroup) else group
        return group

    def _conditions(self, group: api.PodGroup, wanted: GroupCondition) -> list[Any]:
        before = group.condition(POD_GROUP_SCHEDULED)
        same_status = before is not None and before.status == wanted.status
        condition = api.Condition(
            type=POD_GROUP_SCHEDULED,
            status=wanted.status,
            reason=wanted.reason,
            message=wanted.message,
            last_transition_time=before.last_transition_time
            if before is not None and same_status
            else self._state.timestamp(),
        )
        others = [each for each in group.status.conditions if each.type != POD_GROUP_SCHEDULED]
        return [codec.builtins(each) for each in (*others, condition)]


def _ref(group: api.PodGroup) -> logs.ObjectRef:
    return logs.ObjectRef(group.metadata.namespace, group.metadata.name)


def _changes(group: api.PodGroup, wanted: GroupCondition) -> bool:
    before = group.condition(POD_GROUP_SCHEDULED)
    if before is None:
        return True
    if before.status == "True":
        return False
    return (before.status, before.reason, before.message) != (wanted.status, wanted.reason, wanted.message)
