"""Cases about pod groups: their fields, and what the verdict says about members that take no part."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import Json, member, node, pod, pod_group

from stowplan.evaluation import Evaluator


def verdict(**case: Any) -> Json:
    given = {"group": {"namespace": "default", "name": "g"}, "podGroups": [pod_group("g", 2)], "nodes": [node("n")]}
    return Evaluator().verdict({**given, **case})


def members(count: int = 2, **how: Any) -> list[Json]:
    return [member(f"m{i}", **how) for i in range(count)]


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        ({}, "$.groupPods: required"),
        ({"groupPods": []}, "$.groupPods: must not be empty"),
        ({"groupPods": members(), "pod": pod("p")}, "$.pod: unknown field"),
        ({"groupPods": [pod("p")]}, "$.groupPods[0]: not a pending member of group default/g"),
        ({"groupPods": [member("m", on="n")]}, "$.groupPods[0]: not a pending member of group default/g"),
        ({"groupPods": [member("m"), member("m")]}, '$.groupPods[1].metadata.uid: duplicate "default/m"'),
        ({"groupPods": members(), "ties": "random"}, '$.ties: must be "name" or absent'),
        ({"groupPods": members(), "gates": "gang+all"}, '$.gates: unknown word "all"'),
        ({"groupPods": members(), "gates": "tas"}, "TopologyAwareWorkloadScheduling is enabled, but depends on"),
        ({"groupPods": members(), "release": "1.35"}, "$.release: pod groups are decided as in v1.36, not as in v1.35"),
        ({"groupPods": members(), "podGroups": [pod_group("g", 0)]}, "$.podGroups[0].spec.schedulingPolicy.gang"),
        ({"groupPods": members(schedulerName="x")}, 'no profile for schedulerName "x"'),
    ],
)
def test_problems(case: Json, problem: str) -> None:
    assert verdict(**case)["error"].startswith(problem)


def test_a_gang() -> None:
    found = verdict(groupPods=members(), id="case")
    assert (found["id"], found["result"], found["schedulable"]) == ("case", "scheduled", True)
    assert found["outcome"] == {"m0": {"node": "n"}, "m1": {"node": "n"}}
    assert [each["permit"]["code"] for each in found["tries"]] == ["Wait", "Success"]


def test_members_that_wait_for_others_take_no_part() -> None:
    found = verdict(groupPods=members(1))
    assert (found["result"], found["tries"], found["outcome"]) == ("no_cycle", [], {})
    assert found["preEnqueue"]["m0"]["plugin"] == "GangScheduling"


def test_members_that_are_being_deleted_are_dropped() -> None:
    leaving = member("gone", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    found = verdict(groupPods=[*members(2), leaving])
    assert found["outcome"]["gone"] == {"dropped": True}
    assert found["result"] == "scheduled"
    assert verdict(groupPods=[leaving], podGroups=[pod_group("g")])["result"] == "no_cycle"


def test_finished_members_are_left_out() -> None:
    finished = member("done", status={"phase": "Succeeded"})
    assert set(verdict(groupPods=[*members(2), finished])["outcome"]) == {"m0", "m1"}


def test_a_condition_that_is_true_stays() -> None:
    condition = {"type": "PodGroupScheduled", "status": "True", "reason": "Scheduled", "message": "x"}
    group = pod_group("g", 2) | {"status": {"conditions": [condition]}}
    found = verdict(groupPods=members(requests={"cpu": "9"}), podGroups=[group])
    assert found["result"] == "unschedulable"
    assert found["condition"] == {"status": "True", "reason": "Scheduled", "message": "x"}
