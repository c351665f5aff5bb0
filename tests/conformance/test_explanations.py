"""Explanations of every recorded case agree with kube-scheduler: feasibility, reasons, message and totals."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.builders import World
from tests.conformance.recorded import CATEGORIES, Recorded, check_rows, differences, recorded

from stowplan.evaluation.verdict import verdict_of
from stowplan.framework import Explanation
from stowplan.insight.explain import explain, run

pytestmark = [pytest.mark.conformance, pytest.mark.usefixtures("without_cycle_collector")]

NOT_IN_EXPLANATIONS = ("preemptionCandidates", "preemptionSelected")
"""The search of an explanation stops at enough candidates, as kube-scheduler's does; the recorded one does not."""

PASSING = frozenset(
    {
        "anti-affinity.others",
        "anti-affinity.own",
        "claim.exclusive",
        "devices.none",
        "devices.taken",
        "disk.in-use",
        "node.cordoned",
        "pod-affinity.unmet",
        "pods.too-many",
        "ports.taken",
        "resources.insufficient",
        "spread.skew",
        "taint.lifecycle",
        "volume.limit",
        "volume.no-capacity",
        "volume.none",
    }
)
"""Reasons that pass without a change of the pod or the node; a pod that never fits has another one."""


@pytest.mark.parametrize("category", CATEGORIES)
def test_explanations_agree_with_kube_scheduler(category: str) -> None:
    check_rows([row for row in recorded(category) if "preEnqueue" not in row.expect], contradictions)


def contradictions(row: Recorded) -> list[str]:
    """How the explanation of a case differs from the recorded verdict."""
    case = row.read()
    world, pod = World.of_case(case)
    answer = run(explain(world.profiles[case.pod.spec.scheduler_name], pod, top=1, details=True))
    return [*embedded(row, answer), *reasons(row, answer)]


def embedded(row: Recorded, answer: Explanation) -> list[str]:
    """The decision record of the explanation against the recorded verdict."""
    if answer.decision is None:
        return [] if not row.read().nodes else ["no decision record"]
    expected = {name: value for name, value in row.expect.items() if name not in NOT_IN_EXPLANATIONS}
    verdict = verdict_of(answer.decision)
    message = expected.pop("message", "").split(" | ")[0]
    if not answer.message.startswith(message):
        return [f"message: recorded {message!r}, got {answer.message!r}"]
    return differences(expected, {name: verdict[name] for name in verdict if name in expected})


def reasons(row: Recorded, answer: Explanation) -> list[str]:
    """The verdict and the counts of the explanation against the recorded rejections, which stop at the first filter
    that rejects a node, while the explanation runs all of them."""
    fits = bool(row.expect["feasible"])
    if fits != (answer.verdict == "fits"):
        return [f"verdict {answer.verdict}, recorded as feasible: {row.expect['feasible']}"]
    if fits or row.expect.get("preFilter") or not row.expect.get("filter"):
        return []
    found = []
    first = Counter(rejection["plugin"] for rejection in row.expect["filter"].values())
    counted = {reason.plugin: reason.nodes for reason in answer.reasons}
    for plugin, nodes in first.items():
        if counted.get(plugin, 0) < nodes:
            found.append(f"{plugin} rejects {counted.get(plugin, 0)} nodes, recorded {nodes}")
    if answer.steps[-1].left or sum(step.lost for step in answer.steps) != answer.steps[0].left:
        found.append(f"the steps do not add up: {answer.steps}")
    because = "" if answer.because is None else answer.because.id
    if answer.verdict == "never" and because in PASSING:
        found.append(f"never, because of {because}: {answer.sentence}")
    if answer.verdict == "waiting" and not answer.sentence.startswith("Waits for deletions: fits on "):
        found.append(f"waiting: {answer.sentence}")
    return found
