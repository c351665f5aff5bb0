"""Execution of preemptions: evicts the victims while the preemptor waits.

Upstream: pkg/scheduler/framework/preemption/executor.go
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from stowplan import api
from stowplan.engine.state import Attempt, EngineState
from stowplan.framework import EmitEvent, Evict, Failure, PatchStatus, Pod, QueuedPodInfo, Sleep, Together

PLUGIN = "DefaultPreemption"
GROUP_NODE = "cluster"
"""The name that stands for the node where a pod group preempts: its victims run on many."""

_INITIAL_RETRY_SECONDS, _MAX_RETRY_SECONDS = 1.0, 10.0


class PlannedEviction(NamedTuple):
    """A victim, and the preemptor that events and conditions name: a pod, or a pod group."""

    victim: Pod
    preemptor: Pod
    """A member, if a group preempts."""
    node_name: str
    group_uid: str | None = None

    @property
    def note(self) -> str:
        who = f"pod {self.preemptor.uid}" if self.group_uid is None else f"podgroup {self.group_uid}"
        return f"Preempted by {who} on node {self.node_name}"


class RunningPreemption:
    """A preemption whose victims have not all left."""

    __slots__ = ("members", "preemptor")

    def __init__(self, preemptor: Pod, members: Sequence[Pod] = ()) -> None:
        self.preemptor = preemptor
        self.members = members or (preemptor,)
        """The pods that are gated meanwhile."""


class Preemptions:
    """The preemptions under way. The last victim is evicted after all others, and the preemptor is gated until the
    watch shows that this victim terminates: an attempt before that would find the victim on the node and preempt again.
    """

    def __init__(self, state: EngineState) -> None:
        self._state = state
        self.preemptors: dict[str, RunningPreemption] = {}
        """By the preemptor's uid."""
        self._awaited: dict[str, list[RunningPreemption]] = {}
        """By the uid of the last victim, once its eviction has begun."""
        self._failures: dict[str, int] = {}
        """Consecutive failed preemptions by the preemptor's uid."""
        self._rules = state.cluster.release.rules
        self.pre_binding: dict[str, Attempt] = {}
        """Attempts in PreBind by the pod's uid; a victim among them is cancelled instead of evicted."""

    def is_running(self, preemptor: Pod) -> bool:
        return preemptor.uid in self.preemptors

    def holds(self, queued: QueuedPodInfo) -> bool:
        """Whether the pod is gated until its preemption is over, so that no event is worth a check before."""
        return queued.gating_plugin == PLUGIN and queued.pod.uid in self.preemptors

    def start(self, preemptor: Pod, node_name: str, victims: Sequence[Pod]) -> None:
        evicted = self._state.cluster.evicted
        staying = [victim for victim in victims if not victim.terminating and victim.uid not in evicted]
        if self._rules.evicts_terminating_victims:
            for victim in victims:
                if victim.terminating:
                    self._state.tasks.start(self._evict_again(PlannedEviction(victim, preemptor, node_name)))
        if staying:
            running = self.preemptors[preemptor.uid] = RunningPreemption(preemptor)
            self._state.observer.preemption_started(preemptor, node_name, victims)
            evictions = [PlannedEviction(victim, preemptor, node_name) for victim in staying]
            self._state.tasks.start(self._run(running, node_name, evictions))

    def start_for_group(self, members: Sequence[Pod], evictions: Sequence[PlannedEviction]) -> None:
        """Evict the victims of a pod group; all its members are gated until the last one terminates."""
        evicted = self._state.cluster.evicted
        staying = {
            each.victim.uid: each
            for each in reversed(evictions)
            if not each.victim.terminating and each.victim.uid not in evicted
        }
        if not staying:
            return
        ordered = list(reversed(staying.values()))
        running = RunningPreemption(members[0], members)
        self.preemptors |= dict.fromkeys((pod.uid for pod in members), running)
        self._state.observer.preemption_started(members[0], GROUP_NODE, [each.victim for each in ordered])
        self._state.tasks.start(self._run(running, GROUP_NODE, ordered))

    def pod_leaves(self, uid: str) -> None:
        """The watch shows that an assigned pod terminates or is gone."""
        self._state.cluster.evicted.discard(uid)
        for running in self._awaited.pop(uid, ()):
            self._end(running)

    async def _run(self, running: RunningPreemption, node_name: str, evictions: list[PlannedEviction]) -> None:
        preemptor, last = running.preemptor, evictions[-1].victim
        for name in {each.node_name for each in evictions}:
            self._clear_lower_nominations(preemptor, name)
        failed = False
        if len(evictions) > 1:
            outcomes = await Together([self._evict(each) for each in evictions[:-1]])
            failed = not all(outcomes)
        if not failed:
            self._awaited.setdefault(last.uid, []).append(running)
            failed = not await self._evict(evictions[-1])
        self._state.observer.preemption_ended(preemptor, node_name, failed)
        if failed:
            # A refused eviction will most likely be refused again.
            await Sleep(self._retry_delay(preemptor.uid))
        if failed or last.uid not in self._state.cluster.evicted:
            self._end_unseen(running, last, failed)
        if not failed or preemptor.uid not in self._state.pending:
            self._failures.pop(preemptor.uid, None)

    def _end(self, running: RunningPreemption) -> bool:
        """Open the preemptor's gate; False if it was open, perhaps until another preemption started."""
        ended = False
        for pod in running.members:
            if self.preemptors.get(pod.uid) is running:
                del self.preemptors[pod.uid]
                self._state.queue.release(pod.uid)
                ended = True
        return ended

    def _end_unseen(self, running: RunningPreemption, last: Pod, failed: bool) -> None:
        """The preemption is over, and no event about its last victim will wake the preemptor: the eviction failed, or
        the victim left before or in memory."""
        awaiting = self._awaited.get(last.uid)
        if awaiting is not None and running in awaiting:
            awaiting.remove(running)
            if not awaiting:
                del self._awaited[last.uid]
        if self._end(running) or failed:
            self._state.queue.activate(running.members)

    def _retry_delay(self, uid: str) -> float:
        """Seconds until the preemptor may try again; doubles with every failure."""
        times = self._failures[uid] = self._failures.get(uid, 0) + 1
        return min(_INITIAL_RETRY_SECONDS * 2.0 ** (times - 1), _MAX_RETRY_SECONDS)

    def _clear_lower_nominations(self, preemptor: Pod, node_name: str) -> None:
        """Clear nominations of lower priority on the node, so that those pods are tried on other nodes sooner."""
        for other in list(self._state.nominator.on_node(node_name)):
            if other.priority < preemptor.priority and other.nominated_node_name:
                self._state.outbox.append(PatchStatus(other, None, ""))

    async def _evict_again(self, eviction: PlannedEviction) -> None:
        """Evict a victim that terminates already: it gets the condition and an event."""
        await self._evict(eviction)

    async def _evict(self, eviction: PlannedEviction) -> bool:
        """Evict one victim; whether that succeeded."""
        victim, preemptor, note = eviction.victim, eviction.preemptor, eviction.note
        if self._cancel_binding(victim):
            note += " (in kube-scheduler memory)." if self._rules.cancels_pre_bind else ""
        else:
            outcome = await Evict(victim, self._condition(eviction))
            gone = isinstance(outcome, Failure) and outcome.reason == "NotFound"
            if outcome is None or gone:
                self._evicted(victim)
            if isinstance(outcome, Failure):
                return gone
        self._state.observer.victim_evicted(preemptor, victim, eviction.node_name)
        related = preemptor if self._rules.preempted_refers_to_preemptor else None
        reporter = preemptor.template.spec.scheduler_name
        self._state.outbox.append(EmitEvent(victim, "Normal", "Preempted", "Preempting", note, related, reporter))
        return True

    def _evicted(self, victim: Pod) -> None:
        """The API server has deleted the victim; the watch may have shown it already."""
        cluster = self._state.cluster
        known = cluster.pods.get(victim.uid)
        if known is not None and not known.terminating:
            cluster.evicted.add(victim.uid)

    def _cancel_binding(self, victim: Pod) -> bool:
        """Cancel the binding of a victim that is only assumed; no API call is needed then."""
        waiting = self._state.waiting_pods.get(victim.uid)
        if waiting is not None:
            return waiting.preempt(PLUGIN, "preempted")
        attempt = self.pre_binding.pop(victim.uid, None) if self._rules.cancels_pre_bind else None
        return attempt is not None and attempt.task is not None and attempt.task.cancel(f"preempted by {PLUGIN}")

    def _condition(self, eviction: PlannedEviction) -> api.Condition:
        who = "pod" if eviction.group_uid is None else "podgroup"
        return api.Condition(
            type="DisruptionTarget",
            status="True",
            reason="PreemptionByScheduler",
            message=f"{eviction.preemptor.spec.scheduler_name}: preempting to accommodate a higher priority {who}",
            observed_generation=eviction.victim.generation,
            last_transition_time=self._state.timestamp(),
        )
