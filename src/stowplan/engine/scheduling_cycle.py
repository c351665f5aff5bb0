"""The scheduling cycle: pops a pod, decides, and applies the decision.

Upstream: pkg/scheduler/schedule_one.go
"""

from __future__ import annotations

from functools import partial

from stowplan.engine.binding_cycle import BindingCycles
from stowplan.engine.preemption import Preemptions
from stowplan.engine.requeue import AttemptFailure, FailureHandler
from stowplan.engine.state import EngineState
from stowplan.framework import Code, EmitEvent, Pod, QueuedPodInfo, Status
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

    def run_one(self) -> bool:
        """Runs one cycle; False if no pod is ready."""
        queued = self._state.queue.pop()
        if queued is None:
            return False
        self._schedule_pod(queued)
        return True

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
    assert decision.diagnosis is not None
    unschedulable, pending = decision.diagnosis.rejectors()
    nominate = decision.nominated_node_name if decision.profile.post_filters else ""
    return AttemptFailure(
        Status(Code.Unschedulable, decision.message),
        decision.message,
        frozenset(unschedulable),
        frozenset(pending),
        nominate,
    )
