"""What becomes of a pod whose attempt failed."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from stowplan import api
from stowplan.engine.state import EngineState
from stowplan.framework import Code, EmitEvent, PatchStatus, Pod, Status
from stowplan.queue import QueuedPod
from stowplan.runtime.decide.fit_error import histogram

LONGEST_NOTE = 1024
_CUT = " ..."


class Failed(NamedTuple):
    """Why an attempt failed, and what follows from it."""

    status: Status
    message: str
    unschedulable_plugins: frozenset[str] = frozenset()
    """Those that rejected the pod. Where there are none it is retried after a pause; else when something changes."""
    pending_plugins: frozenset[str] = frozenset()
    nominate: str | None = ""
    """The node to nominate; "" clears a nomination, None leaves it as it is."""

    @classmethod
    def plain(cls, status: Status) -> Failed:
        """Told as it is. The pod is retried after a pause, even if a plugin rejected it."""
        return cls(status, status.message)

    @classmethod
    def late(cls, status: Status) -> Failed:
        """A failure at Reserve or Permit: a rejection reads like that of the only node there is."""
        if not status.rejected:
            return cls.plain(status)
        reasons = histogram(Counter(status.reasons))
        message = f"0/1 nodes are available: {reasons}." if reasons else "0/1 nodes are available:"
        by = frozenset({status.plugin})
        return cls(status, message, frozenset(), by) if status.code is Code.Pending else cls(status, message, by)


class FailureHandler:
    """Puts the pod back in line, nominates it, and tells about it: an event, and a condition in its status."""

    def __init__(self, core: EngineState) -> None:
        self._core = core

    def handle(self, unit: QueuedPod, failed: Failed) -> None:
        core = self._core
        uid = unit.pod.uid
        failed = failed._replace(message=_writable(failed.message))
        core.observer.failed(unit, failed.status)
        unit.unschedulable_plugins = set(failed.unschedulable_plugins)
        unit.pending_plugins = set(failed.pending_plugins)
        known = core.pending.get(uid)
        if known is None:
            # Deleted, or bound after all.
            core.queue.done(uid)
            return
        unit.pod = known.pod
        core.queue.add_unschedulable(unit)
        core.queue.done(uid)
        if failed.nominate == "":
            core.nominator.remove(known.pod)
        else:
            core.nominator.add(known.pod, failed.nominate or "")
        if failed.status.code is Code.Skip:
            return  # Nobody failed, it is just that nobody wanted to bind the pod.
        core.outbox.append(EmitEvent(known.pod, "Warning", "FailedScheduling", "Scheduling", _note(failed.message)))
        self._patch(known.pod, failed)

    def _patch(self, pod: Pod, failed: Failed) -> None:
        """Write what the status does not say already."""
        known = self._core.pending[pod.uid]
        reason = "Unschedulable" if failed.status.rejected else "SchedulerError"
        before = known.condition("PodScheduled")
        condition: api.Condition | None = None
        if before is None or (before.status, before.reason, before.message) != ("False", reason, failed.message):
            same_status = before is not None and before.status == "False"
            condition = api.Condition(
                type="PodScheduled",
                status="False",
                reason=reason,
                message=failed.message,
                observed_generation=pod.generation,
                last_transition_time=before.last_transition_time
                if before is not None and same_status
                else self._core.timestamp(),
            )
        nominated = None if failed.nominate == pod.nominated_node_name else failed.nominate
        if condition is not None or nominated is not None:
            self._core.outbox.append(PatchStatus(pod, condition, nominated))


def _writable(message: str) -> str:
    """Plugins get their words from anywhere: names of files, for one, may hold what is no character at all."""
    return message if message.isascii() else message.encode(errors="replace").decode()


def _note(message: str) -> str:
    """An event's note has an upper limit, in bytes."""
    encoded = message.encode()
    if len(encoded) <= LONGEST_NOTE:
        return message
    return encoded[: LONGEST_NOTE - len(_CUT)].decode(errors="ignore") + _CUT
