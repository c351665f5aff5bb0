"""The status of a group or of a member in a pod group cycle: a code, an error and further reasons.

Upstream: k8s.io/kube-scheduler/framework/interface.go (Status with WithError)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from stowplan.framework import Code, Pod, Status

UNSCHEDULABLE_GROUP = "pod group is unschedulable"


class GroupStatus(NamedTuple):
    """kube-scheduler's messages join the error and the reasons, while wrapped errors repeat the error alone."""

    code: Code
    error: str = ""
    reasons: tuple[str, ...] = ()

    @property
    def succeeded(self) -> bool:
        return self.code == Code.Success

    @property
    def rejected(self) -> bool:
        return self.code in (Code.Unschedulable, Code.UnschedulableAndUnresolvable, Code.Pending)

    @property
    def message(self) -> str:
        return ", ".join((self.error, *self.reasons) if self.error else self.reasons)

    @property
    def as_error(self) -> str:
        return self.error or self.message

    def with_reason(self, reason: str) -> GroupStatus:
        return self._replace(reasons=(*self.reasons, reason))


SUCCESS = GroupStatus(Code.Success)


def failure(text: str) -> GroupStatus:
    return GroupStatus(Code.Error, text)


def unschedulable(*reasons: str) -> GroupStatus:
    """The group cannot run, for the usual reason and further ones."""
    return GroupStatus(Code.Unschedulable, UNSCHEDULABLE_GROUP, reasons)


def of_status(status: Status) -> GroupStatus:
    if status.code == Code.Error:
        return failure(status.message)
    return GroupStatus(status.code, "", tuple(status.reasons))


def mixed_schedulers(members: Iterable[Pod]) -> GroupStatus | None:
    """The failure of members that name two schedulers."""
    names = list(dict.fromkeys(pod.template.spec.scheduler_name for pod in members))
    if len(names) < 2:
        return None
    what = "all pods in a single pod group should have the same .spec.schedulerName set"
    return failure(f'{what}, got: "{names[1]}" and "{names[0]}"')
