"""Status: the result of an extension point, and the functions that authors make one with.

Upstream: k8s.io/kube-scheduler/framework/interface.go (Status, Code)
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Final


class Code(IntEnum):
    """Result code of an extension point, with kube-scheduler's names as in its metrics and logs."""

    Success = 0
    Error = 1
    Unschedulable = 2
    UnschedulableAndUnresolvable = 3
    Wait = 4
    Skip = 5
    Pending = 6


_REJECTED: Final = frozenset({Code.Unschedulable, Code.UnschedulableAndUnresolvable, Code.Pending})


class Status:
    """A result other than plain success. Success is None, so that a feasible node allocates nothing.

    Instances are immutable by convention: in-tree plugins share module-level constants, and `with_plugin` copies.
    """

    __slots__ = ("code", "plugin", "reasons", "timeout")

    def __init__(self, code: Code, *reasons: str, plugin: str = "", timeout: float = 0.0) -> None:
        self.code = code
        self.reasons = reasons
        self.plugin = plugin
        self.timeout = timeout

    @property
    def rejected(self) -> bool:
        """Whether the pod or the node was rejected. False for success, Skip, Wait and errors."""
        return self.code in _REJECTED

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)

    def with_plugin(self, name: str) -> Status:
        """A copy with the plugin's name; a status that names a plugin already is returned as it is."""
        if self.plugin:
            return self
        return Status(self.code, *self.reasons, plugin=name, timeout=self.timeout)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Status):
            return NotImplemented
        return (self.code, self.reasons, self.plugin) == (other.code, other.reasons, other.plugin)

    def __hash__(self) -> int:
        return hash((self.code, self.reasons, self.plugin))

    def __repr__(self) -> str:
        signed = f" by {self.plugin}" if self.plugin else ""
        return f"<{self.code.name}{signed}: {self.message}>"


def merge_rejections(statuses: Sequence[Status]) -> Status:
    """One plugin's rejections of the same node as one status; unresolvable if one of them is."""
    if len(statuses) == 1:
        return statuses[0]
    unresolvable = any(status.code == Code.UnschedulableAndUnresolvable for status in statuses)
    code = Code.UnschedulableAndUnresolvable if unresolvable else statuses[0].code
    return Status(code, *(reason for status in statuses for reason in status.reasons), plugin=statuses[0].plugin)


def accept() -> None:
    """Success."""
    return


def reject(*reasons: str) -> Status:
    """Unschedulable: evicting other pods might help."""
    return Status(Code.Unschedulable, *reasons)


def reject_forever(*reasons: str) -> Status:
    """UnschedulableAndUnresolvable: evicting other pods would not help."""
    return Status(Code.UnschedulableAndUnresolvable, *reasons)


def pending(*reasons: str) -> Status:
    """Pending: the pod waits for an event outside of the scheduler and is retried, without backoff, when it happens."""
    return Status(Code.Pending, *reasons)


def error(text: str) -> Status:
    """Error: the scheduling attempt fails with this text."""
    return Status(Code.Error, text)


def wait(seconds: float, *reasons: str) -> Status:
    """Wait, for Permit only: the pod waits until it is allowed or rejected, at most for this time. Reports show the
    reasons: what the pod waits for."""
    return Status(Code.Wait, *reasons, timeout=seconds)


def skip() -> Status:
    """Skip: the plugin has nothing to do for this pod at the points that follow from this one."""
    return Status(Code.Skip)
