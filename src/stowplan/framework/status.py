"""Verdicts as values: what an extension point answers, and the words that authors build answers with."""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class Code(IntEnum):
    """Outcome of an extension point; the names are kube-scheduler's, as its metrics and logs spell them."""

    Success = 0
    Error = 1
    Unschedulable = 2
    UnschedulableAndUnresolvable = 3
    Wait = 4
    Skip = 5
    Pending = 6


_REJECTED: Final = frozenset({Code.Unschedulable, Code.UnschedulableAndUnresolvable, Code.Pending})


class Status:
    """An answer other than plain success (`None` is success, so that what fits allocates nothing).

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
        """Whether the pod or node was refused, as opposed to accepted, skipped or failed with an error."""
        return self.code in _REJECTED

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)

    def with_plugin(self, name: str) -> Status:
        """The same answer, signed by a plugin; a signature that is already there stays."""
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


def accept() -> None:
    """The pod, or the node, is fine."""
    return


def reject(*reasons: str) -> Status:
    """Not now; evicting other pods might help."""
    return Status(Code.Unschedulable, *reasons)


def reject_forever(*reasons: str) -> Status:
    """Not now, and evicting other pods would not help."""
    return Status(Code.UnschedulableAndUnresolvable, *reasons)


def pending(*reasons: str) -> Status:
    """Not now; the pod waits for something outside the scheduler and is retried at once when that happens."""
    return Status(Code.Pending, *reasons)


def error(text: str) -> Status:
    """Something is broken; the pod's attempt fails with this text."""
    return Status(Code.Error, text)


def wait(seconds: float) -> Status:
    """Permit only: hold the pod back until it is allowed, rejected, or the time is over."""
    return Status(Code.Wait, timeout=seconds)


def skip() -> Status:
    """This plugin has nothing to say about this pod in this cycle."""
    return Status(Code.Skip)
