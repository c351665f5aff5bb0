"""Explanations of members of pod groups."""

from __future__ import annotations

from typing import Any

from tests.builders import member, node
from tests.unit.engine.grouped import group, host, host_of_two_schedulers, members

from stowplan.config.feature_gates import GANG_SCHEDULING, TOPOLOGY_AWARE
from stowplan.framework import Explanation
from stowplan.insight.insight import Insight
from stowplan.insight.slices import run
from stowplan.insight.workloads import belongs_to, workload_reference


def explained(made: Any, name: str) -> Explanation:
    insight = Insight(made.engine, made.clock)
    before = sorted(made.engine.cluster.pods)
    found = run(insight.explain(insight.find(name).pod))
    assert sorted(made.engine.cluster.pods) == before
    return found


def test_the_member_that_does_not_fit_is_explained() -> None:
    made = host(node("n", cpu=3), node("m", cpu=2), group(min_count=3), *members(3, requests={"cpu": "2"}))
    made.schedule()
    start = "2 of 3 pending members of pod group g fit; 3 are needed. g-2 does not: "
    for name in ("g-0", "g-2"):
        found = explained(made, name)
        assert found.sentence == f"{start}Needs 2 CPU on one node; the best of 2 nodes has 1 free."
        assert found.because is not None
        facts = {"podGroup": "default/g", "members": 3, "fitting": 2, "minCount": 3, "missing": "default/g-2"}
        assert (found.because.id, found.because.facts) == ("pod-group", facts)
    assert explained(made, "g-0").message.startswith("pod group is unschedulable, waiting for minCount pods")


def test_members_with_a_node_count() -> None:
    made = host(node("n", cpu=2), group(min_count=1), *members(3))
    made.schedule()
    sentence = explained(made, "g-2").sentence
    assert sentence.startswith("0 of 1 pending members of pod group g fit, 2 have a node; 1 is needed. g-2 does not: ")


def test_the_best_domain_is_named() -> None:
    racks = [node("a", cpu=1, labels={"rack": "a"}), node("b", cpu=2, labels={"rack": "b"})]
    made = host(*racks, group(min_count=3, rack="rack"), *members(3), gates=(GANG_SCHEDULING, TOPOLOGY_AWARE))
    made.schedule()
    found = explained(made, "g-0")
    start = "2 of 3 pending members of pod group g fit in rack=b; 3 are needed. g-2 does not: "
    assert found.sentence == f"{start}Needs 1 CPU on one node; the only node has 0 free."
    assert [(each.left, each.rule) for each in found.steps] == [(2, ""), (1, "with rack=b"), (0, "with 1 CPU free")]
    # The nodes of the domain, without the change that another member leaves.
    assert [(each.node, [change.kind for change in each.changes]) for each in found.closest] == [("b", [])]


def test_a_topology_key_that_no_node_has() -> None:
    gates = (GANG_SCHEDULING, TOPOLOGY_AWARE)
    made = host(node("n"), group(min_count=2, rack="rack"), *members(2), gates=gates)
    made.schedule()
    start = "0 of 2 pending members of pod group g fit; 2 are needed."
    assert explained(made, "g-0").sentence == (
        f"{start} No node has the label rack, of which all members need one value."
    )


def test_a_gang_that_is_incomplete_is_gated() -> None:
    made = host(node("n"), group(min_count=3), *members(2))
    made.schedule()
    found = explained(made, "g-0")
    assert found.state == "gated"
    assert found.sentence == "Waits for 1 more member of pod group g: 2 of 3 (minCount) exist."


def test_a_member_whose_group_is_missing_is_gated() -> None:
    made = host(node("n"), *members(1))
    made.schedule()
    assert explained(made, "g-0").sentence == "Waits for PodGroup default/g, which does not exist."


def test_members_of_two_schedulers_are_named() -> None:
    made = host_of_two_schedulers(node("n"), group(min_count=2), *members(1), member("g-1", schedulerName="other"))
    made.schedule()
    for name in ("g-0", "g-1"):
        found = explained(made, name)
        assert found.sentence == (
            "Members of pod group g name different schedulers: default-scheduler and other. All have to name one."
        )
        assert found.message.endswith('got: "other" and "default-scheduler"')


def test_references_to_groups() -> None:
    made = host(node("n"), member("g-0"), member("other", "h"))
    reference = workload_reference("podgroup/g", "default")
    assert reference is not None
    assert [belongs_to(entry.pod, reference) for entry in made.engine.pending.values()] == [True, False]
