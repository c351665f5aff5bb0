"""The answer to a question: the changes applied to a cluster at rest, and the difference that they make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from stowplan.cache.volumes import ZONE
from stowplan.simulator.report.detailed_decisions import top_scores
from stowplan.simulator.report.report import SimulationReport
from stowplan.simulator.report.resources import BASIC_RESOURCES
from stowplan.simulator.report.use import groups_of, label_key, largest_requests, use_of
from stowplan.simulator.what_if.diff import ComparedRun
from stowplan.simulator.what_if.difference import Difference, compare, key_of_pod
from stowplan.simulator.what_if.effects import ClusterChange, Effects
from stowplan.simulator.what_if.enough import enough_nodes
from stowplan.simulator.what_if.even_zones import even_zones
from stowplan.simulator.what_if.fit import fit
from stowplan.simulator.what_if.profile_changes import OtherSetup, RemovePlugin, SetWeight
from stowplan.simulator.what_if.reasons import why
from stowplan.simulator.what_if.records import (
    WHAT_IF_VERSION,
    Asked,
    EvictedPod,
    RequestStep,
    Totals,
    WhatIfAnswer,
    WorkloadDifference,
)
from stowplan.simulator.what_if.removable import removable_nodes
from stowplan.simulator.what_if.request_steps import request_steps
from stowplan.simulator.what_if.run import ClusterRun
from stowplan.simulator.what_if.sentence import first_sentence
from stowplan.simulator.what_if.workload_changes import PlaceAgain, SetRequests

_MAX_EXPLAINED_WORKLOADS = 20
_PROFILE_CHANGES = (SetWeight, RemovePlugin, OtherSetup)


class WhatIfQuestion(NamedTuple):
    """A question about a cluster."""

    changes: tuple[Any, ...] = ()
    """Changes of the cluster (`effects.ClusterChange`), of the profile, and `PlaceAgain`, in the order given."""
    namespace: str = "default"
    fit: Any = None
    """The workload, pod or manifest of which more replicas are created: a reference or an object."""
    max_replicas: int = 10_000
    """The largest number that `fit` looks for."""
    enough: tuple[str, ...] = ()
    """Nodes like which nodes are added until everything is placed."""
    removable: bool = False
    by: str = ""
    """A label by which use is shown; the zone by default."""


def what_if(run: ClusterRun, question: WhatIfQuestion) -> WhatIfAnswer:
    """Apply the changes to a cluster that runs until nothing moves. Raises InputError for objects that do not exist."""
    return what_if_and_run(run, question)[0]


def what_if_and_run(
    run: ClusterRun, question: WhatIfQuestion, begin: Callable[[ClusterRun], None] | None = None
) -> tuple[WhatIfAnswer, ClusterRun]:
    """The answer, and the run with the changes, which may be the same run. `begin` is called with that run when the
    changes are made and their pods are not placed yet."""
    run.rest()
    by = _label(run, question.by)
    before = run.report()
    requests = largest_requests((pod.requests for pod in before.pods), BASIC_RESOURCES)
    totals = totals_of(run, before, by, requests)
    groups = group_of_nodes(run, by)
    steps = _steps(run, question)
    changed, effects, phrases = apply_changes(run, question)
    if begin is not None:
        begin(changed)
    if question.changes:
        changed.rest()
    after = changed.report() if question.changes else before
    groups.update(group_of_nodes(changed, by))
    difference = compare(
        before.pods,
        after.pods,
        displaced=effects.displaced,
        scaled=effects.scaled,
        group=lambda node: groups.get(node, ""),
    )
    evictions = len(before.preemptions) if changed is run else 0
    answer = WhatIfAnswer(
        version=WHAT_IF_VERSION,
        changes=question.changes,
        asked=Asked(
            pending=before.summary.pending if effects.asks_pending or question.enough else None,
            workloads=tuple(effects.workloads),
        ),
        sentence="",
        waiting=waiting_pods(difference, effects, asked_all=bool(question.enough)),
        before=totals,
        after=totals_of(changed, after, by, requests) if question.changes else totals,
        workloads=tuple(_explained(changed, after, difference.workloads)),
        moved=tuple(difference.moved),
        displaced=effects.displaced.total(),
        evicted=tuple(
            EvictedPod(pod=each.victim, node=each.node, preemptor=each.preemptor, outcome=each.outcome)
            for each in after.preemptions[evictions:]
        ),
        lost=tuple(sorted(effects.lost)),
        vanished=effects.vanished,
        budgets=tuple(effects.budgets),
        new_nodes=len(effects.new_nodes),
        on_new_nodes=_on_new_nodes(before, after, effects),
        even_zones=even_zones(changed, before, after, effects.new_nodes),
        placed_again=len(effects.again),
        steps=steps,
        notes=tuple(effects.notes),
        plugin_bugs=changed.plugin_bugs(),
        by=by,
    )
    answer = replace(
        answer,
        enough=tuple(
            enough_nodes(changed, like, effects, {each.workload: each.pending for each in difference.workloads})
            for like in question.enough
        ),
        fit=None if question.fit is None else fit(changed, question.fit, question.namespace, question.max_replicas),
        removable=removable_nodes(changed) if question.removable else None,
    )
    return replace(answer, sentence=first_sentence(answer, phrases, effects)), changed


def _steps(run: ClusterRun, question: WhatIfQuestion) -> tuple[RequestStep, ...]:
    """For a question about other requests alone."""
    if len(question.changes) != 1 or not isinstance(question.changes[0], SetRequests):
        return ()
    return tuple(request_steps(run, question.changes[0], question.namespace))


def compared_run(run: ClusterRun, name: str, again: str, namespace: str, by: str) -> ComparedRun:
    """A run for `diff`; pods in `again` (a namespace, a workload, or `all`) are placed anew first."""
    run.rest()
    if again:
        run = run.copy(unbound=PlaceAgain(again).uids(run, Effects(namespace)), examine=top_scores)
        run.rest()
    report = run.report()
    by = _label(run, by)
    requests = largest_requests((pod.requests for pod in report.pods), BASIC_RESOURCES)
    workloads = _explained(run, report, compare((), report.pods).workloads)
    reasons = {each.workload: each.why for each in workloads if each.why}
    totals, cluster = totals_of(run, report, by, requests), run.simulation.engine.cluster
    return ComparedRun(name, report.pods, totals, group_of_nodes(run, by), reasons, cluster, run.plugin_bugs())


def apply_changes(run: ClusterRun, question: WhatIfQuestion) -> tuple[ClusterRun, Effects, list[str]]:
    """The run with the changes, not yet at rest; a copy if the profile changes or pods are placed again."""
    effects = Effects(question.namespace)
    setup, phrases = run.setup, []
    for change in question.changes:
        if isinstance(change, _PROFILE_CHANGES):
            setup, phrase = change.changed(setup)
            phrases.append(phrase)
    if setup is not run.setup:
        run = run.copy(setup)
    for change in question.changes:
        if isinstance(change, PlaceAgain):
            run = run.copy(unbound=change.uids(run, effects))
        elif not isinstance(change, _PROFILE_CHANGES):
            cluster_change: ClusterChange = change
            phrases.append(cluster_change.apply(run, effects))
            run.simulation.settle()
    return run, effects, phrases


def totals_of(run: ClusterRun, report: SimulationReport, by: str, requests: dict[str, int]) -> Totals:
    """The totals of a run; `requests` has the largest request of one pod for each resource."""
    nodes = run.simulation.engine.cluster.nodes
    summary = report.summary
    return Totals(
        placed=summary.placed + summary.running,
        pending=summary.pending,
        nodes=summary.nodes,
        requested=summary.requested,
        allocatable=summary.allocatable,
        use=use_of(nodes, requests),
        groups=tuple(groups_of(nodes, requests, by)),
        pod_groups=report.pod_groups,
    )


def _label(run: ClusterRun, by: str) -> str:
    """The key of the label of choice; empty without one."""
    return label_key(by, (info.labels for info in run.simulation.engine.cluster.nodes)) if by else ""


def group_of_nodes(run: ClusterRun, by: str) -> dict[str, str]:
    """The value of the label, by default the zone, by node."""
    return {info.name: info.labels.get(by or ZONE, "") for info in run.simulation.engine.cluster.nodes}


def waiting_pods(difference: Difference, effects: Effects, *, asked_all: bool = False) -> int:
    """Number of pods in question that wait: pods of named workloads, all pending pods if nodes are added and the like,
    and in any case the pods that wait because of the change."""
    waiting = 0
    for each in difference.workloads:
        asked = asked_all or effects.asks_pending or each.workload in effects.workloads
        waiting += each.left if asked else max(0, each.left - each.pending)
    return waiting


def _explained(
    run: ClusterRun, report: SimulationReport, workloads: Sequence[WorkloadDifference]
) -> Iterable[WorkloadDifference]:
    """The workloads, those with most waiting pods with the reason of one pod."""
    waiting = sorted((each for each in workloads if each.left), key=lambda each: -each.left)
    chosen = {each.workload for each in waiting[:_MAX_EXPLAINED_WORKLOADS]}
    first: dict[str, str] = {}
    for pod in report.pods:
        if not pod.node and (key := key_of_pod(pod)) in chosen:
            first.setdefault(key, pod.pod)
    for each in workloads:
        name = first.get(each.workload)
        yield replace(each, why=why(run, name)) if name else each


def _on_new_nodes(before: SimulationReport, after: SimulationReport, effects: Effects) -> int:
    if not effects.new_nodes:
        return 0
    pending = {pod.pod for pod in before.pods if not pod.node}
    return sum(pod.node in effects.new_nodes and pod.pod in pending for pod in after.pods)
