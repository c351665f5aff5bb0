"""From a chosen node to a bound pod: assume, Reserve, Permit, and the binding cycle."""

from __future__ import annotations

from functools import partial
from typing import Any

from stowplan.cache.cluster import CacheError
from stowplan.config import Duration
from stowplan.engine.core import Core
from stowplan.engine.failure import Failed, Failures
from stowplan.engine.preemptions import Preemptions
from stowplan.engine.tasks import Task
from stowplan.framework import PODS_TO_ACTIVATE, Bind, Code, EmitEvent, Failure, PatchStatus, Pod, Status
from stowplan.framework.extender import CallExtender
from stowplan.queue import Unit
from stowplan.queue.changes import ASSIGNED_POD_DELETE
from stowplan.runtime import Decision
from stowplan.runtime.late_points import (
    LatePoints,
    run_bind,
    run_permit,
    run_post_bind,
    run_pre_bind,
    run_pre_flights,
    run_reserve,
    run_unreserve,
)
from stowplan.runtime.waiting import Verdict, WaitingPodEntry


class Attempt:
    """A pod on its way to a node."""

    __slots__ = ("extenders", "late", "node_name", "pod", "state", "task", "unit")

    def __init__(self, unit: Unit, decision: Decision, late: LatePoints) -> None:
        self.unit = unit
        self.pod: Pod = unit.pod
        self.node_name = decision.node_name
        self.state = decision.state
        self.late = late
        self.extenders = decision.profile.extenders
        self.task: Task | None = None


class Bindings:
    """Binds pods. One that nobody has to wait for goes straight to the instruction; the others get a coroutine."""

    def __init__(self, core: Core, failures: Failures, preemptions: Preemptions) -> None:
        self._core = core
        self._failures = failures
        self._preemptions = preemptions

    def begin(self, unit: Unit, decision: Decision) -> None:
        core = self._core
        pod = unit.pod
        attempt = Attempt(unit, decision, decision.profile.late_points(pod.template))
        try:
            core.cluster.assume(pod, decision.node_name)
        except CacheError as problem:
            self._failures.handle(unit, Failed.late(Status(Code.Error, str(problem))))
            return
        if core.nominator.by_node:
            core.nominator.remove(pod)
        late = attempt.late
        if late.reserve:
            status = run_reserve(late.reserve, attempt.state, pod, attempt.node_name)
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
        request = Bind(pod, attempt.node_name)
        request.on_answer = partial(self._straight_outcome, attempt)
        core.outbox.append(request)

    def _straight_outcome(self, attempt: Attempt, outcome: Any) -> None:
        if isinstance(outcome, Failure):
            name = attempt.late.bind[0].name
            self._binding_failed(attempt, Status(Code.Error, f'running Bind plugin "{name}": {outcome.message}'))
            return
        self._bound(attempt)
        if attempt.state.get(PODS_TO_ACTIVATE):
            self._activate(attempt)

    async def _permit_and_bind(self, attempt: Attempt) -> None:
        try:
            await self._permit(attempt)
        except Exception as bug:
            self._binding_failed(attempt, Status(Code.Error, f"internal error: {type(bug).__name__}: {bug}"))

    async def _permit(self, attempt: Attempt) -> None:
        args = (attempt.state, attempt.pod, attempt.node_name)
        status, waits = await run_permit(attempt.late.permit, *args)
        if status is not None:
            self._take_back(attempt)
            self._failures.handle(attempt.unit, Failed.late(status))
            return
        waiting = self._core.waiting_pods.add(attempt.pod, waits) if waits else None
        self._activate(attempt)
        if waiting is not None:
            for plugin, seconds in waits.items():
                self._core.timers.after(seconds, partial(_time_out, waiting, plugin, seconds))
        failure = await self._bind(attempt, waiting)
        if failure is not None:
            self._binding_failed(attempt, failure)

    async def _bind(self, attempt: Attempt, waiting: WaitingPodEntry | None) -> Status | None:
        """The binding cycle; what made it fail."""
        core, late, pod = self._core, attempt.late, attempt.pod
        args = (attempt.state, pod, attempt.node_name)
        status, pre_binds = run_pre_flights(late.pre_bind, *args)
        if status is None and (pre_binds or waiting is not None):
            core.outbox.append(PatchStatus(pod, None, attempt.node_name))
        if waiting is not None:
            status = status or await self._verdict(waiting)
            core.waiting_pods.remove(pod.uid)
        if status is not None:
            return status
        core.queue.done(pod.uid)
        if pre_binds:
            status = await self._pre_bind(attempt)
        status = status or await self._write_binding(attempt)
        if status is not None:
            return status
        self._bound(attempt)
        await run_post_bind(late.post_bind, *args)
        self._activate(attempt)
        return None

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
        return await run_bind(attempt.late.bind, attempt.state, pod, attempt.node_name)

    async def _pre_bind(self, attempt: Attempt) -> Status | None:
        uid, running = attempt.pod.uid, self._preemptions.pre_binding
        # A coroutine that never had to wait is still being started: nobody can come in between and stop it.
        if attempt.task is not None:
            running[uid] = attempt.task
        try:
            return await run_pre_bind(attempt.late.pre_bind, attempt.state, attempt.pod, attempt.node_name)
        finally:
            running.pop(uid, None)

    @staticmethod
    async def _verdict(waiting: WaitingPodEntry) -> Status | None:
        status: Status | None = await Verdict(waiting)
        if status is None or status.rejected:
            return status
        return Status(Code.Error, f"waiting on permit for pod: {status.message}", plugin=status.plugin)

    def _bound(self, attempt: Attempt) -> None:
        pod, node_name = attempt.pod, attempt.node_name
        self._core.observer.bound(attempt.unit, node_name)
        note = f"Successfully assigned {pod.key} to {node_name}"
        self._core.outbox.append(EmitEvent(pod, "Normal", "Scheduled", "Binding", note))

    def _take_back(self, attempt: Attempt) -> None:
        run_unreserve(attempt.late.reserve, attempt.state, attempt.pod, attempt.node_name)
        self._core.cluster.forget(attempt.pod)

    def _binding_failed(self, attempt: Attempt, status: Status) -> None:
        """What the pod held is free for others, but no reason for itself to try again."""
        core, pod = self._core, attempt.pod
        self._take_back(attempt)
        gone = _as_it_was(pod, attempt.node_name)
        if not status.rejected:
            core.queue.move(ASSIGNED_POD_DELETE, gone, None)
        self._failures.handle(attempt.unit, Failed.late(status))
        if status.rejected:
            core.queue.move(ASSIGNED_POD_DELETE, gone, None, pre_check=lambda other: other.uid != pod.uid)

    def _activate(self, attempt: Attempt) -> None:
        """Pods that a plugin of this cycle wants tried now."""
        pods = attempt.state.get(PODS_TO_ACTIVATE)
        if pods:
            self._core.queue.activate(list(pods.values()))
            pods.clear()


def _time_out(waiting: WaitingPodEntry, plugin: str, seconds: float) -> None:
    if plugin in waiting.pending_plugins:
        waiting.reject(
            plugin, f"rejected due to timeout after waiting {Duration(round(seconds * 1e9))} at plugin {plugin}"
        )


def _as_it_was(pod: Pod, node_name: str) -> Pod:
    """The pod as it was on the node, for those who judge what its going frees."""
    gone = Pod(pod.template, pod.name, pod.uid, pod.labels)
    gone.node_name = node_name
    return gone
