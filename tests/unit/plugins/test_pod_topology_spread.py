"""PodTopologySpread against its definition, pod by pod, and against tables of known answers."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from random import Random
from typing import Any

import msgspec
import pytest
from tests.builders import HOSTNAME, ZONE, Json, World, node, pod, spread
from tests.builders.plugin_rig import PluginRig, queue_if
from tests.unit.plugins.definition_run import DefinitionRun
from tests.unit.plugins.spread_definition import SKEWED, UNLABELED, Definition, defined_scores

from stowplan import api
from stowplan.framework import Action, ClusterEvent, Code, CycleState, EventResource, QueueingHint, Status
from stowplan.plugins.pod_topology_spread import PodTopologySpread


def constraint(key: str = ZONE, skew: int = 1, hard: bool = True, app: str | None = "a", **more: Any) -> Json:
    """A constraint; without a selector where `app` is None."""
    rule = spread(key, skew, hard=hard, app=app or "")
    return {name: value for name, value in rule.items() if app is not None or name != "labelSelector"} | more


def rig_with(
    nodes: Iterable[Json] = (), pods: Iterable[Json] = (), objects: Iterable[Any] = (), **args: Any
) -> PluginRig[PodTopologySpread]:
    return PluginRig(PodTopologySpread, nodes, pods, objects, **args)


# Random clusters.


def random_nodes(random: Random) -> list[Json]:
    nodes = []
    for i in range(random.randint(1, 12)):
        zone = random.choice(["z1", "z2", "z3", "", None]) if random.random() < 0.5 else f"z{i % 3}"
        host = random.choice(["", "", "", "", "shared", None])
        taints = [{"key": "t", "effect": "NoSchedule"}] if random.random() < 0.2 else []
        labels = {
            "disk": random.choice(["ssd", "hdd"]),
            ZONE: zone,
            HOSTNAME: host if host is None else host or f"n{i}",
        }
        labels = {key: value for key, value in labels.items() if value is not None}
        nodes.append(node(f"n{i}", hostname=False, labels=labels, taints=taints))
    return nodes


def random_labels(random: Random) -> Json:
    return {"app": random.choice("aab"), **({"rev": random.choice("12")} if random.random() < 0.6 else {})}


def random_pods(random: Random, nodes: list[Json]) -> list[Json]:
    pods = []
    for i in range(random.randint(0, 30)):
        on = random.choice([n["metadata"]["name"] for n in nodes])
        item = random_pod(random, f"p{i}", on)
        if random.random() < 0.15:
            item["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z"
        pods.append(item)
    return pods


def random_newcomer(random: Random, hard: bool | None = None) -> Json:
    rules = []
    for _ in range(random.randint(1, 3)):
        key = random.choice([ZONE, HOSTNAME, "disk"])
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


def random_run(random: Random, hard: bool | None = True) -> DefinitionRun:
    nodes = random_nodes(random)
    pods = random_pods(random, nodes)
    return DefinitionRun(rig_with(nodes, pods), nodes, pods, random_newcomer(random, hard), Definition)


def random_pod(random: Random, name: str, on: str) -> Json:
    return pod(name, on, namespace=random.choice(["default", "default", "other"]), labels=random_labels(random))


@pytest.mark.parametrize("seed", range(100))
def test_filter_follows_the_definition(seed: int) -> None:
    run = random_run(Random(seed), hard=None)
    assert (run.rig.pre_filter(run.pending) is None) == (not run.definition().rules)
    run.check()


@pytest.mark.parametrize("seed", range(100))
def test_filter_follows_what_ifs(seed: int) -> None:
    random = Random(seed)
    run = random_run(random)
    assert run.rig.pre_filter(run.pending) is not None
    run.check_what_if(random, partial(random_pod, random))


@pytest.mark.parametrize("seed", range(40))
def test_filter_stays_right_as_the_cluster_changes_and_tokens_keep_their_promise(seed: int) -> None:
    random = Random(seed)
    random_run(random).check_changes(random, lambda: random_nodes(random)[0], partial(random_pod, random))


def test_token_of_hostname_spread_survives_a_placement() -> None:
    rig = rig_with([node(f"n{i}", zone="z") for i in range(4)])
    newcomer = rig.pod(pod("new", labels={"app": "a"}, topologySpreadConstraints=[constraint(HOSTNAME, 2)]))
    token = rig.plugin.filter_token(newcomer)
    rig.add_pod(pod("p", "n1", labels={"app": "a"}))
    assert rig.plugin.filter_token(newcomer) == token
    for i in (0, 2, 3):
        rig.add_pod(pod(f"p{i}", f"n{i}", labels={"app": "a"}))
    assert rig.plugin.filter_token(newcomer) != token, "the minimum rose"


@pytest.mark.parametrize("seed", range(100))
def test_scores_follow_the_definition(seed: int) -> None:
    random = Random(seed)
    nodes = random_nodes(random)
    pods = random_pods(random, nodes)
    rig = rig_with(nodes, pods)
    item = random_newcomer(random, hard=random.choice([None, False]))
    rules = [r for r in item["spec"]["topologySpreadConstraints"] if r["whenUnsatisfiable"] == "ScheduleAnyway"]
    names = [n["metadata"]["name"] for n in nodes]
    feasible = sorted(random.sample(names, random.randint(1, len(names))))
    expected = defined_scores(item, rules, True, nodes, pods, feasible) if rules else None
    newcomer = rig.pod(item)
    assert rig.scores(newcomer, feasible) == expected
    assert rig.scores(newcomer, feasible, as_slice=True) == expected


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("listed", [False, True])
def test_default_scores_follow_the_definition(seed: int, listed: bool) -> None:
    random = Random(seed)
    nodes = random_nodes(random)
    defaults = [constraint(ZONE, 2, False, app=None), constraint("disk", 1, True, app=None)]
    settings = {"defaultConstraints": defaults, "defaultingType": "List"} if listed else {}
    service = api.Service(
        metadata=api.ObjectMeta(name="s", namespace="default"), spec=api.ServiceSpec(selector={"app": "a"})
    )
    pods = random_pods(random, nodes)
    rig = rig_with(nodes, pods, [service], **settings)
    spec: Json = {"nodeSelector": {"disk": "ssd"}} if random.random() < 0.5 else {}
    item = pod("new", labels={"app": "a", "rev": "1"}, **spec)
    soft = [constraint(ZONE, 2, False)] if listed else [constraint(HOSTNAME, 3, False), constraint(ZONE, 5, False)]
    names = [n["metadata"]["name"] for n in nodes]
    feasible = sorted(random.sample(names, random.randint(1, len(names))))
    newcomer = rig.pod(item)
    assert rig.scores(newcomer, feasible) == defined_scores(item, soft, listed, nodes, pods, feasible)
    item["spec"]["topologySpreadConstraints"] = [constraint("disk", 1)] if listed else []
    definition = Definition(item, nodes, pods)
    assert rig.reasons(newcomer) == {host["metadata"]["name"]: definition.verdict(host) for host in nodes}


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
    rig = rig_with(nodes, pods)
    rule = constraint(HOSTNAME, skew, False, app=None) | ({} if selector is None else {"labelSelector": selector})
    scores = rig.scores(rig.pod(pod("new", topologySpreadConstraints=[rule])), [f"n{i}" for i in range(len(counts))])
    assert scores is not None
    assert [scores[f"n{i}"][1] for i in range(len(counts))] == expected


@pytest.mark.parametrize(
    ("min_domains", "expected"), [(None, {"n1": SKEWED, "n2": ""}), (3, {"n1": SKEWED, "n2": SKEWED})]
)
def test_zones_of_three_and_two(min_domains: int | None, expected: dict[str, str]) -> None:
    pods = [pod(f"p{i}", "n1" if i < 3 else "n2", labels={"app": "a"}) for i in range(5)]
    rig = rig_with([node("n1", zone="z1"), node("n2", zone="z2")], pods)
    more: Json = {} if min_domains is None else {"minDomains": min_domains}
    newcomer = rig.pod(pod("new", labels={"app": "a"}, topologySpreadConstraints=[constraint(**more)]))
    assert rig.reasons(newcomer) == expected


def test_statuses_say_whether_preemption_may_help() -> None:
    rig = rig_with([node("n1", zone="z1"), node("n2", zone="z2"), node("n3")], [pod("p", "n1", labels={"app": "a"})])
    newcomer = rig.pod(pod("new", labels={"app": "a"}, topologySpreadConstraints=[constraint()]))
    state = rig.pre_filter(newcomer)
    assert state is not None
    found = {info.name: rig.plugin.filter(state, newcomer, info) for info in rig.cluster.nodes}
    assert found == {
        "n1": Status(Code.Unschedulable, SKEWED, plugin="PodTopologySpread"),
        "n2": None,
        "n3": Status(Code.UnschedulableAndUnresolvable, UNLABELED, plugin="PodTopologySpread"),
    }


def test_malformed_constraints_are_errors() -> None:
    bad = {"matchExpressions": [{"key": "app", "operator": "Near"}]}
    rules = [constraint(labelSelector=bad), constraint(hard=False, labelSelector=bad)]
    rig = rig_with([node("n1", zone="z1")])
    newcomer = rig.pod(pod("new", topologySpreadConstraints=rules))
    nodes = rig.cluster.nodes.everything()
    hard = rig.plugin.pre_filter(CycleState(), newcomer, nodes)
    soft = rig.plugin.pre_score(CycleState(), newcomer, nodes)
    why = '"Near" is not a valid label selector operator'
    assert hard is not None
    assert soft is not None
    assert hard.message == f"get constraints from pod: obtaining pod's hard topology spread constraints: {why}"
    assert soft.message == f"calculating preScoreState: obtaining pod's soft topology spread constraints: {why}"
    assert {hard.code, soft.code} == {Code.Error}
    assert rig.plugin.filter_token(newcomer) is None


OWNED = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "controller": True}


def _meta(name: str, namespace: str = "default") -> api.ObjectMeta:
    return api.ObjectMeta(name=name, namespace=namespace)


def _service(name: str, namespace: str = "default", **selector: str) -> api.Service:
    return api.Service(metadata=_meta(name, namespace), spec=api.ServiceSpec(selector=selector))


def _replica_set(selector: Json | None) -> api.ReplicaSet:
    spec = {} if selector is None else {"selector": selector}
    return msgspec.convert({"metadata": {"name": "rs", "namespace": "default"}, "spec": spec}, api.ReplicaSet)


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
    rig = rig_with([node(f"n{i}") for i in range(1, 5)], pods, objects)
    item = pod("new", labels={"app": "a", "rev": "1"})
    item["metadata"]["ownerReferences"] = [] if owner is None else [owner]
    scores = rig.scores(rig.pod(item), ["n1", "n2", "n3", "n4"])
    if spread_with is None:
        assert scores is None
    else:
        assert scores is not None
        crowded = {p["spec"]["nodeName"] for p in pods if spread_with.items() <= p["metadata"]["labels"].items()}
        assert {name for name, (raw, _) in scores.items() if raw > 2} == crowded


def test_default_selector_follows_its_sources() -> None:
    rig = rig_with([node("n1"), node("n2")], [pod("p", "n1", labels={"app": "a"})])
    item = pod("new", labels={"app": "a"})
    item["metadata"]["ownerReferences"] = [OWNED]
    newcomer = rig.pod(item)
    assert rig.scores(newcomer, ["n1", "n2"]) is None
    rig.cluster.put(_service("s", app="a"))
    assert rig.scores(newcomer, ["n1", "n2"]) == {"n1": (3, 66), "n2": (2, 100)}
    rig.cluster.remove(_service("s"))
    assert rig.scores(newcomer, ["n1", "n2"]) is None
    rig.cluster.put(_replica_set({"matchLabels": {"app": "a"}}))
    assert rig.scores(newcomer, ["n1", "n2"]) == {"n1": (3, 66), "n2": (2, 100)}


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
    rig = rig_with([node("n1")], **settings)
    assert rig.plugin.concerns(rig.pod(pod("new", topologySpreadConstraints=rules)).template) is expected


# Queueing hints.


def test_events() -> None:
    rig = rig_with()
    assert [registered.event for registered in rig.plugin.events_to_register()] == [
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
    rig = rig_with()
    rejected = rig.pod(pod("new", topologySpreadConstraints=[constraint(nodeTaintsPolicy=policy)], **A))
    assert rig.hint(0, rejected, old, new) is queue_if(queued)


TAINT = [{"key": "t", "effect": "NoSchedule"}]


@pytest.mark.parametrize(
    ("old", "new", "queued"),
    [
        (None, node("n", zone="z1"), True),
        (None, node("n", zone="z1", hostname=False), False),
        (None, node("n"), False),
        (node("n", zone="z1"), None, True),
        (node("n"), None, False),
        (node("n"), node("n", zone="z1"), True),
        (node("n", zone="z1"), node("n"), True),
        (node("n", zone="z1"), node("n", zone="z2"), True),
        (node("n", zone="z1"), node("n", zone="z1", labels={"more": "x"}), False),
        (node("n", zone="z1"), node("n", zone="z1", taints=TAINT), True),
        (node("n"), node("n", taints=TAINT), False),
    ],
)
def test_hint_on_nodes(old: Json | None, new: Json | None, queued: bool) -> None:
    rig = rig_with()
    rejected = rig.pod(pod("new", topologySpreadConstraints=[constraint(), constraint(HOSTNAME)], **A))
    assert rig.hint(1, rejected, old, new) is queue_if(queued)


def test_hints_give_malformed_constraints_another_chance() -> None:
    rig = rig_with()
    bad = {"matchExpressions": [{"key": "app", "operator": "Near"}]}
    rejected = rig.pod(pod("new", topologySpreadConstraints=[constraint(labelSelector=bad)]))
    for registered in rig.plugin.events_to_register():
        assert registered.hint is not None
        assert registered.hint(rejected, None, None) is QueueingHint.Queue


@pytest.mark.parametrize("hard", [True, False])
def test_constraints_on_many_keys_share_one_eligibility(hard: bool) -> None:
    """Not one set of all other keys for each key."""
    world = World([node(f"n{i}", zone="z") for i in range(3)])
    constraints = [spread(ZONE, hard=hard), *(spread(f"k{i}", hard=hard) for i in range(100))]
    newcomer = world.pod(pod("p", labels={"app": "a"}, topologySpreadConstraints=constraints))
    decision = world.decide(newcomer)
    assert bool(decision.node_name) is not hard
    assert len(world.plugin("PodTopologySpread")._eligibilities._known) == 1
    assert len(world.cluster.nodes.labels) <= 2
