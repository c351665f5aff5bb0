"""Every recorded verdict of kube-scheduler, asked of the evaluator and of the fast path."""

from __future__ import annotations

import pytest
from tests.builders import World
from tests.conformance.recorded import CATEGORIES, Recorded, check_rows, differences, recorded

from stowplan.evaluation import Evaluator
from stowplan.framework import Pod
from stowplan.runtime import Decision

pytestmark = [pytest.mark.conformance, pytest.mark.usefixtures("without_cycle_collector")]

SAMPLED = {"large": 3}
"""Of these categories the fast path is shown every third case: loading them takes far longer than deciding."""


@pytest.mark.parametrize("category", CATEGORIES)
def test_verdicts_are_those_of_kube_scheduler(category: str) -> None:
    evaluator = Evaluator()
    rows = recorded(category)
    assert len(rows) == 150
    check_rows(rows, lambda row: differences(row.expect, evaluator.line(bytes(row.case))))


@pytest.mark.parametrize("category", CATEGORIES)
def test_fast_path_chooses_a_best_node(category: str) -> None:
    rows = [row for row in recorded(category)[:: SAMPLED.get(category, 1)] if "preEnqueue" not in row.expect]
    check_rows(rows, wrong_decisions)


def wrong_decisions(row: Recorded) -> list[str]:
    """What is wrong with decisions made one after the other: without a plan, with a kept one, with a changed one."""
    case = row.read()
    world, pod = World.of_case(case)
    profile = world.profiles[case.pod.spec.scheduler_name]
    found = []
    for when in ("first", "second", "third"):
        found += [f"{when}: {problem}" for problem in problems(row, profile.decide(pod))]
    if len(world.cluster.nodes):
        twin = Pod(pod.template, "twin", "twin", pod.labels)
        world.cluster.assume(twin, min(world.cluster.nodes.slot_of))
        fast, plain = profile.decide(pod), profile.decide_afresh(pod)
        if fast.node_name != plain.node_name:
            found.append(f"beside a twin: {fast.node_name!r} by the plan, {plain.node_name!r} without")
        world.cluster.forget(twin)
        found += [f"after a twin left: {problem}" for problem in problems(row, profile.decide(pod))]
    return found


def problems(row: Recorded, decision: Decision) -> list[str]:
    """How a decision contradicts the recorded verdict."""
    totals: dict[str, int] = row.expect.get("total") or dict.fromkeys(row.expect["feasible"] or (), 0)
    if not totals:
        message = row.expect["message"].split(" | ")[0]
        if decision.node_name or not decision.message.startswith(message):
            return [f"recorded {message!r}, got {decision.node_name!r} and {decision.message!r}"]
        return []
    best = sorted(name for name, total in totals.items() if total == max(totals.values()))
    return [] if decision.node_name in best else [f"best are {best}, got {decision.node_name!r} ({decision.message})"]
