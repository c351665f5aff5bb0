"""The bind verb: a plugin binds the pod, or whoever is there to do it for all."""

from __future__ import annotations

from stowplan import api
from stowplan.extender.handlers.binding_points import ExtenderBindingPoints
from stowplan.extender.handlers.handler_state import HandlerState
from stowplan.extender.handlers.node_results import reason
from stowplan.extender.handlers.pod_cycles import PodCycle
from stowplan.extender.handlers.reply import VerbReply
from stowplan.extender.handlers.threads import VerbThreads
from stowplan.extender.handlers.verb_call import VerbCall
from stowplan.extender.wire.server_replies import write_bind_result
from stowplan.extender.wire.server_requests import BindRequest, read_bind
from stowplan.framework import Code, Status


async def answer(court: HandlerState, call: VerbCall, threads: VerbThreads) -> VerbReply:
    request = call.request = read_bind(call.body)
    call.about(request.pod_namespace, request.pod_name, request.pod_uid)
    call.facts.node_name = request.node
    call.facts.nodes_in = 1
    cycle = _cycle(court, call, request)
    status = await _bind(court, call, cycle, request.node, threads)
    if status is None or status.code == Code.Success:
        call.facts.nodes_out = 1
        court.cycles.end(request.pod_uid, call.facts.pod)
        return VerbReply(200, write_bind_result(lower_case=court.policy.lower_case), call.facts)
    return fallback(court, call, reason(status))


def _cycle(court: HandlerState, call: VerbCall, request: BindRequest) -> PodCycle:
    """What filter left; after a restart the pod as the cache knows it, else as the request names it."""
    now = call.clock()
    found = court.cycles.find(request.pod_uid, call.facts.pod, now)
    if found is not None:
        return found
    pod = None if court.mirror is None else court.mirror.pending_pod(request.pod_uid)
    if pod is None:
        metadata = api.ObjectMeta(name=request.pod_name, namespace=request.pod_namespace, uid=request.pod_uid)
        pod = court.jury.cluster.templates.pod(api.Pod(metadata=metadata))
    return PodCycle(pod, now)


async def _bind(
    court: HandlerState, call: VerbCall, cycle: PodCycle, node_name: str, threads: VerbThreads
) -> Status | None:
    async def by_default() -> Status | None:
        if court.holding is None:
            return Status(
                Code.Error, "no plugin binds this pod, and the extender has no access to the cluster to do so"
            )
        return await court.holding.bind(cycle.pod, node_name)

    if court.policy.shadow:
        return await by_default()
    return await ExtenderBindingPoints(court, call, cycle, node_name, threads).bind(by_default)


def fallback(court: HandlerState, call: VerbCall, problem: str) -> VerbReply:
    call.facts.error = call.facts.error or problem
    return VerbReply(200, write_bind_result(problem, lower_case=court.policy.lower_case), call.facts)
