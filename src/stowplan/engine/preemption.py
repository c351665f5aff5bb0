"""Carrying out a preemption: making the victims go, one way or another, while the preemptor waits in line."""

from __future__ import annotations

from collections.abc import Sequence

from stowplan import api
from stowplan.engine.attempt import Attempt
from stowplan.engine.state import EngineState
from stowplan.framework import EmitEvent, Evict, Failure, PatchStatus, Pod, Sleep, Together

PLUGIN = "DefaultPreemption"

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 10.0


class Preemptions:
    """The preemptions under way. Their order of doing things is what keeps a preemptor from preempting twice: it is
    held back until its last victim is known to go."""

    def __init__(self, core: EngineState) -> None:
        self._core = core
        self.preemptors: dict[str, Pod | None] = {}
        """By uid, those for whom evictions are under way: the victim that is left, or None while there are several."""
        self._failures: dict[str, int] = {}
        """By preemptor's uid, how many times in a row it failed to make its victims go."""
        self.pre_binding: dict[str, Attempt] = {}
        """Attempts in PreBind by the pod's uid; a victim among them is stopped instead of evicted."""

    def is_running(self, preemptor: Pod) -> bool:
        if preemptor.uid not in self.preemptors:
            return False
        last = self.preemptors[preemptor.uid]
        if last is None:
            return True
        victim = self._core.cluster.pods.get(last.uid)
        return victim is not None and not victim.terminating

    def start(self, preemptor: Pod, node_name: str, victims: Sequence[Pod]) -> None:
        staying = [victim for victim in victims if not victim.terminating]
        if staying:
            self.preemptors[preemptor.uid] = None
            self._core.observer.preempting(preemptor, node_name, victims)
            self._core.tasks.start(self._run(preemptor, node_name, staying))

    async def _run(self, preemptor: Pod, node_name: str, victims: list[Pod]) -> None:
        self._clear_lower_nominations(preemptor, node_name)
        failed = False
        if len(victims) > 1:
            outcomes = await Together([self._evict(preemptor, node_name, victim) for victim in victims[:-1]])
            failed = not all(outcomes)
        if not failed:
            self.preemptors[preemptor.uid] = victims[-1]
            failed = not await self._evict(preemptor, node_name, victims[-1])
        self._core.observer.preemption_over(preemptor, node_name, failed)
        if failed:
            # What was refused will most likely be refused again, and others have requests to make as well.
            await Sleep(self._pause(preemptor.uid))
        # Once the last victim was known to go, another preemption may have begun, and ended.
        self.preemptors.pop(preemptor.uid, None)
        if failed:
            # No victim may be left whose going would wake the preemptor.
            self._core.queue.activate([preemptor])
        if not failed or preemptor.uid not in self._core.pending:
            self._failures.pop(preemptor.uid, None)

    def _pause(self, uid: str) -> float:
        """Seconds until a preemptor may try again: more with every time that it failed."""
        times = self._failures[uid] = self._failures.get(uid, 0) + 1
        return min(_FIRST_PAUSE * 2.0 ** (times - 1), _LONGEST_PAUSE)

    def _clear_lower_nominations(self, preemptor: Pod, node_name: str) -> None:
        """Pods of lower priority that were to have this node may find another one sooner."""
        for other in list(self._core.nominator.on_node(node_name)):
            if other.priority < preemptor.priority and other.nominated_node_name:
                self._core.outbox.append(PatchStatus(other, None, ""))

    async def _evict(self, preemptor: Pod, node_name: str, victim: Pod) -> bool:
        """Make one victim go; whether that worked."""
        note = f"Preempted by pod {preemptor.uid} on node {node_name}"
        if self._stop(victim):
            note += " (in kube-scheduler memory)."
        else:
            outcome = await Evict(victim, self._condition(preemptor, victim))
            if isinstance(outcome, Failure):
                return outcome.reason == "NotFound"
        self._core.observer.preempted(preemptor, victim, node_name)
        reporter = preemptor.template.spec.scheduler_name
        self._core.outbox.append(EmitEvent(victim, "Normal", "Preempted", "Preempting", note, reporter=reporter))
        return True

    def _stop(self, victim: Pod) -> bool:
        """Stop a victim that is only assumed to be on the node: no API call is needed then."""
        waiting = self._core.waiting_pods.get(victim.uid)
        if waiting is not None:
            return waiting.preempt(PLUGIN, "preempted")
        attempt = self.pre_binding.pop(victim.uid, None)
        return attempt is not None and attempt.task is not None and attempt.task.cancel(f"preempted by {PLUGIN}")

    def _condition(self, preemptor: Pod, victim: Pod) -> api.Condition:
        return api.Condition(
            type="DisruptionTarget",
            status="True",
            reason="PreemptionByScheduler",
            message=f"{preemptor.spec.scheduler_name}: preempting to accommodate a higher priority pod",
            observed_generation=victim.generation,
            last_transition_time=self._core.timestamp(),
        )
