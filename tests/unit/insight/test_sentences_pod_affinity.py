"""Refusals by pod affinity and anti-affinity: sentences, facts, changes, and what is easily overlooked."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import HOSTNAME, ZONE, World, away, near, node, pod, term, weighted
from tests.builders.engine_host import Host

from stowplan.framework import CycleState, Explanation, Refusal
from stowplan.insight.closest import check
from stowplan.insight.explain import explain, run
from stowplan.insight.insight import Insight
from stowplan.insight.matrix import FilterMatrix
from stowplan.insight.sentences.pod_affinity import pending_matches

A = {"app": "a"}
OWNER = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "agent"}


def cluster(*pods: dict[str, Any]) -> World:
    return World([node("x1", zone="x"), node("x2", zone="x"), node("y1", zone="y")], pods)


def refusals(world: World, on: str, **spec: Any) -> list[Refusal]:
    info = world.cluster.nodes.get(on)
    assert info is not None
    return FilterMatrix(world.profile, world.pod(pod("new", **spec))).explain("InterPodAffinity", info)


def explained(world: World, **spec: Any) -> Explanation:
    return run(explain(world.profile, world.pod(pod("new", **spec))))


def texts(refusal: Refusal) -> list[str]:
    return [change.text for change in refusal.changes]


def test_one_node_far_from_the_pods_says_where_they_are() -> None:
    world = cluster(pod("p", "x1", labels=A), pod("q", "x2", labels=A))
    (refusal,) = refusals(world, "y1", affinity=near(term()))
    assert (refusal.id, refusal.lasting) == ("pod-affinity.unmet", False)
    assert refusal.text == "wants a pod with app=a in its zone; y has none (x 2)"
    assert refusal.rule == "app=a is in the zone"
    assert refusal.facts == {
        "topologyKey": ZONE,
        "selector": "app=a",
        "namespaces": ["default"],
        "domain": "y",
        "matching": 2,
        "domains": {"x": 2},
    }
    assert [(change.kind, change.text, change.effort) for change in refusal.changes] == [
        ("affinity", "prefer being near app=a instead of requiring it", 5),
        ("start", "1 pod with app=a in y", 7),
    ]


@pytest.mark.parametrize(
    ("on", "spec", "kinds"),
    [
        ("y1", {"affinity": near(term())}, {"affinity", "start"}),
        ("x2", {"affinity": away(term())}, {"affinity", "leave"}),
        ("x2", {"affinity": away(term(), preferred=[weighted(5, term(app="b"))])}, {"affinity", "leave"}),
        ("x2", {"labels": {"app": "kept-away"}}, {"leave"}),
    ],
)
def test_each_change_makes_the_node_feasible(on: str, spec: dict[str, Any], kinds: set[str]) -> None:
    world = cluster(
        pod("p", "x1", labels=A), pod("q", "x2", labels=A), pod("r", "x1", affinity=away(term(app="kept-away")))
    )
    new = world.pod(pod("new", **spec))
    info = world.cluster.nodes.get(on)
    assert info is not None
    (refusal,) = FilterMatrix(world.profile, new).explain("InterPodAffinity", info)
    assert {change.kind for change in refusal.changes} == kinds
    assert all(check(world.profile, new, info, (change,)) is None for change in refusal.changes)


def test_pods_without_a_match_dominate() -> None:
    answer = explained(cluster(), affinity=near(term(app="cache")))
    assert answer.sentence == "Wants to be near app=cache; no pod matches in namespace default."
    assert answer.verdict == "not-now"
    assert [proposal.change.text for proposal in answer.proposals] == [
        "prefer being near app=cache instead of requiring it"
    ]


def test_matching_pods_in_another_namespace_are_named() -> None:
    world = cluster(*(pod(f"p{number}", "x1", namespace="cache", labels=A) for number in range(3)))
    answer = explained(world, affinity=near(term()))
    assert answer.sentence == "Wants to be near app=a; no pod matches in namespace default."
    assert answer.more[0] == "3 pods match app=a in namespace cache."
    opened = {proposal.change.text: proposal.opens for proposal in answer.proposals}
    assert opened["namespaces: [cache]"] == 2


def test_one_match_in_another_namespace_is_singular() -> None:
    world = cluster(pod("p", "x1", namespace="cache", labels=A))
    (refusal,) = refusals(world, "x1", affinity=near(term()))
    assert refusal.notes == ("1 pod matches app=a in namespace cache.",)


def test_matching_pods_on_nodes_without_the_label_do_not_count() -> None:
    world = cluster(pod("p", "bare", labels=A))
    world.put_node(node("bare"))
    (refusal,) = refusals(world, "x1", affinity=near(term()))
    assert refusal.notes == (f"1 pod with app=a is on nodes without the label {ZONE}.",)
    (bare,) = refusals(world, "bare", affinity=near(term()))
    assert bare.text == f"has no label {ZONE}, by which it would have to be near app=a"


def test_one_pod_must_match_all_terms() -> None:
    world = cluster(pod("p", "x1", labels=A), pod("q", "x1", labels={"tier": "hot"}))
    hot = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"tier": "hot"}}}
    (refusal,) = refusals(world, "x1", affinity=near(term(), hot))
    assert refusal.text == "wants a pod with app=a and tier=hot in its zone; x has none"
    assert refusal.notes == (
        "One pod must match all 2 terms; there are 1 with app=a and 1 with tier=hot, none with all of them.",
    )
    answer = explained(world, affinity=near(term(), hot))
    assert "prefer being near app=a by zone instead of requiring it" in [each.change.text for each in answer.proposals]


def test_pods_that_wait_themselves_are_named() -> None:
    gated = [{"name": "wait"}]
    host = Host(node("n", zone="x"), pod("new", affinity=near(term())), pod("cache-0", labels=A, schedulingGates=gated))
    host.schedule()
    insight = Insight(host.engine, host.clock)
    answer = run(insight.explain(insight.find("new").pod))
    assert answer.sentence == "Wants to be near app=a; no pod matches in namespace default."
    assert answer.more[0] == "default/cache-0 matches, and has no node itself."


def test_many_pods_that_wait_themselves_are_counted() -> None:
    world = cluster()
    new = world.pod(pod("new", affinity=near(term())))
    waiting = [world.pod(pod(f"cache-{number}", labels=A)) for number in range(2)]
    assert pending_matches(new, [new, *waiting]) == (
        "2 pods match and have no node themselves, such as default/cache-0.",
    )
    assert pending_matches(new, [new]) == ()


def test_a_key_that_no_node_has() -> None:
    world = cluster(pod("p", "x1", labels=A))
    answer = explained(world, affinity=near(term("rack")))
    assert answer.sentence == "Wants to be near app=a by rack, a label that none of the 3 nodes that are left has."


def test_the_only_places_are_not_left() -> None:
    world = World(
        [node("x1", zone="x", labels={"pool": "other"}), node("y1", zone="y"), node("y2", zone="y")],
        [pod("p", "x1", labels=A)],
    )
    for name in ("y1", "y2"):
        world.put_node(node(name, zone="y", labels={"pool": "general"}))
    answer = explained(world, affinity=near(term()), nodeSelector={"pool": "general"})
    assert answer.sentence == (
        "Wants to be near app=a, and none of the 2 nodes that are left is in a zone with such a pod: that is x."
    )


def test_anti_affinity_of_the_pod_names_the_pod_that_is_there() -> None:
    world = cluster(pod("web-1", "x1", namespace="shop", labels=A))
    (refusal,) = refusals(world, "x1", namespace="shop", affinity=away(term(HOSTNAME)))
    assert (refusal.id, refusal.lasting) == ("anti-affinity.own", False)
    assert refusal.text == "must not share a node with app=a, and shop/web-1 is there"
    assert refusal.facts == {
        "topologyKey": HOSTNAME,
        "selector": "app=a",
        "domain": "x1",
        "count": 1,
        "pods": ["shop/web-1"],
    }
    assert [(change.kind, change.text, change.effort) for change in refusal.changes] == [
        ("affinity", "prefer being away from app=a instead of requiring it", 5),
        ("leave", "shop/web-1 leaves", 10),
    ]


def test_anti_affinity_by_zone_counts_the_pods_of_the_zone() -> None:
    world = cluster(pod("p", "x1", labels=A), pod("q", "x2", labels=A))
    (refusal,) = refusals(world, "x2", affinity=away(term()), priority=1)
    assert refusal.text == "must not share a zone with app=a, and 2 are in x, such as default/q"
    leave = refusal.changes[-1]
    assert (leave.on, leave.effort) == ("cluster", 5 + 2)
    assert {(each.pod, each.node) for each in leave.pods} == {("default/p", "x1"), ("default/q", "x2")}


def test_anti_affinity_of_the_pod_dominates() -> None:
    world = cluster(*(pod(f"web-{name}", name, labels=A) for name in ("x1", "x2", "y1")))
    answer = explained(world, affinity=away(term(HOSTNAME)))
    assert answer.sentence == ("Must not share a node with app=a, and such pods are on all 3 nodes that are left.")
    zones = explained(world, affinity=away(term()))
    assert zones.sentence == (
        "Must not share a zone with app=a, and such pods are in the zones of all 3 nodes that are left."
    )
    alone = World([node("n")], [pod("p", "n", labels=A)])
    assert explained(alone, affinity=away(term(HOSTNAME))).sentence == (
        "Must not share a node with app=a, and default/p is on the only node that is left."
    )


def test_anti_affinity_of_another_pod_names_it_and_its_workload() -> None:
    carrier = pod("agent-7", "x1", namespace="monitoring", owner=OWNER, affinity=away(term(namespaceSelector={})))
    world = cluster(carrier)
    (other,) = refusals(world, "x2", labels=A)
    assert (other.id, other.lasting) == ("anti-affinity.others", False)
    assert other.text == (
        "monitoring/agent-7 (DaemonSet/agent), in the same zone, must not share a zone with app=a: "
        "its rule, not this pod's"
    )
    assert other.facts == {
        "topologyKey": ZONE,
        "selector": "app=a",
        "domain": "x",
        "carrier": "monitoring/agent-7",
        "workload": "DaemonSet/agent",
        "node": "x1",
        "count": 1,
    }
    assert texts(other) == ["monitoring/agent-7 leaves"]
    (same,) = refusals(world, "x1", labels=A)
    assert same.text.startswith("monitoring/agent-7 (DaemonSet/agent), on the node, must not share a zone")


def test_anti_affinity_of_other_pods_dominates() -> None:
    carriers = [pod(f"agent-{name}", name, affinity=away(term(HOSTNAME))) for name in ("x1", "x2", "y1")]
    answer = explained(cluster(*carriers), labels=A)
    assert answer.sentence == (
        "All 3 nodes that are left have pods on them that keep this pod away by their rule, not this pod's: "
        "default/agent-x1 must not share a node with app=a."
    )
    alone = World([node("n")], [pod("agent", "n", affinity=away(term(HOSTNAME)))])
    assert explained(alone, labels=A).sentence == (
        "default/agent, on the only node that is left, must not share a node with app=a: not this pod's rule."
    )


def test_rules_of_both_directions_are_not_mixed_up() -> None:
    world = cluster(
        pod("agent", "x1", affinity=away(term(HOSTNAME))), pod("p", "x2", labels=A), pod("q", "y1", labels=A)
    )
    answer = explained(world, labels=A, affinity=away(term(HOSTNAME)))
    assert answer.sentence.startswith("None of the 3 nodes that are left may take it because of other pods; of x2: ")


def test_being_near_begins_the_sentence_about_amounts() -> None:
    world = World(
        [node("x1", zone="x", cpu="2"), node("y1", zone="y"), node("y2", zone="y")], [pod("p", "x1", labels=A)]
    )
    answer = explained(world, affinity=near(term()), requests={"cpu": "3"})
    assert answer.sentence == "Must go to x to be near app=a, and asks for 3 CPU; the only node has 2."
    assert answer.more[0] == "2 nodes have room, but no pod with app=a is in the same zone."
    assert answer.because is not None
    assert answer.because.forced_by is not None
    assert answer.because.forced_by.id == "pod-affinity.unmet"


def test_keeping_away_begins_the_sentence_about_amounts() -> None:
    world = World([node("x1", cpu="2"), node("y1"), node("y2")], [pod("p", "y1", labels=A), pod("q", "y2", labels=A)])
    answer = explained(world, affinity=away(term(HOSTNAME)), requests={"cpu": "3"})
    assert answer.sentence == "Must not share a node with app=a, and asks for 3 CPU; the only node has 2."
    assert answer.more[0] == (
        "2 nodes have room, but pods with app=a are there, and it must not share a node with them."
    )


def test_being_kept_away_begins_the_sentence_about_amounts() -> None:
    world = World([node("x1", cpu="2"), node("y1")], [pod("agent", "y1", affinity=away(term(HOSTNAME)))])
    answer = explained(world, labels=A, requests={"cpu": "3"})
    assert answer.sentence == (
        "Must not share a node with default/agent (its rule), and asks for 3 CPU; the only node has 2."
    )
    assert answer.more[0] == (
        "1 node has room, but default/agent must not share a node with app=a: that is not this pod's rule."
    )


def test_malformed_terms_reject_the_pod() -> None:
    bad = {"topologyKey": ZONE, "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Near"}]}}
    answer = explained(cluster(), affinity=near(bad))
    assert answer.because is not None
    assert answer.because.id == "pod-affinity.malformed"
    assert answer.sentence.startswith("Its pod affinity cannot be read: ")
    assert answer.verdict == "never"


def test_the_requirement_is_reported_for_every_node() -> None:
    world = cluster(pod("p", "x1", labels=A), pod("agent", "x2", affinity=away(term(HOSTNAME, app="b"))))
    new = world.pod(pod("new", labels={"app": "b"}, affinity={**near(term()), **away(term(HOSTNAME))}))
    matrix = FilterMatrix(world.profile, new)
    requirement = world.plugin("InterPodAffinity").requirement(matrix.state, new, world.cluster.nodes.get("x1"))
    assert requirement.wanted == "near app=a; away from app=a; no pod that keeps it away"
    assert requirement.there == "1 in the zone; 1 on the node; 0 there"


def test_the_score_is_the_pods_that_count() -> None:
    world = cluster(pod("p", "x1", labels=A), pod("q", "x2", labels=A), pod("r", "y1", affinity=near(term(app="n"))))
    affinity = near(preferred=[weighted(5, term())]) | away(preferred=[weighted(3, term(HOSTNAME))])
    new = world.pod(pod("new", labels={"app": "n"}, affinity=affinity))
    plugin, state = world.plugin("InterPodAffinity"), CycleState()
    plugin.pre_score(state, new, world.cluster.nodes.everything())
    words = [plugin.explain_score(state, new, world.cluster.nodes.get(name)) for name in ("x1", "y1")]
    assert words == [
        "2 pods with app=a in the zone, 1 pod with app=a on the node, to keep away from",
        "0 pods with app=a in the zone, 0 pods with app=a on the node, to keep away from, "
        "1 pod that wants to be near it",
    ]


def test_a_rule_that_the_pods_of_a_workload_share_is_the_pod_s_own() -> None:
    """Replicas that keep away from each other: it does not help if one of them gives up its rule."""
    apart = away(term(HOSTNAME))
    replicas = [pod(f"web-{name}", name, labels=A, affinity=apart) for name in ("x1", "x2", "y1")]
    world = cluster(*replicas)
    (refusal,) = refusals(world, "x1", labels=A, affinity=apart)
    assert refusal.id == "anti-affinity.own"
    assert texts(refusal) == ["default/web-x1 leaves"]
    answer = explained(world, labels=A, affinity=apart)
    assert answer.sentence == "Must not share a node with app=a, and such pods are on all 3 nodes that are left."
