"""PodTopologySpread against its definition, pod by pod, and against tables of known answers."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.unit.plugins.spread_definition import HOST, SKEWED, UNLABELED, Definition, Json, defined_scores

from stowplan import api
from stowplan.cache import Cluster
from stowplan.config.args import PodTopologySpreadArgs
from stowplan.framework import Action, ClusterEvent, Code, CycleState, EventResource, Pod, QueueingHint, Status
from stowplan.plugins.pod_topology_spread import PodTopologySpread

ZONE = "topology.kubernetes.io/zone"


def node(
    name: str, zone: str | None = None, *, host: str | None = "", taints: Iterable[Json] = (), **labels: str
) -> Json:
    labels |= {} if zone is None else {ZONE: zone}
    labels |= {} if host is None else {HOST: host or name}
    return {"metadata": {"name": name, "labels": labels}, "spec": {"taints": list(taints)}}


def pod(name: str, on: str = "", *, namespace: str = "ns", labels: Json | None = None, **spec: Any) -> Json:
    metadata = {"name": name, "namespace": namespace, "uid": f"{namespace}/{name}", "labels": labels or {}}
    return {"metadata": metadata, "spec": {"nodeName": on, **spec}}


def constraint(key: str = ZONE, skew: int = 1, hard: bool = True, app: str | None = "a", **more: Any) -> Json:
    selector = {} if app is None else {"labelSelector": {"matchLabels": {"app": app}}}
    action = "DoNotSchedule" if hard else "ScheduleAnyway"
    return {"topologyKey": key, "maxSkew": skew, "whenUnsatisfiable": action, **selector, **more}


GONE = node("gone", "z1", disk="ssd")
"""A node that came and went, and left an empty slot."""


class World:
    """A cluster, the plugin on it, and the JSON it was made from."""

    def __init__(self, nodes: list[Json], pods: Iterable[Json] = (), objects: Iterable[Any] = (), **args: Any) -> None:
        self.nodes, self.pods = nodes, list(pods)
        self.cluster = Cluster()
        for item in (*nodes, GONE):
            self.cluster.put_node(msgspec.convert(item, api.Node))
        for item in self.pods:
            self.cluster.add_pod(self.pod(item))
        self.cluster.remove_node("gone")
        for thing in objects:
            self.cluster.put(thing)
        settings = msgspec.convert(args, PodTopologySpreadArgs)
        self.plugin = PodTopologySpread(settings, SimpleNamespace(cluster=self.cluster))

    def pod(self, item: Json) -> Pod:
        return self.cluster.pod(msgspec.convert(item, api.Pod))

    def pre_filter(self, newcomer: Pod) -> CycleState | None:
        state = CycleState()
        status = self.plugin.pre_filter(state, newcomer, self.cluster.nodes.everything())
        assert status is None or status.code == Code.Skip
        return state if status is None else None

    def verdicts(self, newcomer: Pod) -> dict[str, str]:
        """Reasons by node, from both forms, which must agree."""
        state = self.pre_filter(newcomer)
        if state is None:
            return {info.name: "" for info in self.cluster.nodes}
        nodes = self.cluster.nodes.everything()
        vector: dict[str, str] = {info.name: "" for _, info in nodes.infos()}
        for mask, status in self.plugin.filter_nodes(state, newcomer, nodes):
            for position, info in nodes.infos():
                if mask[position]:
                    assert vector[info.name] == "", "masks must not overlap"
                    vector[info.name] = status.message
        passing = self.plugin.passing_nodes(state, newcomer, nodes)
        assert {info.name: not passing[i] for i, info in nodes.infos()} == {n: bool(v) for n, v in vector.items()}
        scalar = {info.name: _reason(self.plugin.filter(state, newcomer, info)) for info in self.cluster.nodes}
        assert scalar == vector
        return scalar

    def scores(self, newcomer: Pod, feasible: list[str], as_slice: bool = False) -> dict[str, tuple[int, int]] | None:
        """(raw, final) by node, from both forms, which must agree."""
        table = self.cluster.nodes
        slots = np.array(sorted(table.slot_of[name] for name in feasible), dtype=np.intp)
        nodes = table.subset(slots)
        if as_slice:
            nodes = table.everything()
            nodes = type(nodes)(nodes.index, nodes.count, table.infos, np.setdiff1d(np.arange(nodes.count), slots))
        state = CycleState()
        status = self.plugin.pre_score(state, newcomer, nodes)
        if status is not None:
            assert status.code == Code.Skip
            return None
        raw = self.plugin.score_nodes(state, newcomer, nodes)
        positions = {info.name: position for position, info in nodes.infos()}
        one_by_one = {info.name: self.plugin.score(state, newcomer, info) for _, info in nodes.infos()}
        assert one_by_one == {name: raw[position] for name, position in positions.items()}
        before = dict(one_by_one)
        final = self.plugin.normalize_nodes(state, newcomer, raw, nodes)
        self.plugin.normalize_score(state, newcomer, one_by_one)
        assert one_by_one == {name: final[position] for name, position in positions.items()}
        return {name: (before[name], one_by_one[name]) for name in feasible}


def _reason(status: Status | None) -> str:
    return "" if status is None else status.message


# Random clusters.


def random_nodes(random: Random) -> list[Json]:
    nodes = []
    for i in range(random.randint(1, 12)):
        zone = random.choice(["z1", "z2", "z3", "", None]) if random.random() < 0.5 else f"z{i % 3}"
        host = random.choice(["", "", "", "", "shared", None])
        taints = [{"key": "t", "effect": "NoSchedule"}] if random.random() < 0.2 else []
        nodes.append(node(f"n{i}", zone, host=host, taints=taints, disk=random.choice(["ssd", "hdd"])))
    return nodes


def random_labels(random: Random) -> Json:
    return {"app": random.choice("aab"), **({"rev": random.choice("12")} if random.random() < 0.6 else {})}


def random_pods(random: Random, nodes: list[Json]) -> list[Json]:
    pods = []
    for i in range(random.randint(0, 30)):
        on = random.choice([n["metadata"]["name"] for n in nodes])
        item = pod(f"p{i}", on, namespace=random.choice(["ns", "ns", "other"]), labels=random_labels(random))
        if random.random() < 0.15:
            item["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z"
        pods.append(item)
    return pods


def random_newcomer(random: Random, hard: bool | None = None) -> Json:
    rules = []
    for _ in range(random.randint(1, 3)):
        key = random.choice([ZONE, HOST, "disk"])
        wanted = random.choice(["a", "a", "b", None, "everything", "set"])
        rule = constraint(key, random.randint(1, 3), random.random() < 0.7 if hard is None else hard, app=None)
        if wanted == "everything":
            rule["labelSelector"] = {}
        elif wanted == "set":
            rule["labelSelector"] = {"matchExpressions": [{"key": "rev", "operator": "NotIn", "values": ["1"]}]}
        elif wanted is not None:
            rule["labelSelector"] = {"matchLabels": {"app": wanted}}
        rule |= {"minDomains": random.randint(1, 4)} if random.random() < 0.3 else {}
        rule |= {"nodeAffinityPolicy": random.choice(["Honor", "Ignore"])} if random.random() < 0.4 else {}
        rule |= {"nodeTaintsPolicy": random.choice(["Honor", "Ignore"])} if random.random() < 0.4 else {}
        rule |= {"matchLabelKeys": ["rev"]} if random.random() < 0.3 else {}
        rules.append(rule)
    spec: Json = {"topologySpreadConstraints": rules}
    if random.random() < 0.3:
        spec["nodeSelector"] = {"disk": "ssd"}
    if random.random() < 0.3:
        spec["tolerations"] = [{"key": "t", "operator": "Exists"}]
    return pod("new", labels=random_labels(random), **spec)


@pytest.mark.parametrize("seed", range(100))
def test_filter_follows_the_definition(seed: int) -> None:
    random = Random(seed)
    nodes = random_nodes(random)
    world = World(nodes, random_pods(random, nodes))
    item = random_newcomer(random)
    definition = Definition(item, nodes, world.pods)
    newcomer = world.pod(item)
    assert world.verdicts(newcomer) == {host["metadata"]["name"]: definition.verdict(host) for host in nodes}
    assert (world.pre_filter(newcomer) is None) == (not definition.rules)


@pytest.mark.parametrize("seed", range(100))
def test_filter_follows_what_ifs(seed: int) -> None:
    random = Random(seed)
    nodes = random_nodes(random)
    world = World(nodes, random_pods(random, nodes))
    item = random_newcomer(random, hard=True)
    definition = Definition(item, nodes, world.pods)
    newcomer = world.pod(item)
    state = world.pre_filter(newcomer)
    assert state is not None
    host = random.choice(nodes)
    info = world.cluster.nodes.get(host["metadata"]["name"])
    assert info is not None
    with world.cluster.what_if() as journal:
        for other in [p for p in world.pods if p["spec"]["nodeName"] == info.name and random.random() < 0.6]:
            journal.remove(world.cluster.pods[other["metadata"]["uid"]], info)
            definition.shift(other, host, -1)
        for i in range(random.randint(0, 2)):
            nominated = pod(f"nominated-{i}", namespace=random.choice(["ns", "other"]), labels=random_labels(random))
            journal.add(world.pod(nominated), info)
            definition.shift(nominated, host, 1)
        assert _reason(world.plugin.filter(state, newcomer, info)) == definition.verdict(host)
    afterwards = Definition(item, nodes, world.pods)
    assert _reason(world.plugin.filter(state, newcomer, info)) == afterwards.verdict(host)


@pytest.mark.parametrize("seed", range(40))
def test_filter_stays_right_as_the_cluster_changes_and_tokens_keep_their_promise(seed: int) -> None:
    random = Random(seed)
    nodes = random_nodes(random)
    world = World(nodes, random_pods(random, nodes))
    item = random_newcomer(random, hard=True)
    newcomer = world.pod(item)
    token, before = world.plugin.filter_token(newcomer), world.verdicts(newcomer)
    for step in range(25):
        changed = set()
        if random.random() < 0.2:
            replaced = {**random_nodes(random)[0]}
            replaced["metadata"] = {**replaced["metadata"], "name": random.choice(nodes)["metadata"]["name"]}
            nodes[:] = [n for n in nodes if n["metadata"]["name"] != replaced["metadata"]["name"]] + [replaced]
            world.cluster.put_node(msgspec.convert(replaced, api.Node))
            changed.add(replaced["metadata"]["name"])
        elif world.pods and random.random() < 0.3:
            gone = world.pods.pop(random.randrange(len(world.pods)))
            world.cluster.remove_pod(gone["metadata"]["uid"])
            changed.add(gone["spec"]["nodeName"])
        else:
            came = pod(f"more-{step}", random.choice(nodes)["metadata"]["name"], labels=random_labels(random))
            world.pods.append(came)
            world.cluster.add_pod(world.pod(came))
            changed.add(came["spec"]["nodeName"])
        definition = Definition(item, nodes, world.pods)
        now = world.verdicts(newcomer)
        assert now == {host["metadata"]["name"]: definition.verdict(host) for host in nodes}
        if world.plugin.filter_token(newcomer) == token:
            assert {n: v for n, v in now.items() if n not in changed} == {
                n: v for n, v in before.items() if n not in changed
            }
        token, before = world.plugin.filter_token(newcomer), now


def test_token_of_hostname_spread_survives_a_placement() -> None:
    world = World([node(f"n{i}", "z") for i in range(4)])
    newcomer = world.pod(pod("new", labels={"app": "a"}, topologySpreadConstraints=[constraint(HOST, 2)]))
    token = world.plugin.filter_token(newcomer)
    world.cluster.add_pod(world.pod(pod("p", "n1", labels={"app": "a"})))
    assert world.plugin.filter_token(newcomer) == token
    for i in (0, 2, 3):
        world.cluster.add_pod(world.pod(pod(f"p{i}", f"n{i}", labels={"app": "a"})))
    assert world.plugin.filter_token(newcomer) != token, "the minimum rose"


@pytest.mark.parametrize("seed", range(100))
def test_scores_follow_the_definition(seed: int) -> None:
    random = Random(seed)
    nodes = random_nodes(random)
    world = World(nodes, random_pods(random, nodes))
    item = random_newcomer(random, hard=random.choice([None, False]))
    rules = [r for r in item["spec"]["topologySpreadConstraints"] if r["whenUnsatisfiable"] == "ScheduleAnyway"]
    names = [n["metadata"]["name"] for n in nodes]
    feasible = sorted(random.sample(names, random.randint(1, len(names))))
    expected = defined_scores(item, rules, True, nodes, world.pods, feasible) if rules else None
    newcomer = world.pod(item)
    assert world.scores(newcomer, feasible) == expected
    assert world.scores(newcomer, feasible, as_slice=True) == expected


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("listed", [False, True])
def test_default_scores_follow_the_definition(seed: int, listed: bool) -> None:
    random = Random(seed)
    nodes = random_nodes(random)
    defaults = [constraint(ZONE, 2, False, app=None), constraint("disk", 1, True, app=None)]
    settings = {"defaultConstraints": defaults, "defaultingType": "List"} if listed else {}
    service = api.Service(
        metadata=api.ObjectMeta(name="s", namespace="ns"), spec=api.ServiceSpec(selector={"app": "a"})
    )
    world = World(nodes, random_pods(random, nodes), [service], **settings)
    spec: Json = {"nodeSelector": {"disk": "ssd"}} if random.random() < 0.5 else {}
    item = pod("new", labels={"app": "a", "rev": "1"}, **spec)
    soft = [constraint(ZONE, 2, False)] if listed else [constraint(HOST, 3, False), constraint(ZONE, 5, False)]
    names = [n["metadata"]["name"] for n in nodes]
    feasible = sorted(random.sample(names, random.randint(1, len(names))))
    newcomer = world.pod(item)
    assert world.scores(newcomer, feasible) == defined_scores(item, soft, listed, nodes, world.pods, feasible)
    item["spec"]["topologySpreadConstraints"] = [constraint("disk", 1)] if listed else []
    definition = Definition(item, nodes, world.pods)
    assert world.verdicts(newcomer) == {host["metadata"]["name"]: definition.verdict(host) for host in nodes}


# Known answers.


@pytest.mark.parametrize(
    ("counts", "skew", "selector", "expected"),
    [
        ([2, 1, 0, 3], 1, {"matchLabels": {"app": "a"}}, [20, 60, 100, 0]),
        ([2, 1, 0, 3], 2, {"matchLabels": {"app": "a"}}, [33, 66, 100, 16]),
        ([2, 1, 0, 3], 1, None, [100, 100, 100, 100]),
        ([4], 1, {"matchLabels": {"app": "a"}}, [100]),
    ],
)
def test_hostname_scores(counts: list[int], skew: int, selector: Json | None, expected: list[int]) -> None:
    nodes = [node(f"n{i}") for i in range(len(counts))]
    pods = [pod(f"p{i}-{j}", f"n{i}", labels={"app": "a"}) for i, n in enumerate(counts) for j in range(n)]
    world = World(nodes, pods)
    rule = constraint(HOST, skew, False, app=None) | ({} if selector is None else {"labelSelector": selector})
    scores = world.scores(
        world.pod(pod("new", topologySpreadConstraints=[rule])), [f"n{i}" for i in range(len(counts))]
    )
    assert scores is not None
    assert [scores[f"n{i}"][1] for i in range(len(counts))] == expected


@pytest.mark.parametrize(
    ("min_domains", "expected"), [(None, {"n1": SKEWED, "n2": ""}), (3, {"n1": SKEWED, "n2": SKEWED})]
)
def test_zones_of_three_and_two(min_domains: int | None, expected: dict[str, str]) -> None:
    pods = [pod(f"p{i}", "n1" if i < 3 else "n2", labels={"app": "a"}) for i in range(5)]
    world = World([node("n1", "z1"), node("n2", "z2")], pods)
    more: Json = {} if min_domains is None else {"minDomains": min_domains}
    newcomer = world.pod(pod("new", labels={"app": "a"}, topologySpreadConstraints=[constraint(**more)]))
    assert world.verdicts(newcomer) == expected


def test_statuses_say_whether_preemption_may_help() -> None:
    world = World([node("n1", "z1"), node("n2", "z2"), node("n3")], [pod("p", "n1", labels={"app": "a"})])
    newcomer = world.pod(pod("new", labels={"app": "a"}, topologySpreadConstraints=[constraint()]))
    state = world.pre_filter(newcomer)
    assert state is not None
    found = {info.name: world.plugin.filter(state, newcomer, info) for info in world.cluster.nodes}
    assert found == {
        "n1": Status(Code.Unschedulable, SKEWED, plugin="PodTopologySpread"),
        "n2": None,
        "n3": Status(Code.UnschedulableAndUnresolvable, UNLABELED, plugin="PodTopologySpread"),
    }


def test_malformed_constraints_are_errors() -> None:
    bad = {"matchExpressions": [{"key": "app", "operator": "Near"}]}
    rules = [constraint(labelSelector=bad), constraint(hard=False, labelSelector=bad)]
    world = World([node("n1", "z1")])
    newcomer = world.pod(pod("new", topologySpreadConstraints=rules))
    nodes = world.cluster.nodes.everything()
    hard = world.plugin.pre_filter(CycleState(), newcomer, nodes)
    soft = world.plugin.pre_score(CycleState(), newcomer, nodes)
    why = '"Near" is not a valid label selector operator'
    assert hard is not None
    assert soft is not None
    assert hard.message == f"get constraints from pod: obtaining pod's hard topology spread constraints: {why}"
    assert soft.message == f"calculating preScoreState: obtaining pod's soft topology spread constraints: {why}"
    assert {hard.code, soft.code} == {Code.Error}
    assert world.plugin.filter_token(newcomer) is None


OWNED = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "controller": True}


def _meta(name: str, namespace: str = "ns") -> api.ObjectMeta:
    return api.ObjectMeta(name=name, namespace=namespace)


def _service(name: str, namespace: str = "ns", **selector: str) -> api.Service:
    return api.Service(metadata=_meta(name, namespace), spec=api.ServiceSpec(selector=selector))


def _replica_set(selector: Json | None) -> api.ReplicaSet:
    spec = {} if selector is None else {"selector": selector}
    return msgspec.convert({"metadata": {"name": "rs", "namespace": "ns"}, "spec": spec}, api.ReplicaSet)


def _controller(**selector: str) -> api.ReplicationController:
    return api.ReplicationController(metadata=_meta("rs"), spec=api.ReplicationControllerSpec(selector=selector))


@pytest.mark.parametrize(
    ("objects", "owner", "spread_with"),
    [
        ([], None, None),
        ([_service("s", app="a")], None, {"app": "a"}),
        ([_service("s", app="b"), _service("t", "other", app="a"), _service("u")], None, None),
        ([_service("s", app="a"), _service("t", rev="1")], None, {"app": "a", "rev": "1"}),
        ([_replica_set({"matchLabels": {"app": "a"}})], None, None),
        ([_replica_set({"matchLabels": {"app": "a"}})], OWNED, {"app": "a"}),
        ([_replica_set({"matchLabels": {"app": "a"}})], OWNED | {"controller": False}, None),
        ([_replica_set({"matchLabels": {"app": "a"}})], OWNED | {"apiVersion": "apps/v2"}, None),
        ([_replica_set(None)], OWNED, None),
        ([_replica_set({})], OWNED, None),
        ([_replica_set({"matchExpressions": [{"key": "app", "operator": "Near"}]})], OWNED, None),
        ([_service("s", rev="1"), _replica_set({"matchLabels": {"app": "a"}})], OWNED, {"app": "a", "rev": "1"}),
        ([_controller(app="a")], OWNED | {"apiVersion": "v1", "kind": "ReplicationController"}, {"app": "a"}),
    ],
)
def test_default_selector(objects: list[Any], owner: Json | None, spread_with: Json | None) -> None:
    pods = [
        pod("p1", "n1", labels={"app": "a", "rev": "1"}),
        pod("p2", "n2", labels={"app": "a"}),
        pod("p3", "n3", labels={"rev": "1"}),
    ]
    world = World([node(f"n{i}") for i in range(1, 5)], pods, objects)
    item = pod("new", labels={"app": "a", "rev": "1"})
    item["metadata"]["ownerReferences"] = [] if owner is None else [owner]
    scores = world.scores(world.pod(item), ["n1", "n2", "n3", "n4"])
    if spread_with is None:
        assert scores is None
    else:
        assert scores is not None
        crowded = {p["spec"]["nodeName"] for p in pods if spread_with.items() <= p["metadata"]["labels"].items()}
        assert {name for name, (raw, _) in scores.items() if raw > 2} == crowded


def test_default_selector_follows_its_sources() -> None:
    world = World([node("n1"), node("n2")], [pod("p", "n1", labels={"app": "a"})])
    item = pod("new", labels={"app": "a"})
    item["metadata"]["ownerReferences"] = [OWNED]
    newcomer = world.pod(item)
    assert world.scores(newcomer, ["n1", "n2"]) is None
    world.cluster.put(_service("s", app="a"))
    assert world.scores(newcomer, ["n1", "n2"]) == {"n1": (3, 66), "n2": (2, 100)}
    world.cluster.remove(_service("s"))
    assert world.scores(newcomer, ["n1", "n2"]) is None
    world.cluster.put(_replica_set({"matchLabels": {"app": "a"}}))
    assert world.scores(newcomer, ["n1", "n2"]) == {"n1": (3, 66), "n2": (2, 100)}


@pytest.mark.parametrize(
    ("settings", "rules", "expected"),
    [
        ({}, [], True),
        ({"defaultingType": "List"}, [], False),
        ({"defaultingType": "List"}, [constraint()], True),
        ({"defaultingType": "List", "defaultConstraints": [constraint(app=None)]}, [], True),
    ],
)
def test_concerns(settings: Json, rules: list[Json], expected: bool) -> None:
    world = World([node("n1")], **settings)
    assert world.plugin.concerns(world.pod(pod("new", topologySpreadConstraints=rules)).template) is expected


# Queueing hints.


def test_events() -> None:
    world = World([])
    assert [registered.event for registered in world.plugin.events_to_register()] == [
        ClusterEvent(
            EventResource.Pod, Action.Add | Action.Delete | Action.UpdatePodLabel | Action.UpdatePodToleration
        ),
        ClusterEvent(EventResource.Node, Action.Add | Action.Delete | Action.UpdateNodeLabel | Action.UpdateNodeTaint),
    ]


TOLERANT: Json = {"tolerations": [{"key": "t", "operator": "Exists"}]}
A: Json = {"labels": {"app": "a"}}
B: Json = {"labels": {"app": "b"}}


@pytest.mark.parametrize(
    ("policy", "old", "new", "queued"),
    [
        ("Ignore", None, pod("p", "n1", **A), True),
        ("Ignore", None, pod("p", "n1", **B), False),
        ("Ignore", None, pod("p", **A), False),
        ("Ignore", None, pod("p", "n1", namespace="other", **A), False),
        ("Ignore", pod("p", "n1", **A), None, True),
        ("Ignore", pod("p", "n1", **B), None, False),
        ("Ignore", pod("p", "n1", **A), pod("p", "n1", **B), True),
        ("Ignore", pod("p", "n1", **B), pod("p", "n1", **A), True),
        ("Ignore", pod("p", "n1", **A), pod("p", "n1", labels={"app": "a", "more": "x"}), False),
        ("Ignore", pod("new", **A), pod("new", **B), True),
        ("Ignore", pod("new", **A), pod("new", **A, **TOLERANT), False),
        ("Honor", pod("new", **A), pod("new", **A, **TOLERANT), True),
        ("Honor", pod("p", "n1", **A), pod("p", "n1", **A, **TOLERANT), False),
    ],
)
def test_hint_on_pods(policy: str, old: Json | None, new: Json | None, queued: bool) -> None:
    world = World([])
    rejected = world.pod(pod("new", topologySpreadConstraints=[constraint(nodeTaintsPolicy=policy)], **A))
    hint = next(iter(world.plugin.events_to_register())).hint
    assert hint is not None
    answer = hint(rejected, *(None if item is None else world.pod(item) for item in (old, new)))
    assert answer is (QueueingHint.Queue if queued else QueueingHint.QueueSkip)


TAINT = [{"key": "t", "effect": "NoSchedule"}]


@pytest.mark.parametrize(
    ("old", "new", "queued"),
    [
        (None, node("n", "z1"), True),
        (None, node("n", "z1", host=None), False),
        (None, node("n"), False),
        (node("n", "z1"), None, True),
        (node("n"), None, False),
        (node("n"), node("n", "z1"), True),
        (node("n", "z1"), node("n"), True),
        (node("n", "z1"), node("n", "z2"), True),
        (node("n", "z1"), node("n", "z1", more="x"), False),
        (node("n", "z1"), node("n", "z1", taints=TAINT), True),
        (node("n"), node("n", taints=TAINT), False),
    ],
)
def test_hint_on_nodes(old: Json | None, new: Json | None, queued: bool) -> None:
    world = World([])
    rejected = world.pod(pod("new", topologySpreadConstraints=[constraint(), constraint(HOST)], **A))
    _, registered = world.plugin.events_to_register()
    assert registered.hint is not None
    answer = registered.hint(rejected, *(None if n is None else msgspec.convert(n, api.Node) for n in (old, new)))
    assert answer is (QueueingHint.Queue if queued else QueueingHint.QueueSkip)


def test_hints_give_malformed_constraints_another_chance() -> None:
    world = World([])
    bad = {"matchExpressions": [{"key": "app", "operator": "Near"}]}
    rejected = world.pod(pod("new", topologySpreadConstraints=[constraint(labelSelector=bad)]))
    for registered in world.plugin.events_to_register():
        assert registered.hint is not None
        assert registered.hint(rejected, None, None) is QueueingHint.Queue
