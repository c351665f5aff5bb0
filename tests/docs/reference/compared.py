"""What three tools say about recorded situations: `kubectl describe`, cluster-capacity, `stowplan explain`."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace
from tests.builders import World
from tests.conformance.recorded import Recorded, recorded
from tests.docs.reference.tables import table

from stowplan.evaluation import Evaluator
from stowplan.evaluation.case import Case
from stowplan.evaluation.verdict import verdict_of
from stowplan.framework import Explanation
from stowplan.insight.explain import explain, run

SITUATIONS = {
    "gates-v1-0006": "too little CPU is free",
    "resources-v1-0002": "two resources, never free on the same node",
    "nodeaff-v1-0014": "a node affinity that no node meets",
    "taints-v1-0046": "taints everywhere",
    "preempt2-v1-0084": "host ports are taken",
    "spread-v1-0148": "a topology spread constraint with minDomains",
    "mixed-v1-0040": "a pod to be near that does not exist",
    "nominated-v1-0037": "anti-affinity of the pod",
    "mixed-v1-0070": "anti-affinity of another pod",
    "volumes-v1-0025": "a claim for one pod at a time",
    "storage-v1-0024": "storage capacity",
    "claims-v1-0076": "devices",
}
"""Recorded cases by id, each with what is the matter."""
_MAX_INSTANCES = 1000


class Answers(NamedTuple):
    """What the tools say about one case."""

    describe: str
    """kube-scheduler's message, as recorded; `kubectl describe` prints it."""
    instances: int
    """How many instances of the pod cluster-capacity places."""
    refused: str
    """The message for the first instance that does not fit."""
    explanation: Explanation


def comparison() -> str:
    """The table of all situations."""
    rows = []
    for name, matter in SITUATIONS.items():
        found = answers(find(name))
        rows.append((f"{matter} (`{name}`)", found.describe, _capacity(found), _explained(found.explanation)))
    return table(("situation", "`kubectl describe`", "cluster-capacity", "`stowplan explain`"), rows)


def find(name: str) -> Recorded:
    """A recorded case by its id."""
    category = name.partition("-")[0]
    return next(row for row in recorded(category) if row.id == name)


def answers(row: Recorded) -> Answers:
    """What the tools say about a recorded case."""
    case = row.read()
    world, pod = World.of_case(case)
    explanation = run(explain(world.profiles[case.pod.spec.scheduler_name], pod))
    return Answers(row.expect["message"].split(" | ")[0], *instances(case), explanation)


def instances(case: Case) -> tuple[int, str]:
    """cluster-capacity's algorithm: schedule copies of the pod, one after the other, until one does not fit. Returns
    their number, and the message for the one that does not fit. Pods are not evicted."""
    metadata = case.pod.metadata
    placed = list(case.pods)
    for number in range(_MAX_INSTANCES):
        trial = Case(**{name: getattr(case, name) for name in case.__struct_fields__})
        trial.pods = tuple(placed)
        verdict = verdict_of(Evaluator().record(trial))
        if not verdict.get("feasible"):
            return number, verdict["message"].split(" | ")[0]
        totals = verdict.get("total") or {}
        chosen = max(verdict["feasible"], key=lambda name: totals.get(name, 0))
        copy = replace(metadata, name=f"{metadata.name}-{number}", uid=f"{metadata.uid}-{number}")
        placed.append(replace(case.pod, metadata=copy, spec=replace(case.pod.spec, node_name=chosen)))
    return _MAX_INSTANCES, ""


def _capacity(found: Answers) -> str:
    message = "the same message" if found.refused == found.describe else found.refused
    number = f"The cluster can schedule {found.instances} instance(s) of the pod."
    return f"{number} Termination reason: Unschedulable: {message}"


def _explained(explanation: Explanation) -> str:
    parts = [explanation.sentence]
    changes = [each.change.text for each in explanation.proposals[:2]]
    parts += [f"Would fit with: {'; or '.join(changes)}."] if changes else []
    return f"{' '.join(parts)} ({explanation.verdict})"
