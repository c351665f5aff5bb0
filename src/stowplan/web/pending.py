"""Pending pods by sentence, for the page."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import asdict, replace

from stowplan.engine import Engine
from stowplan.framework import Pod
from stowplan.framework.explanation import PendingGroup, PendingPods
from stowplan.insight.insight import Insight
from stowplan.insight.queue_words import Clocks
from stowplan.insight.slices import Slices
from stowplan.web.pod_table import workload_key
from stowplan.web.wire import GroupPage, ListedGroup, PendingPage, PendingPodRow

MAX_GROUPS = 200
MAX_ROWS = 500
MAX_EXPLAINED_TEMPLATES = 1000
"""Pod templates that are explained in the list: about ten seconds with 5,000 nodes."""
_MAX_WORKLOADS = 20


class PendingGroups(NamedTuple):
    """The groups, the largest first, with all their pods."""

    total: int
    groups: list[ListedGroup]
    pods: dict[str, list[Pod]]
    """By the group's id, by name."""

    def page(self, epoch: str, revision: int, time: float) -> PendingPage:
        return PendingPage(
            epoch=epoch,
            revision=revision,
            time=time,
            pods=self.total,
            groups=self.groups[:MAX_GROUPS],
            more_groups=max(0, len(self.groups) - MAX_GROUPS),
        )

    def group_page(self, row: Callable[[Pod], PendingPodRow], group_id: str, first: int, count: int) -> GroupPage:
        group = next(each for each in self.groups if each.id == group_id)
        pods = self.pods[group_id][first : first + min(count, MAX_ROWS)]
        return GroupPage(
            id=group_id,
            sentence=group.sentence,
            verdict=group.verdict,
            pods=group.pods,
            first=first,
            rows=[row(pod) for pod in pods],
        )


Since = Callable[[Pod], str] | None
"""Since when a pod is pending, if the queue does not know it."""
Members = dict[str, list[Pod]]
"""Pods by sentence."""


def group_pending(insight: Insight) -> Slices[tuple[PendingPods, Members]]:
    """All pending pods, grouped by sentence."""
    members: Members = {}
    found = yield from insight.pending(members=members, max_explained=MAX_EXPLAINED_TEMPLATES)
    return found, members


def pending_groups(found: PendingPods, members: Members, since: Since = None) -> PendingGroups:
    """The groups for the page; runs on any thread."""
    groups = [_listed(group) for group in found.groups]
    pods = {group.id: sorted(members[group.sentence], key=lambda pod: pod.key) for group in groups}
    if since is not None:
        oldest = {name: min(filter(None, map(since, each)), default="") for name, each in pods.items()}
        groups = [replace(group, since=oldest[group.id]) for group in groups]
    return PendingGroups(found.pods, groups, pods)


def _listed(group: PendingGroup) -> ListedGroup:
    fields = asdict(group)
    workloads = dict(list(group.workloads.items())[:_MAX_WORKLOADS])
    digest = hashlib.sha256(group.sentence.encode()).hexdigest()
    return ListedGroup(**{**fields, "workloads": workloads}, id=digest[:12])


def pending_row(engine: Engine, clocks: Clocks, since: Since, pod: Pod) -> PendingPodRow:
    """One pod of a group."""
    if since is not None:
        return PendingPodRow(
            pod=pod.key,
            workload=workload_key(pod),
            priority=pod.priority,
            since=since(pod),
            attempts=0,
            place="unknown",
        )
    place = engine.queue_place(pod.uid)
    waits = engine.waiting_pods.get(pod.uid) is not None
    first = None if place is None else place[1].initial_attempt_timestamp
    return PendingPodRow(
        pod=pod.key,
        workload=workload_key(pod),
        priority=pod.priority,
        since="" if first is None else clocks.timestamp(first),
        attempts=0 if place is None else place[1].attempts,
        place="permit" if waits else "unknown" if place is None else place[0].replace("_", "-"),
    )
