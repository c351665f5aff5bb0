"""Requeueing of a pod after a failed attempt.

Upstream: pkg/scheduler/schedule_one.go (handleSchedulingFailure)
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from stowplan import api
from stowplan.engine.state import EngineState, PendingPod
from stowplan.framework import Code, EmitEvent, PatchStatus, QueuedPodInfo, RepeatEvent, Status
from stowplan.framework.instructions import encode_note
from stowplan.queue import RefusedBatch
from stowplan.runtime.decide.fit_error import histogram, none_available


class AttemptFailure(NamedTuple):
    """Why an attempt failed, and the nomination that follows."""

    status: Status
    message: str
    unschedulable_plugins: frozenset[str] = frozenset()
    """Plugins that rejected the pod. Without any, the pod is retried after backoff; otherwise upon an event."""
    pending_plugins: frozenset[str] = frozenset()
    nominate: str | None = ""
    """The node to nominate; "" clears a nomination, None keeps it."""
    is_shared: bool = False
    """Whether equal pods are refused for the same reasons until something relevant changes."""

    @classmethod
    def plain(cls, status: Status) -> AttemptFailure:
        """The status unchanged. The pod is retried after backoff, even if a plugin rejected it."""
        return cls(status, status.message)

    @classmethod
    def on_chosen_node(cls, status: Status) -> AttemptFailure:
        """A failure at Reserve or Permit. A rejection is reported as if the chosen node were the only one."""
        if not status.rejected:
            return cls.plain(status)
        message = none_available(1, histogram(Counter(status.reasons)))
        by = frozenset({status.plugin})
        return cls(status, message, frozenset(), by) if status.code is Code.Pending else cls(status, message, by)


class FailureHandler:
    """Requeues the pod, updates its nomination, emits an event and patches its PodScheduled condition."""

    def __init__(self, state: EngineState) -> None:
        self._state = state

    def handle(self, queued: QueuedPodInfo, failed: AttemptFailure) -> None:
        self._handle(queued, failed)
        template = queued.pod.template
        if template.large:
            self._state.cluster.large_templates.use(template)

    def _handle(self, queued: QueuedPodInfo, failed: AttemptFailure) -> None:
        state = self._state
        uid = queued.pod.uid
        failed = failed._replace(message=_encodable(failed.message))
        state.observer.attempt_failed(queued, failed.status)
        queued.unschedulable_plugins = set(failed.unschedulable_plugins)
        queued.pending_plugins = set(failed.pending_plugins)
        known = state.pending.get(uid)
        if known is None:
            # Deleted, or bound.
            state.queue.done(uid)
            return
        queued.pod = known.pod
        patch = self._patch(known, failed)
        state.queue.add_unschedulable(queued, failed.message if failed.is_shared else "", has_condition=patch is None)
        state.queue.done(uid)
        if failed.nominate == "":
            state.nominator.remove(known.pod)
        else:
            state.nominator.add(known.pod, failed.nominate or "")
        if failed.status.code is Code.Skip:
            return  # All Bind plugins skipped the pod; that is not reported as a failure.
        plugins = failed.unschedulable_plugins | failed.pending_plugins
        state.history.record(uid, state.clock(), failed.status, failed.message, plugins)
        note = encode_note(failed.message).decode()
        repeated = queued.attempts > 1
        state.outbox.append(
            EmitEvent(known.pod, "Warning", "FailedScheduling", "Scheduling", note, is_repeated=repeated)
        )
        if patch is not None:
            state.outbox.append(patch)

    def refuse_batch(self, batch: RefusedBatch) -> None:
        """Requeue pods that were refused together, with the message that their conditions have."""
        state = self._state
        pods = batch.pods
        state.queue.refuse_batch(batch)
        note = encode_note(batch.refusal).decode()
        state.outbox.append(RepeatEvent(pods, "Warning", "FailedScheduling", "Scheduling", note, batch.pod.uid))

    def _patch(self, known: PendingPod, failed: AttemptFailure) -> PatchStatus | None:
        """The patch of the status; None if it has the condition and the nomination already, or gets them by a patch
        that was requested before."""
        pod = known.pod
        wanted = "False", "Unschedulable" if failed.status.rejected else "SchedulerError", failed.message
        before = known.condition("PodScheduled")
        nominated = None if failed.nominate == pod.nominated_node_name else failed.nominate
        if _is(known.requested or before, wanted):
            return None if nominated is None else PatchStatus(pod, None, nominated)
        same_status = before is not None and before.status == "False"
        condition = api.Condition(
            type="PodScheduled",
            status="False",
            reason=wanted[1],
            message=failed.message,
            observed_generation=pod.generation,
            last_transition_time=before.last_transition_time
            if before is not None and same_status
            else self._state.timestamp(),
        )
        restores = _is(before, wanted)
        known.requested = None if restores else condition
        return PatchStatus(pod, condition, nominated, is_repeated=same_status, restores=restores)


def _is(condition: api.Condition | None, wanted: tuple[str, str, str]) -> bool:
    """Whether a condition has the status, reason and message."""
    return condition is not None and (condition.status, condition.reason, condition.message) == wanted


def _encodable(message: str) -> str:
    """Without lone surrogates, which plugins may get from file names and which cannot be encoded."""
    return message if message.isascii() else message.encode(errors="replace").decode()
