"""InterPodAffinity against its definition, pod by pod, and against tables of known answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

import numpy as np
import pytest
from tests.builders import HOSTNAME, PREFERRED, REQUIRED, ZONE, Json, World, away, make, near, node, pod, term
from tests.builders.plugin_rig import PluginRig, queue_if
from tests.unit.plugins.definition_run import DefinitionRun

from stowplan import api
from stowplan.cache import AffinityTerm
from stowplan.config.releases import RELEASES
from stowplan.framework import Action, ClusterEvent, Code, CycleState, EventResource, QueueingHint, Status
from stowplan.plugins.inter_pod_affinity import InterPodAffinity

AFFINITY = "node(s) didn't match pod affinity rules"
ANTI = "node(s) didn't match pod anti-affinity rules"
EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"
NAMESPACES: dict[str, Json] = {"default": {"team": "x"}, "other": {"team": "y"}, "bare": {}}
OBJECTS = [make("Namespace", name, labels=labels) for name, labels in NAMESPACES.items()]


def rig_with(nodes: Iterable[Json] = (), pods: Iterable[Json] = (), **args: Any) -> PluginRig[InterPodAffinity]:
    return PluginRig(InterPodAffinity, nodes, pods, OBJECTS, **args)


# The definition, pod by pod, on plain JSON.


def matches(selector: Json | None, labels: Json) -> bool:
    if selector is None:
        return False
    return all(labels.get(k) == v for k, v in selector.get("matchLabels", {}).items()) and all(
        (labels.get(e["key"]) in e["values"]) == (e["operator"] == "In") for e in selector.get("matchExpressions", ())
    )


def term_matches(one: Json, carrier: Json, other: Json, incoming: bool) -> bool:
    """Whether a term of the carrier means the other pod; namespaces of a newcomer's term are listed beforehand."""
    names = set(one.get("namespaces", ()))
    by_label = one.get("namespaceSelector")
    if not names and by_label is None:
        names = {carrier["metadata"]["namespace"]}
    if incoming:
        names |= {name for name, labels in NAMESPACES.items() if matches(by_label, labels)}
    namespace = other["metadata"]["namespace"]
    asked = {} if incoming else NAMESPACES.get(namespace, {})
    return (namespace in names or matches(by_label, asked)) and matches(
        one.get("labelSelector"), other["metadata"]["labels"]
    )


def terms_of(item: Json, side: str, strength: str) -> list[Json]:
    found: list[Json] = item["spec"].get("affinity", {}).get(side, {}).get(strength, [])
    return found


class Definition:
    """What PreFilter would know, with AddPod and RemovePod on top."""

    def __init__(self, newcomer: Json, nodes: list[Json], pods: list[Json]) -> None:
        self.newcomer = newcomer
        self.near = terms_of(newcomer, "podAffinity", REQUIRED)
        self.away = terms_of(newcomer, "podAntiAffinity", REQUIRED)
        self.affinity: Counter[tuple[str, str]] = Counter()
        self.anti: Counter[tuple[str, str]] = Counter()
        self.existing: Counter[tuple[str, str]] = Counter()
        hosts = {host["metadata"]["name"]: host for host in nodes}
        for other in pods:
            self.shift(other, hosts[other["spec"]["nodeName"]], 1)

    @property
    def skips(self) -> bool:
        return not (self.near or self.away or +self.existing)

    def shift(self, other: Json, host: Json, amount: int) -> None:
        labels = host["metadata"]["labels"]

        def pairs(terms: Iterable[Json]) -> Iterator[tuple[str, str]]:
            yield from ((t["topologyKey"], labels[t["topologyKey"]]) for t in terms if t["topologyKey"] in labels)

        if self.near and all(term_matches(t, self.newcomer, other, True) for t in self.near):
            for pair in pairs(self.near):
                self.affinity[pair] += amount
        for pair in pairs(t for t in self.away if term_matches(t, self.newcomer, other, True)):
            self.anti[pair] += amount
        theirs = terms_of(other, "podAntiAffinity", REQUIRED)
        for pair in pairs(t for t in theirs if term_matches(t, other, self.newcomer, False)):
            self.existing[pair] += amount

    def verdict(self, host: Json) -> str:
        labels = host["metadata"]["labels"]
        if any(t["topologyKey"] not in labels for t in self.near):
            return AFFINITY
        if not all(self.affinity[t["topologyKey"], labels[t["topologyKey"]]] for t in self.near):
            itself = all(term_matches(t, self.newcomer, self.newcomer, True) for t in self.near)
            if +self.affinity or not itself:
                return AFFINITY
        if any(self.anti[t["topologyKey"], labels.get(t["topologyKey"], "")] for t in self.away):
            return ANTI
        if any(self.existing[pair] for pair in labels.items()):
            return EXISTING
        return ""


def defined_raw_scores(newcomer: Json, nodes: list[Json], pods: list[Json], hard: int) -> Counter[str] | None:
    hosts = {host["metadata"]["name"]: host["metadata"]["labels"] for host in nodes}
    pairs: dict[tuple[str, str], int] = {}
    for other in pods:
        found = [
            *(_signed(newcomer, other, True)),
            *(_signed(other, newcomer, False)),
            *(
                (hard, t["topologyKey"])
                for t in terms_of(other, "podAffinity", REQUIRED)
                if hard and term_matches(t, other, newcomer, False)
            ),
        ]
        labels = hosts[other["spec"]["nodeName"]]
        for weight, key in found:
            if key in labels:
                pairs[key, labels[key]] = pairs.get((key, labels[key]), 0) + weight
    if not pairs:
        return None
    return Counter({name: sum(pairs.get(pair, 0) for pair in labels.items()) for name, labels in hosts.items()})


def _signed(carrier: Json, other: Json, incoming: bool) -> Iterator[tuple[int, str]]:
    for sign, side in ((1, "podAffinity"), (-1, "podAntiAffinity")):
        for one in terms_of(carrier, side, PREFERRED):
            if term_matches(one["podAffinityTerm"], carrier, other, incoming):
                yield sign * one["weight"], one["podAffinityTerm"]["topologyKey"]


# Random clusters.


def random_nodes(random: Random) -> list[Json]:
    nodes = []
    for i in range(random.randint(1, 9)):
        labels = {ZONE: random.choice(["z1", "z2", "z3"])} if random.random() < 0.85 else {}
        labels |= {HOSTNAME: "shared" if random.random() < 0.1 else f"n{i}"} if random.random() < 0.9 else {}
        nodes.append(node(f"n{i}", hostname=False, labels=labels))
    return nodes


def random_term(random: Random) -> Json:
    selector: Json = {"matchLabels": {"app": random.choice("abc")}}
    if random.random() < 0.3:
        selector = random.choice([{}, {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["a"]}]}])
    found: Json = {"topologyKey": random.choice([ZONE, ZONE, HOSTNAME, "rack"])}
    found |= {"labelSelector": selector} if random.random() < 0.93 else {}
    found |= {"namespaces": random.sample(list(NAMESPACES), random.randint(1, 2))} if random.random() < 0.25 else {}
    if random.random() < 0.25:
        found["namespaceSelector"] = random.choice(
            [
                {},
                {"matchLabels": {"team": "y"}},
                {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["x"]}]},
            ]
        )
    return found


def random_affinity(random: Random, often: float) -> Json:
    affinity: Json = {}
    for side in ("podAffinity", "podAntiAffinity"):
        if random.random() < often:
            affinity[side] = {REQUIRED: [random_term(random) for _ in range(random.choice([0, 1, 1, 2]))]}
            affinity[side][PREFERRED] = [
                {"weight": random.randint(1, 9), "podAffinityTerm": random_term(random)}
                for _ in range(random.choice([0, 0, 1, 2]))
            ]
    return affinity


def random_pod(random: Random, name: str, on: str, often: float) -> Json:
    namespace = random.choice(["default", "default", "other", "bare"])
    labels = {"app": random.choice("abc")} if random.random() < 0.9 else {}
    item = pod(name, on, namespace=namespace, labels=labels, affinity=random_affinity(random, often))
    if on and random.random() < 0.1:
        item["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z"
    return item


def random_pods(random: Random, nodes: list[Json]) -> list[Json]:
    names = [host["metadata"]["name"] for host in nodes]
    return [random_pod(random, f"p{i}", random.choice(names), 0.2) for i in range(random.randint(0, 12))]


def random_run(random: Random, often: float) -> DefinitionRun:
    nodes = random_nodes(random)
    pods = random_pods(random, nodes)
    return DefinitionRun(rig_with(nodes, pods), nodes, pods, random_pod(random, "new", "", often), Definition)


@pytest.mark.parametrize("seed", range(120))
def test_filter_follows_the_definition(seed: int) -> None:
    run = random_run(Random(seed), 0.6)
    assert (run.rig.pre_filter(run.pending) is None) == run.definition().skips
    run.check()


@pytest.mark.parametrize("seed", range(120))
def test_filter_follows_what_ifs(seed: int) -> None:
    random = Random(seed)
    random_run(random, 0.8).check_what_if(random, lambda name, on: random_pod(random, name, on, 0.7))


@pytest.mark.parametrize("seed", range(40))
def test_filter_stays_right_as_the_cluster_changes_and_tokens_keep_their_promise(seed: int) -> None:
    random = Random(seed)
    run = random_run(random, 0.8)
    run.check_changes(random, lambda: random_nodes(random)[0], lambda name, on: random_pod(random, name, on, 0.4))


@pytest.mark.parametrize("seed", range(100))
def test_scores_follow_the_definition(seed: int) -> None:
    random = Random(seed)
    nodes = random_nodes(random)
    hard, own_only = random.choice([0, 1, 7]), random.random() < 0.3
    args = {"hardPodAffinityWeight": hard, "ignorePreferredTermsOfExistingPods": own_only}
    pods = random_pods(random, nodes)
    rig = rig_with(nodes, pods, **args)
    item = random_pod(random, "new", "", 0.6)
    raw = defined_raw_scores(item, nodes, pods, hard)
    if own_only and not any(terms_of(item, side, PREFERRED) for side in ("podAffinity", "podAntiAffinity")):
        raw = None
    names = [host["metadata"]["name"] for host in nodes]
    feasible = sorted(random.sample(names, random.randint(1, len(names))))
    found = rig.scores(rig.pod(item), feasible)
    if raw is None:
        assert found is None
        return
    least, greatest = min(raw[n] for n in feasible), max(raw[n] for n in feasible)
    span = greatest - least
    if found is None:
        assert span == 0, "it may be skipped only where it makes no difference"
    else:
        assert found == {n: (raw[n], int(100.0 * ((raw[n] - least) / span)) if span else 0) for n in feasible}


# Known answers.


@pytest.mark.parametrize(
    ("raw", "expected"),
    [([-5, 0, 5], [0, 50, 100]), ([4, 4], [0, 0]), ([1, 2, 4], [0, 33, 100]), ([0, 29, 100], [0, 28, 100])],
)
def test_normalising(raw: list[int], expected: list[int]) -> None:
    rig = rig_with([node(f"n{i}") for i in range(len(raw))])
    state, newcomer = CycleState(), rig.pod(pod("new"))
    nodes = rig.cluster.nodes.subset(np.arange(len(raw)))
    final = rig.plugin.normalize_nodes(state, newcomer, np.array(raw, dtype=np.int64), nodes)
    by_name = {f"n{i}": value for i, value in enumerate(raw)}
    rig.plugin.normalize_score(state, newcomer, by_name)
    assert final.tolist() == list(by_name.values()) == expected


def test_statuses_say_whether_preemption_may_help() -> None:
    nodes = [node("n1", zone="z1"), node("n2", zone="z2"), node("n3", zone="z3")]
    pods = [
        pod("p1", "n1", labels={"app": "b"}),
        pod("p2", "n2", labels={"app": "c"}, affinity=away(term(HOSTNAME, "new"))),
        pod("p3", "n2", labels={"app": "a"}),
        pod("p4", "n1", labels={"app": "a"}),
    ]
    rig = rig_with(nodes, pods)
    newcomer = rig.pod(pod("new", labels={"app": "new"}, affinity=near(term()) | away(term(HOSTNAME, "b"))))
    state = rig.pre_filter(newcomer)
    assert state is not None
    found = {info.name: rig.plugin.filter(state, newcomer, info) for info in rig.cluster.nodes}
    assert found == {
        "n1": Status(Code.Unschedulable, ANTI, plugin="InterPodAffinity"),
        "n2": Status(Code.Unschedulable, EXISTING, plugin="InterPodAffinity"),
        "n3": Status(Code.UnschedulableAndUnresolvable, AFFINITY, plugin="InterPodAffinity"),
    }


@pytest.mark.parametrize(
    ("terms", "there", "expected"),
    [
        ([term(app="new")], [], {"n1": "", "n2": "", "n3": AFFINITY}),
        ([term(app="a")], [], {"n1": AFFINITY, "n2": AFFINITY, "n3": AFFINITY}),
        ([term(app="new"), term(HOSTNAME, "a")], [], {"n1": AFFINITY, "n2": AFFINITY, "n3": AFFINITY}),
        ([term(app="new")], [pod("p", "n1", labels={"app": "new"})], {"n1": "", "n2": AFFINITY, "n3": AFFINITY}),
        ([term(app="new")], [pod("p", "n3", labels={"app": "new"})], {"n1": "", "n2": "", "n3": AFFINITY}),
    ],
)
def test_first_of_its_kind(terms: list[Json], there: list[Json], expected: dict[str, str]) -> None:
    nodes = [node("n1", zone="z1"), node("n2", zone="z2"), node("n3")]
    rig = rig_with(nodes, there)
    assert rig.reasons(rig.pod(pod("new", labels={"app": "new"}, affinity=near(*terms)))) == expected


def test_token_tells_that_the_first_of_its_kind_came() -> None:
    rig = rig_with([node("n1"), node("n2")])
    newcomer = rig.pod(pod("new", labels={"app": "new"}, affinity=near(term(HOSTNAME, "new"))))
    token = rig.plugin.filter_token(newcomer)
    rig.add_pod(pod("p", "n1", labels={"app": "new"}))
    assert rig.plugin.filter_token(newcomer) != token


def test_token_of_hostname_anti_affinity_survives_placements_and_what_ifs() -> None:
    rig = rig_with([node(f"n{i}", zone="z") for i in range(3)])
    newcomer = rig.pod(pod("new", labels={"app": "a"}, affinity=away(term(HOSTNAME), term(ZONE, "b"))))
    token = rig.plugin.filter_token(newcomer)
    rig.add_pod(pod("p", "n1", labels={"app": "a"}, affinity=away(term(HOSTNAME), term(ZONE, "b"))))
    renewed = rig.plugin.filter_token(newcomer)
    assert renewed == token, "own terms are known already, for the newcomer carries them itself"
    info = rig.cluster.nodes.get("n2")
    assert info is not None
    with rig.cluster.what_if() as journal:
        journal.add(rig.pod(pod("q", labels={"app": "b"})), info)
        assert rig.plugin.filter_token(newcomer) != token
    assert rig.plugin.filter_token(newcomer) == token


def test_namespaces_that_come_later_are_heard_of() -> None:
    rig = rig_with([node("n1", zone="z1")], [pod("p", "n1", namespace="late", labels={"app": "a"})])
    selected = away(term(namespaceSelector={"matchLabels": {"team": "z"}}))
    newcomer = rig.pod(pod("new", affinity=selected))
    assert rig.reasons(newcomer) == {"n1": ""}
    rig.cluster.put(api.Namespace(metadata=api.ObjectMeta(name="late", labels={"team": "z"})))
    assert rig.reasons(newcomer) == {"n1": ANTI}


def test_malformed_terms_reject_the_pod_and_matter_to_nobody_else() -> None:
    bad = {"matchExpressions": [{"key": "app", "operator": "Near"}]}
    broken = away(term(), term(labelSelector=bad)) | near(term(labelSelector=bad))
    rig = rig_with([node("n1", zone="z1")], [pod("p", "n1", affinity=broken)])
    newcomer = rig.pod(pod("new", labels={"app": "a"}, affinity=broken))
    status = rig.plugin.pre_filter(CycleState(), newcomer, rig.cluster.nodes.everything())
    why = '"Near" is not a valid label selector operator'
    assert status == Status(
        Code.UnschedulableAndUnresolvable,
        f"parsing pod: [requiredAffinityTerms: {why}, requiredAntiAffinityTerms: {why}]",
        plugin="InterPodAffinity",
    )
    assert rig.reasons(rig.pod(pod("plain", labels={"app": "a"}))) == {"n1": ""}


# Queueing hints.


def test_events() -> None:
    assert [registered.event for registered in rig_with().plugin.events_to_register()] == [
        ClusterEvent(EventResource.Pod, Action.Add | Action.Delete | Action.UpdatePodLabel),
        ClusterEvent(EventResource.Node, Action.Add | Action.UpdateNodeLabel),
    ]


A: Json = {"labels": {"app": "a"}}
B: Json = {"labels": {"app": "b"}}
AB: Json = {"labels": {"app": "a", "rev": "b"}}
BOTH = away(term(), term(labelSelector={"matchLabels": {"rev": "b"}}))


@pytest.mark.parametrize(
    ("affinity", "old", "new", "queued"),
    [
        (near(term()), None, pod("p", "n1", **A), True),
        (near(term()), None, pod("p", "n1", **B), False),
        (near(term()), None, pod("p", **A), False),
        (near(term()), None, pod("p", "n1", namespace="other", **A), False),
        (near(term(), term(app="b")), None, pod("p", "n1", **A), False),
        (near(term()), pod("p", "n1", **B), pod("p", "n1", **A), True),
        (near(term()), pod("p", "n1", **A), pod("p", "n1", **B), False),
        (near(term()), pod("p", "n1", **A), None, False),
        (away(term()), None, pod("p", "n1", **A), False),
        (away(term()), pod("p", "n1", **A), pod("p", "n1", **B), True),
        (away(term()), pod("p", "n1", **B), pod("p", "n1", **A), False),
        (away(term()), pod("p", "n1", **A), None, True),
        (away(term()), pod("p", "n1", **B), None, False),
        (BOTH, pod("p", "n1", **A), None, False),
        (BOTH, pod("p", "n1", **AB), None, True),
        ({}, pod("p", "n1", **B, affinity=away(term(app="new"))), None, True),
        ({}, pod("p", **B, affinity=away(term(app="new"))), None, False),
        ({}, pod("new", **A), pod("new", **B), True),
    ],
)
def test_hint_on_pods(affinity: Json, old: Json | None, new: Json | None, queued: bool) -> None:
    rig = rig_with()
    rejected = rig.pod(pod("new", labels={"app": "new"}, affinity=affinity))
    assert rig.hint(0, rejected, old, new) is queue_if(queued)


@pytest.mark.parametrize(
    ("affinity", "old", "new", "queued"),
    [
        (near(term()), None, pod("p", "n1", **A), True),
        (near(term()), None, pod("p", nominated="n1", **A), False),
        (away(term()), pod("p", "n1", **A), None, True),
        (BOTH, pod("p", "n1", **A), None, False),
        ({}, pod("p", "n1", **B, affinity=away(term(app="new"))), None, False),
        ({}, pod("new", **A), pod("new", **B), False),
    ],
)
@pytest.mark.parametrize("release", ["1.33", "1.34", "1.35"])
def test_hint_on_pods_before_1_36(
    release: str, affinity: Json, old: Json | None, new: Json | None, queued: bool
) -> None:
    rig = PluginRig(InterPodAffinity, release=RELEASES[release])
    rejected = rig.pod(pod("new", labels={"app": "new"}, affinity=affinity))
    assert rig.hint(0, rejected, old, new) is queue_if(queued)


@pytest.mark.parametrize(
    ("affinity", "old", "new", "queued"),
    [
        (near(term()), None, node("n", zone="z1"), True),
        (near(term()), None, node("n"), False),
        (near(term()), node("n"), node("n", zone="z1"), True),
        (near(term()), node("n", zone="z1"), node("n", zone="z2"), True),
        (near(term()), node("n", zone="z1"), node("n"), False),
        (near(term()), node("n", zone="z1"), node("n", zone="z1", labels={"more": "x"}), False),
        (away(term()), None, node("n"), True),
        (away(term()), node("n"), node("n", zone="z1"), False),
        (away(term()), node("n", zone="z1"), node("n", zone="z2"), True),
        (away(term()), node("n", zone="z1"), node("n"), True),
        ({}, None, node("n", zone="z1"), False),
    ],
)
def test_hint_on_nodes(affinity: Json, old: Json | None, new: Json, queued: bool) -> None:
    rig = rig_with()
    assert rig.hint(1, rig.pod(pod("new", affinity=affinity)), old, new) is queue_if(queued)


@pytest.mark.parametrize("old", [None, pod("p", "n1", **B)])
def test_hints_give_malformed_terms_another_chance(old: Json | None) -> None:
    rig = rig_with()
    bad = away(term(labelSelector={"matchExpressions": [{"key": "app", "operator": "Near"}]}))
    broken, sound = rig.pod(pod("new", affinity=bad)), rig.pod(pod("sound"))
    assert rig.hint(1, broken, None, api.Node()) is QueueingHint.Queue
    assert rig.hint(0, broken, old, pod("q", "n1")) is QueueingHint.Queue
    assert rig.hint(0, sound, pod("p", "n1", affinity=bad), None) is QueueingHint.Queue


def test_terms_on_keys_that_no_node_has_need_no_storage() -> None:
    world = World([node(f"n{i}", zone="z") for i in range(3)])
    terms = [term(f"k{i}", app="a") for i in range(100)]
    newcomer = world.pod(pod("p", labels={"app": "a"}, affinity=away(*terms)))
    assert world.decide(newcomer).node_name
    rules = world.plugin("InterPodAffinity")._filter_rules(newcomer.template)
    assert len({id(domains.column.array) for domains in rules.anti}) == 1
    assert len(world.cluster.nodes.labels) <= 2
    world.put_node(node("n3", labels={"k7": "v"}))
    world.add_pod(pod("q", "n3", labels={"app": "a"}))
    rejected = {info.name: bool(world.diagnosis(newcomer).status_of(info.slot)) for info in world.cluster.nodes}
    assert rejected == {"n0": False, "n1": False, "n2": False, "n3": True}


def test_a_term_that_leaves_no_node_is_the_last() -> None:
    world = World([node(f"n{i}", zone="z") for i in range(3)])
    newcomer = world.pod(pod("p", affinity=near(*(term(f"k{i}") for i in range(100)))))
    plugin, state = world.plugin("InterPodAffinity"), CycleState()
    nodes = world.cluster.nodes.everything()
    assert plugin.pre_filter(state, newcomer, nodes) is None
    assert len(list(plugin.filter_nodes(state, newcomer, nodes))) == 1


def test_hints_compare_no_more_terms_than_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each pod that is bound is compared with every waiting pod, of which some have thousands of terms."""
    compared = 0
    compare = AffinityTerm.matches

    def counted(self: AffinityTerm, *args: Any) -> bool:
        nonlocal compared
        compared += 1
        return compare(self, *args)

    rig = rig_with()
    waiting = rig.pod(pod("new", affinity=near(*(term(f"key-{number}") for number in range(100)))))
    monkeypatch.setattr(AffinityTerm, "matches", counted)
    assert rig.hint(0, waiting, None, pod("q", "n1", labels={"app": "other"})) is QueueingHint.QueueSkip
    assert compared == 1
