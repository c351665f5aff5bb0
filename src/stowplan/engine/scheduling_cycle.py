"""The scheduling cycle: a pod from the queue, a decision, and what follows from it."""

from __future__ import annotations

from functools import partial

from stowplan.engine.binding_cycle import BindingCycles
from stowplan.engine.preemption import Preemptions
from stowplan.engine.requeue import Failed, FailureHandler
from stowplan.engine.state import EngineState
from stowplan.framework import Code, EmitEvent, Pod, Status
from stowplan.queue import QueuedPod
from stowplan.runtime import Decision, Profile


class SchedulingCycles:
    """Schedules one pod after another."""

    def __init__(
        self, core: EngineState, bindings: BindingCycles, failures: FailureHandler, preemptions: Preemptions
    ) -> None:
        self._core = core
        self._bindings = bindings
        self._failures = failures
        self._preemptions = preemptions
        self.suspended = False
        """Whether a cycle waits for an extender's answer. Until it comes, nothing may change what the cycle sees."""

    def run_one(self) -> bool:
        """One cycle; False where no pod is ready for it."""
        core = self._core
        unit = core.queue.pop()
        if unit is None:
            return False
        core.cycle += 1
        pod = unit.pod
        profile = core.profiles.get(pod.template.spec.scheduler_name)
        if profile is None or pod.terminating or pod.uid in core.cluster.assumed:
            self._skip(unit)
            return True
        core.observer.attempting(unit)
        core.deciding = True
        if profile.extenders and profile.asks_extenders(pod):
            self.suspended = True
            core.tasks.start(_with_extenders(profile, pod), partial(self._resume, unit))
            return True
        try:
            decision = profile.decide(pod)
        except Exception as bug:
            decision = _broken(profile, pod, bug)
        self._apply(unit, decision)
        return True

    def _resume(self, unit: QueuedPod, decision: Decision) -> None:
        """The last extender has answered. The pod may have gone meanwhile; nothing else could change."""
        self.suspended = False
        self._apply(unit, decision)

    def _apply(self, unit: QueuedPod, decision: Decision) -> None:
        core = self._core
        core.deciding = False
        core.observer.decided(unit, decision)
        if decision.node_name:
            self._bindings.begin(unit, decision)
        else:
            self._refused(unit, decision)
        if core.deferred:
            core.catch_up()

    def _skip(self, unit: QueuedPod) -> None:
        """Nobody needs to schedule this pod any more."""
        pod = unit.pod
        if pod.terminating:
            note = f"skip schedule deleting pod: {pod.key}"
            self._core.outbox.append(EmitEvent(pod, "Warning", "FailedScheduling", "Scheduling", note))
        self._core.queue.done(pod.uid)

    def _refused(self, unit: QueuedPod, decision: Decision) -> None:
        preemption = decision.preemption
        if preemption is not None and preemption.chosen is not None:
            self._preemptions.start(unit.pod, preemption.node_name, preemption.victims)
        self._failures.handle(unit, _failed(decision))


async def _with_extenders(profile: Profile, pod: Pod) -> Decision:
    try:
        return await profile.decide_with_extenders(pod)
    except Exception as bug:
        return _broken(profile, pod, bug)


def _broken(profile: Profile, pod: Pod, bug: Exception) -> Decision:
    """A plugin's fault is told in the decision; this is our own, and costs this attempt only."""
    return Decision.broken(profile, pod, f"internal error: {type(bug).__name__}: {bug}")


def _failed(decision: Decision) -> Failed:
    if decision.error is not None:
        return Failed(decision.error, decision.message)
    assert decision.diagnosis is not None
    unschedulable, pending = decision.diagnosis.rejectors()
    nominate = decision.nominated_node_name if decision.profile.post_filters else ""
    return Failed(
        Status(Code.Unschedulable, decision.message),
        decision.message,
        frozenset(unschedulable),
        frozenset(pending),
        nominate,
    )
