"""From a chosen node to a bound pod: assume, Reserve, Permit, and the binding cycle.

Upstream: pkg/scheduler/schedule_one.go (assume, bindingCycle, handleBindingCycleError)
"""

from __future__ import annotations

from functools import partial
from math import isnan
from typing import Any, Protocol

from stowplan import logs
from stowplan.cache.cluster import CacheError
from stowplan.config import Duration
from stowplan.config.feature_gates import WAITING_NOMINATIONS, group_difference
from stowplan.engine.preemption import Preemptions
from stowplan.engine.requeue import AttemptFailure, FailureHandler
from stowplan.engine.state import Attempt, EngineState
from stowplan.framework import PODS_TO_ACTIVATE, Bind, Code, EmitEvent, Failure, PatchStatus, Pod, QueuedPodInfo, Status
from stowplan.framework.extender import CallExtender
from stowplan.framework.points import POST_BIND, RESERVE
from stowplan.queue import GANG_PLUGIN
from stowplan.queue.cluster_events import ASSIGNED_POD_DELETE
from stowplan.runtime import Decision
from stowplan.runtime.points.binding_points import (
    run_all,
    run_bind,
    run_in_reverse,
    run_permit,
    run_pre_bind,
    run_pre_flights,
    run_until_failure,
)
from stowplan.runtime.points.waiting_pods import REMOVED, PermitVerdict, PermitWait, WaitingPodEntry

log = logs.get(__name__)

_WAITING, _SKIPPED = Status(Code.Wait), Status(Code.Skip)


def scheduled_note(pod_key: str, node_name: str) -> str:
    """The text of the event Scheduled."""
    return f"Successfully assigned {pod_key} to {node_name}"


class Gangs(Protocol):
    """The gangs of the pods that are being bound."""

    def member_changed(self, pod: Pod) -> None:
        """The binding cycle of a pod failed, or the pod waits at Permit from now on."""

    def check_member(self, pod: Pod) -> Status | None:
        """Permit lets the pod pass: a rejection if its gang is incomplete by now."""


class BindingCycles:
    """Binds pods: with a single Bind instruction where no plugin has to be awaited, else with a task per pod."""

    def __init__(self, state: EngineState, failures: FailureHandler, preemptions: Preemptions) -> None:
        self._state = state
        self._failures = failures
        self._preemptions = preemptions
        self._nominates = state.cluster.release.has("NominatedNodeNameForExpectation")
        """Whether a pod whose binding takes time is nominated to its node. Earlier API servers do not clear the
        nomination of a bound pod."""
        self._nominates_gangs = state.cluster.release.has(group_difference(WAITING_NOMINATIONS))
        self.gangs: Gangs | None = None
        """Set with the feature gate GenericWorkload."""

    def begin(self, queued: QueuedPodInfo, decision: Decision) -> None:
        state = self._state
        pod = queued.pod
        attempt = Attempt(queued, decision, state.cycle)
        try:
            state.cluster.assume(pod, decision.node_name)
        except CacheError as problem:
            self._failures.handle(queued, AttemptFailure.plain(Status(Code.Error, str(problem))))
            return
        state.attempts[pod.uid] = attempt
        if state.nominator.by_node:
            state.nominator.remove(pod)
        points = attempt.points
        if points.reserve:
            status = self._reserve(attempt)
            if status is not None:
                self._forget(attempt)
                self._failures.handle(queued, AttemptFailure.on_chosen_node(status))
                self._report_change(pod)
                return
        if not points.straight:
            attempt.task = state.tasks.start(self._permit_and_bind(attempt))
            return
        if attempt.state.get(PODS_TO_ACTIVATE):
            self._activate(attempt)
        self.bind_straight(attempt)

    def assume_member(self, queued: QueuedPodInfo, decision: Decision) -> Attempt:
        """Count a member of a gang, for which no Reserve plugin runs, on its node."""
        state, pod = self._state, queued.pod
        attempt = state.attempts[pod.uid] = Attempt(queued, decision, state.cycle)
        state.cluster.assume(pod, attempt.node_name)
        state.cluster.pod_groups.assume(pod)
        if state.nominator.by_node:
            state.nominator.remove(pod)
        return attempt

    def bind_straight(self, attempt: Attempt) -> None:
        """Issue the Bind instruction of an assumed pod that has passed Permit, and for which only the default binder
        runs."""
        state = self._state
        state.queue.done(attempt.pod.uid)
        state.observer.bind_started(attempt.queued, attempt.node_name)
        request = Bind(attempt.pod, attempt.node_name)
        request.on_answer = partial(self._bind_answered, attempt)
        state.outbox.append(request)

    def _reserve(self, attempt: Attempt) -> Status | None:
        began = self._state.clock()
        try:
            status = run_until_failure(RESERVE, attempt.points.reserve, attempt.state, attempt.pod, attempt.node_name)
        except Exception as bug:
            status = _internal(bug)
        self._point_ran(attempt, "Reserve", status, began)
        return status

    def _bind_answered(self, attempt: Attempt, outcome: Any) -> None:
        if isinstance(outcome, Failure):
            name = attempt.points.bind[0].name
            status = Status(Code.Error, f'running Bind plugin "{name}": {outcome.message}')
            self._binding_failed(attempt, AttemptFailure.plain(status))
            return
        self._bound(attempt)
        if attempt.state.get(PODS_TO_ACTIVATE):
            self._activate(attempt)

    async def _permit_and_bind(self, attempt: Attempt) -> None:
        try:
            await self._permit(attempt)
        except Exception as bug:
            self._binding_failed(attempt, AttemptFailure.plain(_internal(bug)))

    async def _permit(self, attempt: Attempt) -> None:
        args = (attempt.state, attempt.pod, attempt.node_name)
        began = self._state.clock()
        status, waits = await run_permit(attempt.points.permit, *args)
        if self.gangs is not None and status is None and not waits:
            status = self.gangs.check_member(attempt.pod)
        self._point_ran(attempt, "Permit", _WAITING if waits else status, began)
        if status is not None:
            if attempt.cycle == self._state.cycle:
                self._forget(attempt)
                self._failures.handle(attempt.queued, AttemptFailure.on_chosen_node(status))
                self._report_change(attempt.pod)
            else:
                # Other pods were tried while the Permit plugins ran, and may have missed the room that the pod held.
                self._binding_failed(attempt, AttemptFailure.on_chosen_node(status))
            return
        waiting = self._wait_on_permit(attempt, waits) if waits else None
        self._activate(attempt)
        failed = await self._bind(attempt, waiting)
        if failed is not None:
            self._binding_failed(attempt, failed)

    def _wait_on_permit(self, attempt: Attempt, waits: dict[str, PermitWait]) -> WaitingPodEntry:
        state, pod = self._state, attempt.pod
        # NaN would never be due, and would block the timers behind it in the heap.
        seconds = {plugin: 0.0 if isnan(wait.seconds) else wait.seconds for plugin, wait in waits.items()}
        waiting = state.waiting_pods.add(pod, waits)
        waiting.deadline = state.clock() + min(seconds.values())
        timers = [
            state.timers.after(most, partial(_time_out, waiting, plugin, most)) for plugin, most in seconds.items()
        ]

        def cancel_timers(verdict: Status | None) -> None:
            for timer in timers:
                timer.cancel()

        waiting.when_settled(cancel_timers)
        if pod.uid not in state.cluster.assumed:
            waiting.reject("", REMOVED)  # Deleted while the Permit plugins ran.
        self._report_change(pod)
        return waiting

    async def _bind(self, attempt: Attempt, waiting: WaitingPodEntry | None) -> AttemptFailure | None:
        """The binding cycle; returns the reason if it fails."""
        state, points, pod = self._state, attempt.points, attempt.pod
        args = (attempt.state, pod, attempt.node_name)
        began = state.clock()
        status, pre_binds = run_pre_flights(points.pre_bind, *args)
        self._point_ran(attempt, "PreBindPreFlight", status if status is not None or pre_binds else _SKIPPED, began)
        # Members of a gang wait for the others of the same cycle, which takes no time.
        takes_time = pre_binds or (
            waiting is not None and (self._nominates_gangs or list(waiting.reasons) != [GANG_PLUGIN])
        )
        if status is None and self._nominates and takes_time:
            state.outbox.append(PatchStatus(pod, None, attempt.node_name))
        if waiting is not None:
            if status is not None:
                waiting.reject(status.plugin, status.message)
            began = state.clock()
            verdict = await self._verdict(waiting)
            state.waiting_pods.remove(pod.uid)
            state.observer.permit_wait_ended(attempt.queued, verdict, state.clock() - began)
            if status is None and verdict is not None:
                return AttemptFailure.on_chosen_node(verdict)
        if status is not None:
            return AttemptFailure.plain(status)
        # Failures from here on are errors: no event could change them, so none has to be recorded for the pod.
        state.queue.done(pod.uid)
        if pre_binds:
            status = await self._pre_bind(attempt)
        status = status or await self._write_binding(attempt)
        if status is not None:
            return AttemptFailure.plain(status)
        self._bound(attempt)
        await self._post_bind(attempt)
        self._activate(attempt)
        return None

    async def _post_bind(self, attempt: Attempt) -> None:
        """Failures are logged only: the pod is bound and must stay assumed."""
        began = self._state.clock()
        try:
            await run_all(POST_BIND, attempt.points.post_bind, attempt.state, attempt.pod, attempt.node_name)
        except Exception as error:
            log.exception(error, "PostBind failed", pod=logs.ref(attempt.pod), node=attempt.node_name)
        self._point_ran(attempt, "PostBind", None, began)

    async def _write_binding(self, attempt: Attempt) -> Status | None:
        """Extenders with the bind verb take precedence over Bind plugins."""
        pod = attempt.pod
        for extender in attempt.extenders:
            if extender.serves("bind") and extender.is_interested(pod):
                outcome = await CallExtender(extender, "bind", pod, attempt.node_name)
                if not isinstance(outcome, Failure):
                    return None
                if not extender.ignorable:
                    return Status(Code.Error, outcome.message)
        self._state.observer.bind_started(attempt.queued, attempt.node_name)
        began = self._state.clock()
        status = await run_bind(attempt.points.bind, attempt.state, pod, attempt.node_name)
        self._point_ran(attempt, "Bind", status, began)
        return status

    async def _pre_bind(self, attempt: Attempt) -> Status | None:
        uid, running = attempt.pod.uid, self._preemptions.pre_binding
        running[uid] = attempt
        began = self._state.clock()
        try:
            status = await run_pre_bind(attempt.points.pre_bind, attempt.state, attempt.pod, attempt.node_name)
        finally:
            running.pop(uid, None)
        self._point_ran(attempt, "PreBind", status, began)
        return status

    @staticmethod
    async def _verdict(waiting: WaitingPodEntry) -> Status | None:
        status: Status | None = await PermitVerdict(waiting)
        if status is None or status.rejected:
            return status
        return Status(Code.Error, f"waiting on permit for pod: {status.message}", plugin=status.plugin)

    def _bound(self, attempt: Attempt) -> None:
        pod, node_name = attempt.pod, attempt.node_name
        self._state.attempts.pop(pod.uid, None)
        self._state.observer.bound(attempt.queued, node_name)
        self._state.outbox.append(EmitEvent(pod, "Normal", "Scheduled", "Binding", scheduled_note(pod.key, node_name)))

    def _point_ran(self, attempt: Attempt, point: str, status: Status | None, began: float) -> None:
        self._state.observer.point_ran(attempt.queued, point, status, self._state.clock() - began)

    def _forget(self, attempt: Attempt) -> None:
        began = self._state.clock()
        run_in_reverse("unreserve", attempt.points.reserve, attempt.state, attempt.pod, attempt.node_name)
        self._point_ran(attempt, "Unreserve", None, began)
        self._state.cluster.forget(attempt.pod)
        self._state.attempts.pop(attempt.pod.uid, None)

    def _binding_failed(self, attempt: Attempt, failed: AttemptFailure) -> None:
        """Release the pod's node. This event wakes other pods, not the pod itself."""
        state, pod, rejected = self._state, attempt.pod, failed.status.rejected
        self._forget(attempt)
        cached = state.cluster.pods.get(pod.uid)
        freed = cached is None or cached.node_name != attempt.node_name
        removed = attempt.removed_pod()
        if freed and not rejected:
            state.queue.move(ASSIGNED_POD_DELETE, removed, None)
        self._failures.handle(attempt.queued, failed)
        if freed and rejected:
            state.queue.move(ASSIGNED_POD_DELETE, removed, None, pre_check=lambda other: other.uid != pod.uid)
        self._report_change(pod)

    def _report_change(self, pod: Pod) -> None:
        if self.gangs is not None:
            self.gangs.member_changed(pod)

    def _activate(self, attempt: Attempt) -> None:
        """Activate the pods that a plugin of this cycle put under PodsToActivate."""
        pods = attempt.state.get(PODS_TO_ACTIVATE)
        if pods:
            self._state.queue.activate(list(pods.values()))
            pods.clear()


def _internal(bug: Exception) -> Status:
    return Status(Code.Error, f"internal error: {type(bug).__name__}: {bug}")


def _time_out(waiting: WaitingPodEntry, plugin: str, seconds: float) -> None:
    if plugin in waiting.pending_plugins:
        waiting.reject(
            plugin, f"rejected due to timeout after waiting {Duration(round(seconds * 1e9))} at plugin {plugin}"
        )
