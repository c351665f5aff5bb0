"""The verdict on a pod group, in the form of the recorded verdicts of kube-scheduler."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from stowplan.framework import Code, Pod, Status
from stowplan.runtime.decide.decision import record_of, rejection
from stowplan.runtime.decide.fit_error import fit_error, histogram, none_available
from stowplan.runtime.groups import GroupDecision, MemberOutcome
from stowplan.runtime.groups.members import GroupTrial, MemberResult

Verdict = dict[str, Any]
Gated = Mapping[str, Status]

_CLUSTER = "cluster"
"""The name of the node of victims of a whole group."""


def idle_verdict(dropped: Iterable[Pod], gated: Gated, condition: dict[str, str] | None) -> Verdict:
    """No member takes part in a cycle."""
    outcome = {pod.name: {"dropped": True} for pod in dropped}
    return _verdict("no_cycle", gated, [], outcome, condition)


def error_verdict(members: Iterable[Pod], text: str, gated: Gated, condition: dict[str, str] | None) -> Verdict:
    """The cycle fails before it starts."""
    outcome = {pod.name: {"code": Code.Error.name, "message": text} for pod in members}
    return _verdict("error", gated, [], outcome, condition)


def group_verdict(
    decision: GroupDecision, dropped: Iterable[Pod], gated: Gated, before: dict[str, str] | None
) -> Verdict:
    """The verdict of a decision; `before` is the condition of the PodGroup before the cycle."""
    outcome: dict[str, Any] = {pod.name: {"dropped": True} for pod in dropped}
    outcome |= {each.pod.name: _outcome(each) for each in decision.outcomes}
    after = decision.condition
    condition: dict[str, str] | None = None
    if before is not None and before["status"] == "True" and after.status != "True":
        condition = before
    elif decision.group.rules is not None:
        condition = {"status": after.status, "reason": after.reason, "message": after.message}
    trials = [decision.trial] if decision.search is None else decision.search.trials
    tries = [_try(trial, result) for trial in trials for result in trial.results]
    verdict = _verdict(decision.result, gated, tries, outcome, condition)
    verdict |= _placements(decision)
    victims = _victims(decision, trials)
    return verdict | ({"victims": victims} if victims else {})


def member_failure(status: Status) -> dict[str, Any]:
    """The outcome of a member that Reserve or Permit refused when it was to be bound."""
    message = status.message
    if status.rejected:
        message = none_available(1, histogram(dict.fromkeys(status.reasons, 1)))
    return {"code": status.code.name, "message": message}


def _verdict(
    result: str, gated: Gated, tries: list[Any], outcome: dict[str, Any], condition: dict[str, str] | None
) -> Verdict:
    verdict: Verdict = {"result": result, "schedulable": result == "scheduled", "tries": tries, "outcome": outcome}
    if gated:
        verdict["preEnqueue"] = {name: msgspec.to_builtins(rejection(status)) for name, status in gated.items()}
    if condition is not None:
        verdict["condition"] = condition
    return verdict


def _outcome(outcome: MemberOutcome) -> dict[str, Any]:
    if outcome.status is None:
        return {"node": outcome.node_name}
    given: dict[str, Any] = {"code": outcome.status.code.name, "message": outcome.status.message}
    if outcome.nominated:
        given["nominated"] = outcome.nominated
    if outcome.rejectors:
        given["plugins"] = sorted(outcome.rejectors)
    return given


def _try(trial: GroupTrial, result: MemberResult) -> dict[str, Any]:
    decision = result.decision
    given: dict[str, Any] = {"pod": result.pod.name}
    if trial.placement is not None and trial.placement.name:
        given["placement"] = trial.placement.name
    if decision.node_name:
        given["node"] = decision.node_name
    elif decision.diagnosis is None:
        given["message"] = decision.message
    else:
        given["message"] = fit_error(decision.diagnosis)
        given["postFilter"] = decision.message.removeprefix(given["message"]).removeprefix(" ")
    if not decision.node_name and decision.nominated_node_name:
        given["nominated"] = decision.nominated_node_name
    if decision.diagnosis is not None:
        given |= _details(result)
    if result.permit is not None:
        given["permit"] = {"code": result.permit.code.name, "message": result.permit.message}
    return {key: value for key, value in given.items() if value}


def _details(result: MemberResult) -> dict[str, Any]:
    """Rejections and totals, as for a single pod."""
    decision = result.decision
    assert decision.diagnosis is not None
    record = record_of(decision.diagnosis, None)
    details: dict[str, Any] = {"preFilter": record.pre_filter, "preFilterNodes": record.pre_filter_nodes}
    if decision.node_name:
        details["total"] = record.totals
    else:
        details["filter"] = record.rejected
    return msgspec.to_builtins(details)  # type: ignore[no-any-return]


def _placements(decision: GroupDecision) -> dict[str, Any]:
    search = decision.search
    if search is None:
        return {}
    given: dict[str, Any] = {}
    if search.error is not None:
        given["placementsError"] = msgspec.to_builtins(rejection(search.error))
    bound = {each.node_name for each in decision.outcomes if each.status is None}
    tried = {trial.placement.name: trial for trial in search.trials if trial.placement is not None}
    rows = []
    for placement in search.placements:
        nodes = sorted(info.name for _, info in placement.nodes.infos())
        trial = tried.get(placement.name)
        permits = [] if trial is None else [result.permit for result in trial.results]
        row: dict[str, Any] = {
            "name": placement.name,
            "nodes": nodes,
            "fits": any(permit is not None and permit.succeeded for permit in permits),
            "chosen": not bound.isdisjoint(nodes),
        }
        scored = search.scored.get(placement.name)
        if scored is not None:
            row |= {"scores": scored.scores, "total": scored.total}
        rows.append(row)
    return given | ({"placements": rows} if rows else {})


def _victims(decision: GroupDecision, trials: Iterable[GroupTrial]) -> list[dict[str, Any]]:
    """Pods to evict; those that terminate already are left out."""
    found = [
        (result.pod.name, result.decision.preemption.node_name, result.decision.preemption.victims)
        for trial in trials
        for result in trial.results
        if result.decision.preemption is not None
    ]
    found.append((decision.group.name, _CLUSTER, tuple(decision.victims)))
    rows = []
    for preemptor, node, pods in found:
        names = [pod.key for pod in pods if not pod.terminating]
        if names:
            rows.append({"preemptor": preemptor, "node": node, "pods": names})
    return rows
