"""Every recorded verdict of kube-scheduler, asked of the evaluator and of the fast path."""

from __future__ import annotations

import gc

import pytest
from tests.builders import World
from tests.conformance.recorded import CATEGORIES, Recorded, differences, recorded, report

from stowplan.evaluation import Evaluator
from stowplan.framework import Pod
from stowplan.runtime import Decision

pytestmark = pytest.mark.conformance

ALLOCATING = "claims"
"""The category whose verdicts depend on which devices would be allocated, which is not done yet."""

SAMPLED = {"large": 3}
"""Of these categories the fast path is shown every third case: loading them takes far longer than deciding."""


@pytest.fixture(scope="module", autouse=True)
def _without_cycle_collector():
    """Cases are put together and dropped by the thousand; looking for cycles among them doubles the time."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("category", [c for c in CATEGORIES if c != ALLOCATING])
def test_verdicts_are_those_of_kube_scheduler(category: str) -> None:
    evaluator = Evaluator()
    rows = recorded(category)
    assert len(rows) == 150
    failures = {}
    for row in rows:
        found = differences(row.expect, evaluator.line(bytes(row.case)))
        if found:
            failures[row.id] = found
    gc.collect()
    assert not failures, report(failures, len(rows))


def needs_no_devices(row: Recorded) -> bool:
    """Whether the verdict follows without knowing which devices are free.

    It does where the pod is stopped before any node is looked at, and where no claim is open: every claim that the
    pod refers to is allocated already, and none is made for extended resources.
    """
    if "preEnqueue" in row.expect or "preFilter" in row.expect:
        return True
    case = row.read()
    containers = (*case.pod.spec.init_containers, *case.pod.spec.containers)
    requested = {name for container in containers for name in container.resources.requests}
    if not requested.isdisjoint(device.spec.extended_resource_name for device in case.deviceclasses):
        return False
    generated = {status.name: status.resource_claim_name for status in case.pod.status.resource_claim_statuses}
    wanted = {claim.resource_claim_name or generated.get(claim.name) for claim in case.pod.spec.resource_claims}
    allocated = {claim.metadata.name for claim in case.resourceclaims if claim.status.allocation is not None}
    return {name for name in wanted if name} <= allocated


def test_verdicts_on_claims_that_need_no_allocation() -> None:
    evaluator = Evaluator()
    rows = [row for row in recorded(ALLOCATING) if needs_no_devices(row)]
    failures = {row.id: found for row in rows if (found := differences(row.expect, evaluator.line(bytes(row.case))))}
    assert not failures, report(failures, len(rows))
    assert len(rows) >= 60


@pytest.mark.parametrize("category", [c for c in CATEGORIES if c != ALLOCATING])
def test_fast_path_chooses_a_best_node(category: str) -> None:
    rows = recorded(category)[:: SAMPLED.get(category, 1)]
    failures = {}
    for row in rows:
        if "preEnqueue" not in row.expect:
            found = wrong_decisions(row)
            if found:
                failures[row.id] = found
    gc.collect()
    assert not failures, report(failures, len(rows))


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
