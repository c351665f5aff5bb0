"""The scheduling cycle: pops a pod, decides, and applies the decision.

Upstream: pkg/scheduler/schedule_one.go
"""

from __future__ import annotations

from functools import partial

from stowplan.engine.binding_cycle import BindingCycles
from stowplan.engine.observer import Observer
from stowplan.engine.preemption import Preemptions
from stowplan.engine.requeue import AttemptFailure, FailureHandler
from stowplan.engine.state import EngineState
from stowplan.framework import Code, EmitEvent, Pod, QueuedPodInfo, Status
from stowplan.queue import RefusedBatch
from stowplan.runtime import Decision, Profile


class SchedulingCycles:
    """Runs one scheduling cycle at a time."""

    def __init__(
        self, state: EngineState, bindings: BindingCycles, failures: FailureHandler, preemptions: Preemptions
    ) -> None:
        self._state = state
        self._bindings = bindings
        self._failures = failures
        self._preemptions = preemptions
        self.last: QueuedPodInfo | None = None
        """The pod of the current or last cycle."""
        self.suspended = False
        """Whether a cycle waits for an extender's answer. Until then, the cluster must not change."""
        self.has_trial = False
        """Whether members of a pod group are on nodes as a test, while their cycle is suspended."""
        self._templates_version = 0
        names = ("attempt_started", "decided", "attempt_failed", "refused_together")
        self._observes = any(getattr(type(state.observer), name) is not getattr(Observer, name) for name in names)
        """Whether the observer is notified of attempts."""

    def run_one(self) -> bool:
        """Runs one cycle; False if no pod is ready."""
        queued = self._state.queue.pop()
        if isinstance(queued, RefusedBatch):
            queued = self._run_batch(queued)
            if queued is None:
                return True
        if queued is None:
            return False
        self._schedule(queued)
        return True

    def _schedule(self, queued: QueuedPodInfo) -> None:
        """Runs the cycle of a pod that was popped."""
        self._schedule_pod(queued)

    def _schedule_pod(self, queued: QueuedPodInfo) -> None:
        state = self._state
        state.cycle += 1
        self.last = queued
        pod = queued.pod
        profile = state.profiles.get(pod.template.spec.scheduler_name)
        if profile is None or pod.terminating or pod.uid in state.cluster.assumed:
            self._skip(queued)
            return
        state.observer.attempt_started(queued)
        state.deciding = True
        if profile.extenders and profile.calls_extenders(pod):
            self.suspended = True
            state.tasks.start(_with_extenders(profile, pod), partial(self._resume, queued))
            return
        try:
            decision = profile.decide(pod)
        except Exception as bug:
            decision = _broken(profile, pod, bug)
        self._apply(queued, decision)

    def _run_batch(self, batch: RefusedBatch) -> QueuedPodInfo | None:
        """Runs the cycles of equal pods if all of them are refused as before; else returns the first pod for a cycle of
        its own."""
        state, version = self._state, self._state.cluster.templates.version
        if version != self._templates_version:
            # Labels that templates ignored are read now: pods may no longer be equal.
            self._templates_version = version
            state.queue.separate_all()
            return state.queue.pop()
        first = batch.first
        decision = state.profiles[batch.pod.template.spec.scheduler_name].recall(first.pod)
        if decision is None or decision.message != batch.refusal or not _rejected_by(decision, batch):
            return state.queue.pop_first(batch)
        status = Status(Code.Unschedulable, decision.message)
        state.cycle += len(batch.members)
        self.last = first
        batch.refused(state.queue_clock())
        if self._observes:
            state.observer.refused_together(batch, decision, status)
        self._failures.refuse_batch(batch)
        return None

    def _resume(self, queued: QueuedPodInfo, decision: Decision) -> None:
        """The last extender has answered; all other input was held back meanwhile."""
        self.suspended = False
        self._apply(queued, decision)

    def _apply(self, queued: QueuedPodInfo, decision: Decision) -> None:
        state = self._state
        state.deciding = False
        state.observer.decided(queued, decision)
        if decision.node_name:
            self._bindings.begin(queued, decision)
        else:
            self._rejected(queued, decision)
        if state.deferred:
            state.run_deferred()

    def _skip(self, queued: QueuedPodInfo) -> None:
        """Drop a pod that need not be scheduled any more."""
        pod = queued.pod
        if pod.terminating:
            note = f"skip schedule deleting pod: {pod.key}"
            self._state.outbox.append(EmitEvent(pod, "Warning", "FailedScheduling", "Scheduling", note))
        self._state.queue.done(pod.uid)

    def _rejected(self, queued: QueuedPodInfo, decision: Decision) -> None:
        preemption = decision.preemption
        if preemption is not None and preemption.chosen is not None:
            self._preemptions.start(queued.pod, preemption.node_name, preemption.victims)
        self._failures.handle(queued, _failed(decision))


async def _with_extenders(profile: Profile, pod: Pod) -> Decision:
    try:
        return await profile.decide_with_extenders(pod)
    except Exception as bug:
        return _broken(profile, pod, bug)


def _broken(profile: Profile, pod: Pod, bug: Exception) -> Decision:
    """Decision for an internal error, which fails this attempt only; errors of plugins are part of a decision."""
    return Decision.broken(profile, pod, f"internal error: {type(bug).__name__}: {bug}")


def _failed(decision: Decision) -> AttemptFailure:
    if decision.error is not None:
        return AttemptFailure(decision.error, decision.message)
    unschedulable, pending = decision.rejectors
    nominate = decision.nominated_node_name if decision.profile.post_filters else ""
    return AttemptFailure(
        Status(Code.Unschedulable, decision.message),
        decision.message,
        unschedulable,
        pending,
        nominate,
        is_shared=decision.refusal is not None and not pending,
    )


def _rejected_by(decision: Decision, batch: RefusedBatch) -> bool:
    """Whether the plugins that refused the batch refuse the pod, and none of them returns Pending."""
    unschedulable, pending = decision.rejectors
    return not pending and unschedulable == batch.unschedulable_plugins
