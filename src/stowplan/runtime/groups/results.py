"""What a pod group cycle means for each member and for the PodGroup.

Upstream: pkg/scheduler/schedule_one_podgroup.go (submitPodGroupAlgorithmResult, updatePodGroupCondition)
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from stowplan.framework import Code, Pod
from stowplan.runtime.groups.group_status import UNSCHEDULABLE_GROUP, GroupStatus
from stowplan.runtime.groups.members import GroupTrial, MemberResult

GroupResult = Literal["scheduled", "unschedulable", "waiting_on_preemption", "error"]
"""Label `result` of scheduler_podgroup_schedule_attempts_total."""


class MemberOutcome(NamedTuple):
    """A member that is to be bound to `node_name`, or goes back to the queue with a status."""

    pod: Pod
    node_name: str
    status: GroupStatus | None
    """None for a member that is to be bound."""
    nominated: str | None
    """The node to nominate the member to; "" clears a nomination, None leaves it as it is."""
    rejectors: frozenset[str]
    """The plugins whose events wake the member."""


class GroupCondition(NamedTuple):
    """The condition PodGroupScheduled."""

    status: Literal["True", "False"]
    reason: str
    message: str


def outcomes_of(trial: GroupTrial, members: tuple[Pod, ...]) -> list[MemberOutcome]:
    """The outcome of each member, in order."""
    results = [*trial.results, *[None] * (len(members) - len(trial.results))]
    return [_outcome(trial, pod, result) for pod, result in zip(members, results, strict=True)]


def _outcome(trial: GroupTrial, pod: Pod, result: MemberResult | None) -> MemberOutcome:
    group = trial.status
    own = None if result is None else result.status
    if result is None or own is None:
        return MemberOutcome(pod, "", group, "", frozenset())
    if group.code == Code.Error:
        status = own if own.code == Code.Error else group
        return MemberOutcome(pod, "", status, "", frozenset())
    if own.succeeded and group.succeeded:
        return MemberOutcome(pod, result.node_name, None, None, frozenset())
    if own.succeeded and trial.waiting_on_preemption:
        return MemberOutcome(pod, "", group, result.node_name, frozenset())
    if own.succeeded or (result.requires_preemption and not trial.waiting_on_preemption):
        message = "" if result.permit is None else result.permit.message
        return MemberOutcome(pod, "", GroupStatus(Code.Unschedulable, UNSCHEDULABLE_GROUP, (message,)), "", frozenset())
    return MemberOutcome(pod, "", own, result.nominated, result.rejectors)


def result_of(trial: GroupTrial) -> GroupResult:
    if trial.status.succeeded:
        return "scheduled"
    if not trial.status.rejected:
        return "error"
    return "waiting_on_preemption" if trial.waiting_on_preemption else "unschedulable"


def condition_of(trial: GroupTrial) -> GroupCondition:
    """The condition of the PodGroup. A condition that is True is never replaced by one that is False."""
    status = trial.status
    if status.succeeded:
        return GroupCondition("True", "Scheduled", "")
    if status.rejected:
        return GroupCondition("False", "Unschedulable", status.message)
    return GroupCondition("False", "SchedulerError", status.as_error)
