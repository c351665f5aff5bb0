"""From a chosen node to a bound pod: assume, Reserve, Permit, and the binding cycle."""

from __future__ import annotations

from functools import partial
from math import isnan
from typing import Any

from stowplan import logs
from stowplan.cache.cluster import CacheError
from stowplan.config import Duration
from stowplan.engine.attempt import Attempt, as_it_was
from stowplan.engine.preemption import Preemptions
from stowplan.engine.requeue import Failed, FailureHandler
from stowplan.engine.state import EngineState
from stowplan.framework import PODS_TO_ACTIVATE, Bind, Code, EmitEvent, Failure, PatchStatus, Status
from stowplan.framework.extender import CallExtender
from stowplan.queue import QueuedPod
from stowplan.queue.cluster_events import ASSIGNED_POD_DELETE
from stowplan.runtime import Decision
from stowplan.runtime.points.binding_points import (
    run_bind,
    run_permit,
    run_post_bind,
    run_pre_bind,
    run_pre_flights,
    run_reserve,
    run_unreserve,
)
from stowplan.runtime.points.waiting_pods import REMOVED, PermitVerdict, WaitingPodEntry

log = logs.get(__name__)

_WAITING, _SKIPPED = Status(Code.Wait), Status(Code.Skip)


class BindingCycles:
    """Binds pods. One that nobody has to wait for goes straight to the instruction; the others get a coroutine."""

    def __init__(self, core: EngineState, failures: FailureHandler, preemptions: Preemptions) -> None:
        self._core = core
        self._failures = failures
        self._preemptions = preemptions

    def begin(self, unit: QueuedPod, decision: Decision) -> None:
        core = self._core
        pod = unit.pod
        attempt = Attempt(unit, decision, core.cycle)
        try:
            core.cluster.assume(pod, decision.node_name)
        except CacheError as problem:
            self._failures.handle(unit, Failed.plain(Status(Code.Error, str(problem))))
            return
        core.attempts[pod.uid] = attempt
        if core.nominator.by_node:
            core.nominator.remove(pod)
        late = attempt.late
        if late.reserve:
            status = self._reserve(attempt)
            if status is not None:
                self._take_back(attempt)
                self._failures.handle(unit, Failed.late(status))
                return
        if not late.straight:
            attempt.task = core.tasks.start(self._permit_and_bind(attempt))
            return
        if attempt.state.get(PODS_TO_ACTIVATE):
            self._activate(attempt)
        core.queue.done(pod.uid)
        core.observer.binding(unit, attempt.node_name)
        request = Bind(pod, attempt.node_name)
        request.on_answer = partial(self._straight_outcome, attempt)
        core.outbox.append(request)

    def _reserve(self, attempt: Attempt) -> Status | None:
        began = self._core.clock()
        try:
            status = run_reserve(attempt.late.reserve, attempt.state, attempt.pod, attempt.node_name)
        except Exception as bug:
            status = _internal(bug)
        self._passed(attempt, "Reserve", status, began)
        return status

    def _straight_outcome(self, attempt: Attempt, outcome: Any) -> None:
        if isinstance(outcome, Failure):
            name = attempt.late.bind[0].name
            status = Status(Code.Error, f'running Bind plugin "{name}": {outcome.message}')
            self._binding_failed(attempt, Failed.plain(status))
            return
        self._bound(attempt)
        if attempt.state.get(PODS_TO_ACTIVATE):
            self._activate(attempt)

    async def _permit_and_bind(self, attempt: Attempt) -> None:
        try:
            await self._permit(attempt)
        except Exception as bug:
            self._binding_failed(attempt, Failed.plain(_internal(bug)))

    async def _permit(self, attempt: Attempt) -> None:
        args = (attempt.state, attempt.pod, attempt.node_name)
        began = self._core.clock()
        status, waits = await run_permit(attempt.late.permit, *args)
        self._passed(attempt, "Permit", _WAITING if waits else status, began)
        if status is not None:
            if attempt.cycle == self._core.cycle:
                self._take_back(attempt)
                self._failures.handle(attempt.unit, Failed.late(status))
            else:
                # Others were tried while the plugins were asked, and may have missed what the pod held.
                self._binding_failed(attempt, Failed.late(status))
            return
        waiting = self._hold_back(attempt, waits) if waits else None
        self._activate(attempt)
        failed = await self._bind(attempt, waiting)
        if failed is not None:
            self._binding_failed(attempt, failed)

    def _hold_back(self, attempt: Attempt, waits: dict[str, float]) -> WaitingPodEntry:
        core, pod = self._core, attempt.pod
        # Among others, a time that is no number would never be due, and neither would those behind it.
        waits = {plugin: 0.0 if isnan(wait) else wait for plugin, wait in waits.items()}
        waiting = core.waiting_pods.add(pod, waits)
        timers = [core.timers.after(wait, partial(_time_out, waiting, plugin, wait)) for plugin, wait in waits.items()]

        def stop_timers(verdict: Status | None) -> None:
            for timer in timers:
                timer.cancel()

        waiting.when_settled(stop_timers)
        if pod.uid not in core.cluster.assumed:
            waiting.reject("", REMOVED)  # It went away while the plugins were asked.
        return waiting

    async def _bind(self, attempt: Attempt, waiting: WaitingPodEntry | None) -> Failed | None:
        """The binding cycle; what made it fail."""
        core, late, pod = self._core, attempt.late, attempt.pod
        args = (attempt.state, pod, attempt.node_name)
        began = core.clock()
        status, pre_binds = run_pre_flights(late.pre_bind, *args)
        self._passed(attempt, "PreBindPreFlight", status if status is not None or pre_binds else _SKIPPED, began)
        if status is None and (pre_binds or waiting is not None):
            core.outbox.append(PatchStatus(pod, None, attempt.node_name))
        if waiting is not None:
            if status is not None:
                waiting.reject(status.plugin, status.message)
            began = core.clock()
            verdict = await self._verdict(waiting)
            core.waiting_pods.remove(pod.uid)
            core.observer.waited(attempt.unit, verdict, core.clock() - began)
            if status is None and verdict is not None:
                return Failed.late(verdict)
        if status is not None:
            return Failed.plain(status)
        # Whatever fails from here on is no verdict that an event could change.
        core.queue.done(pod.uid)
        if pre_binds:
            status = await self._pre_bind(attempt)
        status = status or await self._write_binding(attempt)
        if status is not None:
            return Failed.plain(status)
        self._bound(attempt)
        await self._post_bind(attempt)
        self._activate(attempt)
        return None

    async def _post_bind(self, attempt: Attempt) -> None:
        """Whatever goes wrong, the pod is bound, and must not be taken back."""
        began = self._core.clock()
        try:
            await run_post_bind(attempt.late.post_bind, attempt.state, attempt.pod, attempt.node_name)
        except Exception as error:
            log.exception(error, "PostBind failed", pod=logs.ref(attempt.pod), node=attempt.node_name)
        self._passed(attempt, "PostBind", None, began)

    async def _write_binding(self, attempt: Attempt) -> Status | None:
        """An extender that binds comes before the plugins that do."""
        pod = attempt.pod
        for extender in attempt.extenders:
            if extender.serves("bind") and extender.is_interested(pod):
                outcome = await CallExtender(extender, "bind", pod, attempt.node_name)
                if not isinstance(outcome, Failure):
                    return None
                if not extender.ignorable:
                    return Status(Code.Error, outcome.message)
        self._core.observer.binding(attempt.unit, attempt.node_name)
        began = self._core.clock()
        status = await run_bind(attempt.late.bind, attempt.state, pod, attempt.node_name)
        self._passed(attempt, "Bind", status, began)
        return status

    async def _pre_bind(self, attempt: Attempt) -> Status | None:
        uid, running = attempt.pod.uid, self._preemptions.pre_binding
        running[uid] = attempt
        began = self._core.clock()
        try:
            status = await run_pre_bind(attempt.late.pre_bind, attempt.state, attempt.pod, attempt.node_name)
        finally:
            running.pop(uid, None)
        self._passed(attempt, "PreBind", status, began)
        return status

    @staticmethod
    async def _verdict(waiting: WaitingPodEntry) -> Status | None:
        status: Status | None = await PermitVerdict(waiting)
        if status is None or status.rejected:
            return status
        return Status(Code.Error, f"waiting on permit for pod: {status.message}", plugin=status.plugin)

    def _bound(self, attempt: Attempt) -> None:
        pod, node_name = attempt.pod, attempt.node_name
        self._core.attempts.pop(pod.uid, None)
        self._core.observer.bound(attempt.unit, node_name)
        note = f"Successfully assigned {pod.key} to {node_name}"
        self._core.outbox.append(EmitEvent(pod, "Normal", "Scheduled", "Binding", note))

    def _passed(self, attempt: Attempt, point: str, status: Status | None, began: float) -> None:
        self._core.observer.passed(attempt.unit, point, status, self._core.clock() - began)

    def _take_back(self, attempt: Attempt) -> None:
        began = self._core.clock()
        run_unreserve(attempt.late.reserve, attempt.state, attempt.pod, attempt.node_name)
        self._passed(attempt, "Unreserve", None, began)
        self._core.cluster.forget(attempt.pod)
        self._core.attempts.pop(attempt.pod.uid, None)

    def _binding_failed(self, attempt: Attempt, failed: Failed) -> None:
        """What the pod held is free for others, but no reason for itself to try again."""
        core, pod, rejected = self._core, attempt.pod, failed.status.rejected
        self._take_back(attempt)
        there = core.cluster.pods.get(pod.uid)
        freed = there is None or there.node_name != attempt.node_name
        gone = as_it_was(pod, attempt.node_name)
        if freed and not rejected:
            core.queue.move(ASSIGNED_POD_DELETE, gone, None)
        self._failures.handle(attempt.unit, failed)
        if freed and rejected:
            core.queue.move(ASSIGNED_POD_DELETE, gone, None, pre_check=lambda other: other.uid != pod.uid)

    def _activate(self, attempt: Attempt) -> None:
        """Pods that a plugin of this cycle wants tried now."""
        pods = attempt.state.get(PODS_TO_ACTIVATE)
        if pods:
            self._core.queue.activate(list(pods.values()))
            pods.clear()


def _internal(bug: Exception) -> Status:
    return Status(Code.Error, f"internal error: {type(bug).__name__}: {bug}")


def _time_out(waiting: WaitingPodEntry, plugin: str, seconds: float) -> None:
    if plugin in waiting.pending_plugins:
        waiting.reject(
            plugin, f"rejected due to timeout after waiting {Duration(round(seconds * 1e9))} at plugin {plugin}"
        )
