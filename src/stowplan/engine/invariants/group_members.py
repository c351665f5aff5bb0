"""Checks that the states of pod groups equal a recount, that members that wait for others have one that events wake,
and that Permit lets no member of an incomplete gang pass."""

from __future__ import annotations

from collections.abc import Iterator

from stowplan.engine.state import EngineState
from stowplan.framework import Pod
from stowplan.queue import GroupKey, PodGroupQueue, group_key


def misgrouped(state: EngineState) -> Iterator[str]:
    """Problems with the members of groups; none without the feature gate GenericWorkload."""
    if isinstance(state.queue, PodGroupQueue):
        yield from _miscounted(state)
        yield from _never_woken(state)


def _miscounted(state: EngineState) -> Iterator[str]:
    """All members by group and place: assigned, assumed or unscheduled."""
    cluster = state.cluster
    there: dict[GroupKey, dict[str, str]] = {}
    for uid, pod in cluster.pods.items():
        if (key := group_key(pod)) is not None:
            there.setdefault(key, {})[uid] = "assumed" if uid in cluster.assumed else "assigned"
    for uid, pending in state.pending.items():
        if (key := group_key(pending.pod)) is not None:
            there.setdefault(key, {}).setdefault(uid, "unscheduled")
    for key, members in there.items():
        group = cluster.pod_groups.get(*key)
        kept = {} if group is None else {uid: _place(group, uid) for uid in group.all}
        if kept != members:
            yield f"members of group {key} are {kept}, but there are {members}"
    for key in list(cluster.pod_groups):
        if key not in there:
            yield f"group {key} is kept without a member"


def _place(group: object, uid: str) -> str:
    places = [name for name in ("assigned", "assumed", "unscheduled") if uid in getattr(group, name)]
    return " and ".join(places)


def _never_woken(state: EngineState) -> Iterator[str]:
    """Members that follow others wait among the unschedulable pods, and at least one member does not follow."""
    followers: dict[GroupKey, str] = {}
    leaders: set[GroupKey] = set()
    for name in ("active", "backoff", "error_backoff", "throttled", "unschedulable", "gated"):
        for queued in getattr(state.queue, name):
            key = group_key(queued.pod)
            if key is None:
                continue
            if not queued.follows_group:
                leaders.add(key)
            else:
                followers[key] = queued.pod.uid
                if name not in ("unschedulable", "gated"):
                    yield f"pod {queued.pod.uid} is {name} and follows its group"
    for queued in state.queue.in_flight_pods:
        if (key := group_key(queued.pod)) is not None:
            leaders.add(key)
    for key, uid in followers.items():
        if key not in leaders:
            yield f"pod {uid} follows its group {key}, of which no member is woken"


def incomplete_gang(state: EngineState, pod: Pod) -> Iterator[str]:
    """Permit let the pod pass."""
    groups = state.cluster.pod_groups
    group, rules = groups.of(pod), groups.rules_of(pod) if group_key(pod) is not None else None
    least = None if rules is None else rules.min_count
    if group is not None and least is not None and group.scheduled_count < least:
        yield f"pod {pod.uid} passes with {group.scheduled_count} of {least} members of its gang"
