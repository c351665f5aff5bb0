"""Who selects whom: counts of selectors and of the pods that carry terms."""

from __future__ import annotations

import gc
from random import Random
from typing import Any

import pytest
from tests.builders import Json, pod, typed

from stowplan import api
from stowplan.api.selectors import EVERYTHING, NOTHING, Selector, SelectorRequirement, selector_from_map
from stowplan.cache import Clause, Cluster, PodClass, PodSelector
from stowplan.cache.selection import Terms, carried_terms, pod_terms
from stowplan.framework import Pod

A, B = selector_from_map({"app": "a"}), selector_from_map({"app": "b"})


def cluster() -> Cluster:
    made = Cluster()
    for name in ("n0", "n1", "n2"):
        made.put_node(api.Node(metadata=api.ObjectMeta(name=name)))
    return made


def pod_of(world: Cluster, name: str, labels: Json, namespace: str = "ns", on: str = "", **spec: Any) -> Pod:
    doomed = {"deletionTimestamp": "2024-01-01T00:00:00Z"} if "doomed" in name else {}
    return world.pod(typed(pod(name, on, namespace=namespace, labels=labels, uid=name, **doomed, **spec)))


def selecting(selector: Selector, *namespaces: str, **how: bool) -> PodSelector:
    clause = Clause(frozenset(namespaces) if namespaces else None, selector)
    return PodSelector((clause,), **({"terminating": True} | how))


SELECTORS = [
    selecting(A),
    selecting(A, "ns"),
    selecting(A, terminating=False),
    selecting(EVERYTHING, "ns", "other"),
    selecting(NOTHING),
    PodSelector((Clause(None, A), Clause(frozenset({"ns"}), EVERYTHING)), terminating=True),
    selecting(A, settled=False),
]


def expected(selector: PodSelector, pods: dict[str, Pod], host: str) -> int:
    if not selector.settled:
        return 0
    return sum(
        found.node_name == host
        and (selector.terminating or not found.terminating)
        and all(
            (clause.namespaces is None or found.namespace in clause.namespaces)
            and clause.selector.matches(found.labels)
            for clause in selector.clauses
        )
        for found in pods.values()
    )


@pytest.mark.parametrize("seed", range(40))
def test_counts_stay_right(seed: int) -> None:
    random = Random(seed)
    world, pods = cluster(), dict[str, Pod]()
    counts = {i: world.counts_for(selector) for i, selector in enumerate(SELECTORS) if random.random() < 0.5}
    for step in range(30):
        if pods and random.random() < 0.3:
            uid = random.choice(list(pods))
            del pods[uid]
            world.remove_pod(uid)
        else:
            name = f"{random.choice(['p', 'p', 'doomed'])}{step}"
            labels = {"app": random.choice("ab"), "rev": random.choice("12")}
            pods[name] = pod_of(
                world, name, labels, random.choice(["ns", "other", "third"]), random.choice(["n0", "n1", "n2"])
            )
            world.add_pod(pods[name])
    counts |= {i: world.counts_for(selector) for i, selector in enumerate(SELECTORS)}
    for i, selector in enumerate(SELECTORS):
        found = {info.name: counts[i].values[info.slot] for info in world.nodes}
        assert found == {name: expected(selector, pods, name) for name in found}, selector
        assert counts[i].total == sum(found.values())


def test_a_what_if_counts_terminating_pods_and_unsettled_selectors() -> None:
    world = cluster()
    doomed = pod_of(world, "doomed", {"app": "a"}, on="n0")
    world.add_pod(doomed)
    selectors = (selecting(A), selecting(A, terminating=False), selecting(A, terminating=False, settled=False))
    counts = [world.counts_for(selector) for selector in selectors]
    info = world.nodes.get("n0")
    assert info is not None
    assert [c.values[0] for c in counts] == [1, 0, 0]
    with world.what_if() as journal:
        journal.remove(doomed, info)
        assert [c.values[0] for c in counts] == [0, -1, -1]
    assert [c.values[0] for c in counts] == [1, 0, 0]


def test_counts_that_nobody_keeps_are_dropped_and_made_again() -> None:
    world = cluster()
    world.add_pod(pod_of(world, "p", {"app": "a"}, on="n0"))
    kept = world.counts_for(selecting(B))
    world.counts_for(selecting(A))
    gc.collect()
    world.add_pod(pod_of(world, "q", {"app": "a"}, on="n1"))
    world.add_pod(pod_of(world, "r", {"app": "b"}, on="n1"))
    pod_class = world.footprint(world.pods["q"].template).pod_class
    assert pod_class.selectors == []
    assert list(world.counts_for(selecting(A)).values)[:3] == [1, 1, 0]
    assert list(kept.values)[:3] == [0, 1, 0]


def test_equal_selectors_share_counts() -> None:
    world = cluster()
    assert world.counts_for(selecting(A, "x", "y")) is world.counts_for(selecting(A, "y", "x"))


def term(app: str, **more: Any) -> Json:
    return {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": app}}, **more}


def affinity(**sides: list[Json]) -> Json:
    """Terms by what they do: near, away, likes and loathes."""
    required, preferred = (f"{how}DuringSchedulingIgnoredDuringExecution" for how in ("required", "preferred"))
    near, away, likes, loathes = (sides.get(side, []) for side in ("near", "away", "likes", "loathes"))
    return {
        "podAffinity": {required: near, preferred: [{"weight": 3, "podAffinityTerm": t} for t in likes]},
        "podAntiAffinity": {required: away, preferred: [{"weight": 4, "podAffinityTerm": t} for t in loathes]},
    }


def carried(terms: Terms) -> list[tuple[bool, bool, int, float]]:
    return [
        (kind.required, kind.anti, kind.weight, counts.total)
        for kind, live in terms
        if (counts := live()) is not None and counts.total
    ]


def test_terms_meet_the_pods_that_they_match() -> None:
    world = cluster()
    early = world.footprint(pod_of(world, "early", {"app": "a"}).template).pod_class
    rules = affinity(near=[term("a")], away=[term("a"), term("b")], likes=[term("a")], loathes=[term("a")])
    world.add_pod(pod_of(world, "p", {}, on="n0", affinity=rules))
    late = world.footprint(pod_of(world, "late", {"app": "a", "rev": "1"}).template).pod_class
    for pod_class in (early, late):
        assert carried(pod_class.repelled_by) == [(True, True, 0, 1)]
        assert carried(pod_class.weighed_by) == [(True, False, 0, 1), (False, False, 3, 1), (False, True, -4, 1)]
    world.remove_pod("p")
    assert carried(early.repelled_by) == carried(early.weighed_by) == []


def test_terms_that_nobody_carries_any_more_are_forgotten() -> None:
    world = cluster()
    pod_class = world.footprint(pod_of(world, "meant", {"app": "a"}).template).pod_class
    world.add_pod(pod_of(world, "p", {}, on="n0", affinity=affinity(away=[term("a")])))
    version = pod_class.version
    world.remove_pod("p")
    gc.collect()
    world.add_pod(pod_of(world, "q", {}, on="n0", affinity=affinity(likes=[term("a")])))
    assert pod_class.repelled_by == []
    assert carried(pod_class.weighed_by) == [(False, False, 3, 1)]
    assert pod_class.version > version


def test_namespace_labels_decide_whom_a_running_pods_terms_match() -> None:
    world = cluster()
    rules = affinity(away=[term("a", namespaceSelector={"matchLabels": {"team": "x"}})])
    world.add_pod(pod_of(world, "p", {}, on="n0", affinity=rules))
    pod_class = world.footprint(pod_of(world, "meant", {"app": "a"}, "late").template).pod_class
    namespace = api.Namespace(metadata=api.ObjectMeta(name="late", labels={"team": "x"}))
    assert carried(pod_class.repelled_by) == []
    world.put(namespace)
    assert carried(pod_class.repelled_by) == [(True, True, 0, 1)]
    assert world.selection.namespaces_matching(selector_from_map({"team": "x"})) == {"late"}
    world.remove(namespace)
    assert carried(pod_class.repelled_by) == []


def test_one_malformed_term_spoils_its_list_only() -> None:
    world = cluster()
    bad = term("a", labelSelector={"matchExpressions": [{"key": "app", "operator": "Near"}]})
    rules = affinity(near=[term("a")], away=[term("a"), bad], likes=[bad], loathes=[term("b")])
    template = pod_of(world, "p", {}, affinity=rules).template
    terms = pod_terms(template)
    why = '"Near" is not a valid label selector operator'
    assert terms.errors == (f"requiredAntiAffinityTerms: {why}", f"preferredAffinityTerms: {why}")
    assert [(kind.required, kind.anti) for kind in carried_terms(template)] == [(True, False), (False, True)]


def test_many_terms_of_one_pod_are_added_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of terms are made anew when they have doubled, not with every term."""
    copied: list[int] = []
    meet = PodClass.meet
    monkeypatch.setattr(PodClass, "meet", lambda self, terms: copied.append(len(terms)) or meet(self, terms))
    world = cluster()
    many = [{**term("a"), "topologyKey": f"k{i}"} for i in range(500)]
    carrier = pod_of(world, "p", {"app": "a"}, on="n0", affinity=affinity(away=many))
    world.add_pod(carrier)
    pod_class = world.footprint(carrier.template).pod_class
    assert len(pod_class.repelled_by) == 500
    assert sum(copied) < 2000


def test_selectors_that_are_gone_are_swept_out_of_a_class() -> None:
    world = cluster()
    pod_class = world.footprint(pod_of(world, "p", {"app": "a"}).template).pod_class
    for i in range(200):
        absent = Selector((SelectorRequirement(f"k{i}", "DoesNotExist", ()),))
        world.counts_for(selecting(absent))
    assert len(pod_class.selectors) <= 32
