"""The bind verb: Reserve, PreBind, Bind and PostBind of the plugins; without a Bind plugin the extender writes the
Binding itself.

Any client that reaches the port can send a bind request. So the pod must be pending in the cluster and belong to a
scheduler that the extender serves, and the node must have passed the extender's own filter for the pod of the cluster,
whatever pod the client sent under its uid.

Upstream: k8s.io/kube-scheduler/extender/v1 ExtenderBindingArgs, ExtenderBindingResult
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from stowplan import api
from stowplan.errors import StowplanError
from stowplan.extender.handlers.handler_state import ClusterCache, HandlerState
from stowplan.extender.handlers.node_results import reason
from stowplan.extender.handlers.plugin_requirements import BIND_IS_DISABLED
from stowplan.extender.handlers.pod_cycles import PodCycle
from stowplan.extender.handlers.verb_call import VerbCall, VerbReply
from stowplan.extender.wire.server_replies import write_bind_result
from stowplan.extender.wire.server_requests import BindRequest, read_bind
from stowplan.framework import Call as PluginCall
from stowplan.framework import Code, Failure, Pod, Request, Status, Write
from stowplan.framework.points import POST_BIND, RESERVE, implements_point
from stowplan.framework.safe_text import raised
from stowplan.runtime.out_of_tree.plugin import OutOfTreePlugin
from stowplan.runtime.out_of_tree.threads import PluginThreads
from stowplan.runtime.points.binding_points import run_all, run_bind, run_in_reverse, run_pre_bind, run_until_failure

T = TypeVar("T")

_CACHE_LOOKUPS, _CACHE_LOOKUP_SECONDS = 10, 0.05

NO_BINDER = Status(Code.Error, "no plugin binds this pod, and the extender has no access to the cluster to do so")


class BindRefusedError(StowplanError):
    """The extender does not bind this pod to this node."""


async def answer(state: HandlerState, call: VerbCall, threads: PluginThreads) -> VerbReply:
    request = call.request = read_bind(call.body)
    call.set_pod(api.ObjectMeta(name=request.pod_name, namespace=request.pod_namespace, uid=request.pod_uid))
    call.facts.node_name = request.node
    call.facts.nodes_in = 1
    cycle = await _permitted_cycle(state, call, request)
    if state.policy.shadow:
        status = await _write_binding(state, cycle, request.node)
    else:
        status = await _BindingCycle(state, call, cycle, request.node, threads).run()
    if status is None or status.code == Code.Success:
        call.facts.nodes_out = 1
        state.cycles.end(request.pod_uid, call.facts.pod)
        return VerbReply(200, write_bind_result(lower_case=state.policy.lower_case_replies), call.facts)
    return fallback(state, call, reason(status))


def fallback(state: HandlerState, call: VerbCall, problem: str) -> VerbReply:
    call.facts.error = call.facts.error or problem
    return VerbReply(200, write_bind_result(problem, lower_case=state.policy.lower_case_replies), call.facts)


async def _permitted_cycle(state: HandlerState, call: VerbCall, request: BindRequest) -> PodCycle:
    """The cycle that filter began, with the pod of the informer cache. Raises BindRefusedError."""
    if state.passed_nodes is None:
        raise BindRefusedError(BIND_IS_DISABLED)
    if "filter" in state.serves and not state.passed_nodes.contains(call.facts, request.node, call.clock()):
        raise BindRefusedError(
            f"the extender has not let node {request.node} pass for pod {call.facts.pod}: "
            "it binds pods only to nodes that its filter verb let pass"
        )
    cycle = state.cycles.find(request.pod_uid, call.facts.pod, call.clock())
    pod = None if cycle is None else cycle.pod
    if state.cluster_cache is not None:
        pod = await _pod_of_cluster(state, state.cluster_cache, call, request)
        if "filter" in state.serves and not state.passed_nodes.judged(call.facts, pod):
            raise BindRefusedError(f"the filter verb was called for a pod that differs from pod {call.facts.pod}")
    if pod is not None and pod.spec.scheduler_name not in state.policy.bind_scheduler_names:
        raise BindRefusedError(
            f'pod {call.facts.pod} belongs to scheduler "{pod.spec.scheduler_name}", for which the extender does not '
            "bind pods (--bind-scheduler-name)"
        )
    if cycle is None:
        return PodCycle(pod or _described(state, request), call.clock())
    cycle.pod = pod or cycle.pod
    return cycle


async def _pod_of_cluster(state: HandlerState, cache: ClusterCache, call: VerbCall, request: BindRequest) -> Pod:
    """The pod as the API server knows it. The watch may be behind the scheduler's for a moment."""
    for attempt in range(_CACHE_LOOKUPS):
        pod = cache.pending_pod(request.pod_uid) or state.plugins.cluster.pods.get(request.pod_uid)
        if pod is not None and pod.key == call.facts.pod:
            return pod
        if pod is not None or not request.pod_uid:
            break
        if attempt < _CACHE_LOOKUPS - 1:
            await asyncio.sleep(_CACHE_LOOKUP_SECONDS)
    raise BindRefusedError(f'pod {call.facts.pod} with uid "{request.pod_uid}" does not exist')


def _described(state: HandlerState, request: BindRequest) -> Pod:
    """The pod as far as the request describes it."""
    metadata = api.ObjectMeta(name=request.pod_name, namespace=request.pod_namespace, uid=request.pod_uid)
    return state.plugins.cluster.templates.pod(api.Pod(metadata=metadata))


async def _write_binding(state: HandlerState, cycle: PodCycle, node_name: str) -> Status | None:
    return NO_BINDER if state.reservations is None else await state.reservations.bind(cycle.pod, node_name)


class _BindingCycle:
    """The binding cycle of one pod and node."""

    def __init__(
        self, state: HandlerState, call: VerbCall, cycle: PodCycle, node_name: str, threads: PluginThreads
    ) -> None:
        self._state = state
        self._call = call
        self._cycle = cycle
        self._node_name = node_name
        self._threads = threads
        self._plugins = [plugin for plugin, _ in state.plugins.applying_to(cycle.pod)]
        self._args = (cycle.state, cycle.pod, node_name)

    async def run(self) -> Status | None:
        """None, or why the pod is not bound; its reservations are released in that case.

        After a timeout they are not released: the outcome of the binding is unknown, so they have to expire.
        """
        reserving = self._at(RESERVE)
        failure = (
            await self._exclusively(partial(run_until_failure, RESERVE, reserving, *self._args)) if reserving else None
        )
        if failure is None:
            failure = await self._drive(run_pre_bind(self._at("preBind"), *self._args))
        if failure is None:
            failure = await self._drive(run_bind(self._at("bind"), *self._args))
            if failure is not None and failure.code == Code.Skip:
                failure = await _write_binding(self._state, self._cycle, self._node_name)
        if failure is None:
            await self._drive(run_all(POST_BIND, self._at(POST_BIND), *self._args))
        elif reserving:
            await self._exclusively(partial(run_in_reverse, "unreserve", reserving, *self._args))
        return failure

    def _at(self, point: str) -> tuple[OutOfTreePlugin, ...]:
        return tuple(plugin for plugin in self._plugins if implements_point(type(plugin.inner), point))

    async def _exclusively(self, step: Callable[[], T]) -> T:
        """Run a step that reads the cluster, on a thread, while the cluster does not change."""

        def work() -> T:
            with self._state.exclusive.entered(f"bind of pod {self._call.facts.pod}", self._call.deadline):
                return step()

        return await self._threads.call(work, None)

    async def _drive(self, steps: Coroutine[Request, Any, T]) -> T:
        """Run a coroutine of the runtime. Its supported instructions are calls of a plugin's functions and annotations
        of the pod."""
        answer: Any = None
        while True:
            try:
                request = steps.send(answer)
            except StopIteration as end:
                result: T = end.value
                return result
            if isinstance(request, PluginCall):
                answer = await self._called(request.function)
            elif isinstance(request, Write) and (request.verb, request.kind) == ("patch", "Pod"):
                answer = await self._annotated(request)
            else:
                answer = Failure(f"an extender cannot do this: {type(request).__name__}")

    async def _annotated(self, request: Write) -> Failure | None:
        annotations = (request.changes or {}).get("metadata", {}).get("annotations", {})
        if self._state.reservations is None:
            return Failure("the extender has no access to the cluster")
        status = await self._state.reservations.annotate(self._cycle.pod, annotations)
        return None if status is None else Failure(status.message)

    async def _called(self, function: Callable[[], Any]) -> Any:
        try:
            bare = getattr(function, "func", function)
            if inspect.iscoroutinefunction(bare):
                return await function()
            result = await self._threads.call(partial(_result, function), None)
            return await result if inspect.isawaitable(result) else result
        except (Exception, SystemExit, KeyboardInterrupt) as problem:
            return Failure(raised(problem))


def _result(function: Callable[[], Any]) -> Any:
    """Runs on a thread: the function's result, or a Failure for its exception."""
    try:
        return function()
    except BaseException as problem:
        return Failure(raised(problem))
