"""Refusals by topology spread constraints: sentences, facts, changes, and what is easily overlooked."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import ZONE, World, expressions, node, node_affinity, pod, profile_config, spread

from stowplan.framework import CycleState, Explanation, Refusal
from stowplan.insight.closest import check
from stowplan.insight.explain import explain, run
from stowplan.insight.matrix import FilterMatrix
from stowplan.plugins.base import MAX_EXPLAINED_RULES

A = {"app": "a"}


def zones(counts: dict[str, int], *, cpu: str = "4", **of_node: Any) -> World:
    """One node in each zone, with so many matching pods."""
    world = World([node(f"n-{zone}", zone=zone, cpu=cpu, **of_node) for zone in counts])
    for zone, count in counts.items():
        for number in range(count):
            world.add_pod(pod(f"{zone}-{number}", f"n-{zone}", labels=A))
    return world


def refusals(world: World, on: str, **spec: Any) -> list[Refusal]:
    spec.setdefault("labels", A)
    matrix = FilterMatrix(world.profile, world.pod(pod("new", **spec)))
    info = world.cluster.nodes.get(on)
    assert info is not None
    return matrix.explain("PodTopologySpread", info)


def explained(world: World, **spec: Any) -> Explanation:
    spec.setdefault("labels", A)
    return run(explain(world.profile, world.pod(pod("new", **spec))))


def texts(refusal: Refusal) -> list[str]:
    return [change.text for change in refusal.changes]


def test_one_node_says_counts_difference_and_max_skew() -> None:
    (refusal,) = refusals(zones({"x": 1, "y": 4}), "n-y", topologySpreadConstraints=[spread()])
    assert refusal.id == "spread.skew"
    assert refusal.text == "y has 4 pods with app=a, x 1; one more would make the difference 4, and maxSkew allows 1"
    assert (refusal.wanted, refusal.there) == ("difference at most 1", "4 + 1 - 1 = 4")
    assert refusal.rule == "zone may take one more app=a"
    assert not refusal.lasting
    assert refusal.facts == {
        "topologyKey": ZONE,
        "selector": "app=a",
        "domain": "y",
        "count": 4,
        "self": 1,
        "min": 1,
        "maxSkew": 1,
        "domains": {"x": 1, "y": 4},
        "emptiest": ["x"],
    }


def test_changes_of_the_constraint_pods_that_start_and_pods_that_leave() -> None:
    (refusal,) = refusals(zones({"x": 1, "y": 4}), "n-y", topologySpreadConstraints=[spread()])
    assert texts(refusal) == [
        "maxSkew: 4",
        "whenUnsatisfiable: ScheduleAnyway",
        "3 more pods with app=a in x",
        "default/y-0 and 2 more leave",
    ]
    skew, soft, start, leave = refusal.changes
    assert (skew.kind, skew.on, int(skew.effort)) == ("spread", "pod", 4)
    assert [(each.path, each.value) for each in skew.patch] == [("/spec/topologySpreadConstraints/0/maxSkew", 4)]
    assert (soft.kind, int(soft.effort)) == ("spread", 4)
    assert (start.kind, start.on, start.effort) == ("start", "cluster", 9)
    assert [(each.number, each.labels, each.domain) for each in start.starts] == [(3, A, "x")]
    assert (leave.kind, leave.effort, len(leave.pods)) == ("leave", 12, 3)


def test_pods_of_lower_priority_leave_with_less_effort() -> None:
    world = zones({"x": 0, "y": 2})
    (refusal,) = refusals(world, "n-y", topologySpreadConstraints=[spread()], priority=5)
    (leave,) = [change for change in refusal.changes if change.kind == "leave"]
    assert leave.effort == 5 + 2
    world.put("PodDisruptionBudget", name="budget", namespace="default", spec={"selector": {"matchLabels": A}})
    (refusal,) = refusals(world, "n-y", topologySpreadConstraints=[spread()], priority=5)
    (leave,) = [change for change in refusal.changes if change.kind == "leave"]
    assert leave.effort == 5 + 2 + 3 * 2


def test_several_emptiest_zones_are_listed_and_many_are_counted() -> None:
    (few,) = refusals(zones({"w": 0, "x": 0, "y": 2}), "n-y", topologySpreadConstraints=[spread()])
    assert few.text.startswith("y has 2 pods with app=a, w and x 0; ")
    assert "2 more pods with app=a: 1 in w and 1 in x" not in texts(few)
    assert "4 more pods with app=a: 2 in w and 2 in x" in texts(few)
    many = zones({"s": 0, "t": 0, "u": 0, "v": 0, "y": 2})
    (refusal,) = refusals(many, "n-y", topologySpreadConstraints=[spread()])
    assert refusal.text.startswith("y has 2 pods with app=a, the emptiest zone 0; ")
    assert not [change for change in refusal.changes if change.kind == "start"]


def test_a_node_without_the_topology_label_never_fits() -> None:
    world = zones({"x": 0, "y": 1})
    world.put_node(node("bare"))
    (refusal,) = refusals(world, "bare", topologySpreadConstraints=[spread()])
    assert (refusal.id, refusal.lasting) == ("spread.no-label", True)
    assert refusal.text == f"has no label {ZONE}, which the constraint spreads over"
    assert texts(refusal) == [f"label the node {ZONE}=x", "whenUnsatisfiable: ScheduleAnyway"]
    label = refusal.changes[0]
    assert (label.on, label.node, label.effort) == ("node", "bare", 3)
    assert label.patch[0].path == "/metadata/labels/topology.kubernetes.io~1zone"


def test_a_cordoned_emptiest_zone_still_counts() -> None:
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    world = zones({"x": 3, "y": 3})
    for name in ("d1", "d2"):
        world.put_node(node(name, zone="d", unschedulable=True, taints=[taint]))
    answer = explained(world, topologySpreadConstraints=[spread()])
    assert answer.because is not None
    assert (answer.because.id, answer.because.facts["unusable"]) == ("spread.skew", ["d"])
    assert answer.sentence == (
        "Must keep zones even, and none of the 2 nodes that are left may take it: "
        "x has 3 pods with app=a, d 0; one more would make the difference 4, and maxSkew allows 1."
    )
    assert answer.more[0] == (
        "d counts as a zone with 0 pods, although its 2 nodes are cordoned; "
        "with nodeTaintsPolicy: Honor it would not count."
    )
    proposals = {proposal.change.text: proposal.opens for proposal in answer.proposals}
    assert proposals["nodeTaintsPolicy: Honor"] == 2


def test_a_cordoned_zone_without_the_taint_is_not_cured_by_the_policy() -> None:
    world = zones({"x": 3, "y": 3})
    world.put_node(node("d1", zone="d", unschedulable=True))
    (refusal,) = refusals(world, "n-x", topologySpreadConstraints=[spread()])
    assert refusal.notes == ("d counts as a zone with 0 pods, although its only node is cordoned.",)
    assert "nodeTaintsPolicy: Honor" not in texts(refusal)


def test_a_tainted_emptiest_zone_still_counts() -> None:
    world = zones({"x": 3, "y": 3})
    world.put_node(node("d1", zone="d", taints=[{"key": "gpu", "effect": "NoSchedule"}]))
    (refusal,) = refusals(world, "n-x", topologySpreadConstraints=[spread()])
    assert refusal.notes == (
        "d counts as a zone with 0 pods, although its only node has a taint that it does not tolerate; "
        "with nodeTaintsPolicy: Honor it would not count.",
    )
    assert not [change for change in refusal.changes if change.kind == "start"]


def test_a_zone_outside_the_node_affinity_counts_under_the_policy_ignore() -> None:
    world = zones({"x": 3, "y": 3}, labels={"pool": "general"})
    world.put_node(node("d1", zone="d", labels={"pool": "other"}))
    constraint = spread(nodeAffinityPolicy="Ignore")
    (refusal,) = refusals(world, "n-x", topologySpreadConstraints=[constraint], nodeSelector={"pool": "general"})
    assert refusal.notes == (
        "d counts as a zone with 0 pods, although its only node does not match its node affinity; "
        "with nodeAffinityPolicy: Honor it would not count.",
    )
    answer = explained(world, topologySpreadConstraints=[constraint], nodeSelector={"pool": "general"})
    assert "nodeAffinityPolicy: Honor" in [proposal.change.text for proposal in answer.proposals]


def test_a_zone_that_can_be_used_is_no_ghost() -> None:
    world = zones({"x": 3, "y": 3, "d": 0})
    world.put_node(node("d2", zone="d", unschedulable=True))
    (refusal,) = refusals(world, "n-x", topologySpreadConstraints=[spread()])
    assert refusal.notes == ()
    assert "unusable" not in refusal.facts


def test_pods_of_another_replica_set_count() -> None:
    world = zones({"x": 0})
    world.put_node(node("n-y", zone="y"))
    for number in range(3):
        world.add_pod(pod(f"old-{number}", "n-y", labels={**A, "pod-template-hash": "old"}))
    world.add_pod(pod("new-0", "n-y", labels={**A, "pod-template-hash": "new"}))
    labels = {**A, "pod-template-hash": "new"}
    (refusal,) = refusals(world, "n-y", labels=labels, topologySpreadConstraints=[spread(skew=2)])
    assert refusal.notes == (
        "3 of the 4 in y are of another ReplicaSet; with matchLabelKeys: [pod-template-hash] they would not count.",
    )
    assert refusal.facts["otherReplicaSets"] == 3
    assert "matchLabelKeys: [pod-template-hash]" in texts(refusal)
    answer = explained(world, labels=labels, topologySpreadConstraints=[spread(skew=2)], requests={"cpu": "5"})
    assert answer.because is not None
    assert answer.because.id == "resources.too-small"
    selected = {"key": "pod-template-hash", "operator": "In", "values": ["new"]}
    constraint = spread(matchLabelKeys=["pod-template-hash"]) | {"labelSelector": {"matchExpressions": [selected]}}
    (alone,) = refusals(world, "n-y", labels=labels, topologySpreadConstraints=[constraint])
    assert alone.notes == ()


def test_the_change_to_match_label_keys_is_checked() -> None:
    world = World([node("n-x", zone="x", cpu="1"), node("n-y", zone="y")])
    for number in range(3):
        world.add_pod(pod(f"old-{number}", "n-y", labels={**A, "pod-template-hash": "old"}))
    labels = {**A, "pod-template-hash": "new"}
    answer = explained(world, labels=labels, topologySpreadConstraints=[spread()], requests={"cpu": "2"})
    opened = {proposal.change.text: (proposal.opens, proposal.best) for proposal in answer.proposals}
    assert opened["matchLabelKeys: [pod-template-hash]"] == (1, "n-y")


def test_too_few_domains_make_the_emptiest_count_as_zero() -> None:
    world = zones({"x": 3, "y": 2})
    (refusal,) = refusals(world, "n-y", topologySpreadConstraints=[spread(minDomains=3)])
    assert refusal.text == (
        "y has 2 pods with app=a; there are 2 zones and minDomains is 3, so the emptiest counts as 0; "
        "one more would make the difference 3, and maxSkew allows 1"
    )
    assert refusal.facts["minDomains"] == 3
    assert {"maxSkew: 3", "minDomains: 2"} <= set(texts(refusal))
    answer = explained(world, topologySpreadConstraints=[spread(minDomains=3)])
    opened = {proposal.change.text: proposal.opens for proposal in answer.proposals}
    assert opened["minDomains: 2"] == 1


def test_a_pod_that_its_selector_does_not_match_is_not_among_the_spread_ones() -> None:
    (refusal,) = refusals(zones({"x": 0, "y": 2}), "n-y", labels={}, topologySpreadConstraints=[spread()])
    assert refusal.text == "y has 2 pods with app=a, x 0; the difference is 2, and maxSkew allows 1"
    assert refusal.there == "2 - 0 = 2"
    assert refusal.notes == ("The pod itself does not match app=a: it is not among the pods that it spreads.",)


def test_pods_on_nodes_outside_the_node_affinity_do_not_count() -> None:
    world = zones({"x": 0, "y": 2}, labels={"pool": "general"})
    world.put_node(node("other", zone="y", labels={"pool": "other"}))
    for number in range(3):
        world.add_pod(pod(f"other-{number}", "other", labels=A))
    affinity = node_affinity(expressions("pool", "In", "general"))
    (refusal,) = refusals(world, "n-y", topologySpreadConstraints=[spread()], affinity=affinity)
    assert refusal.notes == ("2 of the 5 pods with app=a in y count: the others are on nodes that it may not use.",)


def test_default_constraints_are_named_as_the_configurations() -> None:
    constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    args = {"defaultConstraints": [constraint], "defaultingType": "List"}
    world = World(
        [node("n-x", zone="x"), node("n-y", zone="y")],
        [pod(f"p-{number}", "n-y", labels=A) for number in range(2)],
        config=profile_config(args={"PodTopologySpread": args}),
    )
    world.put("Service", name="s", namespace="default", spec={"selector": A})
    (refusal,) = refusals(world, "n-y")
    assert refusal.facts["default"] is True
    assert refusal.notes == ("The constraint over zones is a default of the configuration, not the pod's.",)
    assert not [change for change in refusal.changes if change.on == "pod"]


@pytest.mark.parametrize("kind", ["spread", "start", "leave"])
def test_each_change_makes_the_node_feasible(kind: str) -> None:
    world = World(
        [node("n-x", zone="x"), node("n-y1", zone="y"), node("n-y2", zone="y")],
        [pod("p", "n-y1", labels=A), pod("q", "n-y2", labels=A), pod("r", "n-x", labels=A), pod("s", "n-y1", labels=A)],
    )
    new = world.pod(pod("new", labels=A, topologySpreadConstraints=[spread()]))
    info = world.cluster.nodes.get("n-y2")
    assert info is not None
    (refusal,) = FilterMatrix(world.profile, new).explain("PodTopologySpread", info)
    changes = [change for change in refusal.changes if change.kind == kind]
    assert changes
    assert check(world.profile, new, info, ()) is not None
    assert all(check(world.profile, new, info, (change,)) is None for change in changes)


def test_two_constraints_are_told_apart() -> None:
    world = zones({"x": 0, "y": 2})
    constraints = [spread(), spread("kubernetes.io/hostname", skew=2, hard=False), spread("kubernetes.io/hostname")]
    first, second = refusals(world, "n-y", topologySpreadConstraints=constraints)
    assert "maxSkew: 3 for zones" in texts(first)
    assert "maxSkew: 3 for nodes" in texts(second)
    (patch,) = next(change for change in second.changes if change.text == "maxSkew: 3 for nodes").patch
    assert patch.path == "/spec/topologySpreadConstraints/2/maxSkew"
    assert second.text.startswith("n-y has 2 pods with app=a, n-x 0; ")


def test_a_key_that_no_node_has_dominates() -> None:
    world = World([node("n1"), node("n2")])
    answer = explained(world, topologySpreadConstraints=[spread("rack")])
    assert answer.sentence == "Spreads over rack, a label that none of the 2 nodes that are left has."
    assert answer.verdict == "never"
    alone = explained(World([node("n1")]), topologySpreadConstraints=[spread("rack")])
    assert alone.sentence == "Spreads over rack, a label that the only node that is left does not have."


def test_spreading_begins_the_sentence_about_amounts() -> None:
    world = World(
        [node("x1", zone="x", cpu="2"), *(node(f"{zone}{n}", zone=zone) for zone in "yz" for n in range(2))],
        [pod(f"{zone}-{n}", f"{zone}0", labels=A) for zone in "yz" for n in range(2)],
    )
    answer = explained(world, topologySpreadConstraints=[spread()], requests={"cpu": "3"})
    assert answer.sentence == "Must go to x to keep zones even, and asks for 3 CPU; the only node has 2."
    assert answer.more[0] == (
        "4 nodes of y and z have room, but those zones hold 2 more pods with app=a than x, and maxSkew allows 1."
    )
    assert answer.because is not None
    assert answer.because.forced_by is not None
    assert (answer.because.forced_by.id, answer.because.forced_by.plugin) == ("spread.skew", "PodTopologySpread")
    assert answer.because.forced_by.facts["domains"] == {"x": 0, "y": 2, "z": 2}


def test_the_second_sentence_says_what_one_more_pod_would_do() -> None:
    world = World(
        [node("x1", zone="x", cpu="2"), node("y1", zone="y"), node("z1", zone="z")],
        [pod("p", "y1", labels=A), pod("q", "z1", labels=A), pod("r", "z1", labels=A)],
    )
    answer = explained(world, topologySpreadConstraints=[spread()], requests={"cpu": "3"})
    assert answer.more[0] == (
        "2 nodes of y and z have room, but those zones hold 1 to 2 more pods with app=a than x, "
        "one more would make the difference 2, and maxSkew allows 1."
    )


@pytest.mark.parametrize(
    ("on", "there"), [("n-x", "1 + 1 - 1 = 1"), ("n-y", "4 + 1 - 1 = 4"), ("bare", f"no label {ZONE}")]
)
def test_the_requirement_is_reported_for_every_node(on: str, there: str) -> None:
    world = zones({"x": 1, "y": 4})
    world.put_node(node("bare"))
    new = world.pod(pod("new", labels=A, topologySpreadConstraints=[spread()]))
    matrix = FilterMatrix(world.profile, new)
    info = world.cluster.nodes.get(on)
    requirement = world.plugin("PodTopologySpread").requirement(matrix.state, new, info)
    assert (requirement.wanted, requirement.there) == ("difference at most 1", there)


def test_the_score_is_the_number_of_pods() -> None:
    world = zones({"x": 1, "y": 4})
    constraints = [spread(hard=False), spread("kubernetes.io/hostname", hard=False)]
    new = world.pod(pod("new", labels=A, topologySpreadConstraints=constraints))
    plugin, state = world.plugin("PodTopologySpread"), CycleState()
    plugin.pre_score(state, new, world.cluster.nodes.everything())
    info = world.cluster.nodes.get("n-y")
    assert plugin.explain_score(state, new, info) == "4 pods in the zone, 4 pods on the node"


def test_of_very_many_constraints_some_are_explained() -> None:
    world = World([node("a", hostname=False)])
    many = [spread(f"key-{number}") for number in range(40)]
    answer = run(explain(world.profile, world.pod(pod("new", topologySpreadConstraints=many))))
    assert answer.verdict == "never"
    assert len(answer.closest[0].refusals if answer.closest else ()) <= MAX_EXPLAINED_RULES
    matrix = FilterMatrix(world.profile, world.pod(pod("new", topologySpreadConstraints=many)))
    info = world.cluster.nodes.get("a")
    assert info is not None
    assert len(matrix.explain("PodTopologySpread", info)) == MAX_EXPLAINED_RULES
