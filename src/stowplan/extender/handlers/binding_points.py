"""What a scheduler does around a binding, for an extender that is asked to bind: Reserve, PreBind, Bind, PostBind."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from stowplan.extender.handlers.handler_state import HandlerState
from stowplan.extender.handlers.pod_cycles import PodCycle
from stowplan.extender.handlers.threads import VerbThreads
from stowplan.extender.handlers.verb_call import VerbCall
from stowplan.framework import Call as Outside
from stowplan.framework import Code, Failure, Request, Status
from stowplan.framework.safe_text import raised
from stowplan.runtime.out_of_tree.plugin import OutOfTreePlugin
from stowplan.runtime.points.binding_points import run_bind, run_post_bind, run_pre_bind, run_reserve, run_unreserve
from stowplan.runtime.points.implemented import implements_point

T = TypeVar("T")

Binder = Callable[[], Awaitable[Status | None]]
"""Binds the pod where no plugin does."""


class ExtenderBindingPoints:
    """The points of one pod's plugins, on the way to one node."""

    def __init__(
        self, court: HandlerState, call: VerbCall, cycle: PodCycle, node_name: str, threads: VerbThreads
    ) -> None:
        self._court = court
        self._call = call
        self._threads = threads
        self._plugins = [plugin for plugin, _ in court.jury.chosen(cycle.pod)]
        self._args = (cycle.state, cycle.pod, node_name)

    async def bind(self, by_default: Binder) -> Status | None:
        """None, or why the pod is not bound; what was reserved for it is given back then.

        Not where time runs out: what became of the binding is not known, so a reservation has to expire.
        """
        reserving = self._at("reserve")
        failure = await self._inside(partial(run_reserve, reserving, *self._args)) if reserving else None
        if failure is None:
            failure = await self._drive(run_pre_bind(self._at("preBind"), *self._args))
        if failure is None:
            failure = await self._drive(run_bind(self._at("bind"), *self._args))
            if failure is not None and failure.code == Code.Skip:
                failure = await by_default()
        if failure is None:
            await self._drive(run_post_bind(self._at("postBind"), *self._args))
        elif reserving:
            await self._inside(partial(run_unreserve, reserving, *self._args))
        return failure

    def _at(self, point: str) -> tuple[OutOfTreePlugin, ...]:
        return tuple(plugin for plugin in self._plugins if implements_point(type(plugin.inner), point))

    async def _inside(self, step: Callable[[], T]) -> T:
        """Do something that looks at the cluster while nobody changes it."""

        def work() -> T:
            with self._court.gate.entered(f"bind of pod {self._call.facts.pod}", self._call.deadline):
                return step()

        return await self._threads.call(work, None)

    async def _drive(self, steps: Coroutine[Request, Any, T]) -> T:
        """Run a coroutine of the runtime, which asks for nothing but calls of users' functions."""
        answer: Any = None
        while True:
            try:
                request = steps.send(answer)
            except StopIteration as end:
                result: T = end.value
                return result
            if isinstance(request, Outside):
                answer = await self._called(request.function)
            else:
                answer = Failure(f"an extender cannot do this: {type(request).__name__}")

    async def _called(self, function: Callable[[], Any]) -> Any:
        try:
            bare = getattr(function, "func", function)
            if inspect.iscoroutinefunction(bare):
                return await function()
            result = await self._threads.call(partial(function), None)
            return await result if inspect.isawaitable(result) else result
        except Exception as problem:
            return Failure(raised(problem))
