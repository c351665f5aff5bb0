"""The three sources come to the same decision, and each does no more work than it must."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.builders import HOSTNAME, Json, World, away, fields, node, node_affinity, pod, profile_config, term

from stowplan.framework import CycleState, Nodes, Plugin, Pod, Status, reject, skip
from stowplan.runtime import Decision
from stowplan.runtime.decide.diagnosis import Diagnosis
from stowplan.runtime.decide.pipeline import schedule_pod
from stowplan.runtime.decide.planned import Planned
from stowplan.runtime.decide.sampling import Rotation, Sampler
from stowplan.runtime.decide.sources import Afresh, AnswerSource, Shared

Make = Callable[[World, Pod], AnswerSource]

SOURCES: dict[str, Make] = {
    "afresh": lambda world, made: Afresh(Diagnosis(world.profile, made)),
    "shared": lambda world, made: Shared(world.profile, made),
    "planned": lambda world, made: Planned(world.profile, made),
}

ROOMY = [node("a", cpu=8), node("b", cpu=16), node("c", cpu=4, unschedulable=True), node("d", cpu=2)]
NEWCOMER = pod("p", requests={"cpu": 1})

CROWDED = [*ROOMY, *(node(f"x{number}", cpu=1) for number in range(20))]
TAINTED = [node("a", taints=[{"key": "k", "effect": "PreferNoSchedule"}]), node("b")]
HERMIT = pod("r", "b", affinity=away(term(HOSTNAME, "p")))

CASES: dict[str, tuple[list[Json], list[Json], Json, str, int]] = {
    "the emptiest node": (ROOMY, [], NEWCOMER, "b", 3),
    "one node": (ROOMY, [], pod("p", requests={"cpu": 10}), "b", 1),
    "few nodes of many": (CROWDED, [], pod("p", requests={"cpu": 5}), "b", 2),
    "normalised scores": (TAINTED, [], NEWCOMER, "b", 2),
    "rules of other pods": (ROOMY, [HERMIT], pod("p", labels={"app": "p"}), "a", 2),
    "own rules": (ROOMY, [pod("r", "b", labels={"app": "r"})], pod("p", affinity=away(term(HOSTNAME, "r"))), "a", 2),
    "no node": (ROOMY, [], pod("p", requests={"cpu": 99}), "", 0),
    "named by PreFilter": (ROOMY, [], pod("p", affinity=node_affinity(fields("d"))), "d", 1),
}


def decide(world: World, make: Make, item: Json) -> Decision:
    made = world.pod(item)
    return schedule_pod(world.profile, made, make(world, made))


@pytest.fixture(params=SOURCES)
def make(request: pytest.FixtureRequest) -> Make:
    return SOURCES[request.param]


@pytest.mark.parametrize("case", CASES)
def test_decisions(make: Make, case: str) -> None:
    nodes, pods, item, expected, feasible = CASES[case]
    decision = decide(World(nodes, pods), make, item)
    assert (decision.node_name, decision.feasible) == (expected, feasible)


def test_nominated_pods_take_their_room(make: Make) -> None:
    world = World([node("a", cpu=4), node("b", cpu=2)])
    world.nominate(pod("rival", nominated="a", priority=5, requests={"cpu": 4}))
    decision = decide(world, make, NEWCOMER)
    assert (decision.node_name, decision.feasible) == ("b", 1)
    more_important = decide(world, make, pod("p", priority=6, requests={"cpu": 1}))
    assert (more_important.node_name, more_important.feasible) == ("a", 2)


def test_sampling(make: Make) -> None:
    world = World([node(f"n{number}") for number in range(200)])
    world.profile.sampler = sampler = Sampler(50, Rotation(world.cluster.nodes))
    sampler.rotation.advance(150)
    decision = decide(world, make, NEWCOMER)
    assert (decision.feasible, decision.evaluated) == (100, 100)
    assert int(decision.node_name[1:]) not in range(50, 150)


class Picky(Plugin):
    """Rejects some nodes, and counts its calls."""

    name = "Picky"
    calls: list[str]

    def __init__(self, args: Any, handle: Any) -> None:
        super().__init__(args, handle)
        self.calls = []
        self.skips = False

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        return skip() if self.skips else None

    def filter(self, state: CycleState, pod: Pod, node: Any) -> Status | None:
        self.calls.append(node.name)
        return reject("picky") if node.name == "b" else None


@pytest.mark.parametrize("scope", ["node", "node+pods", "cluster"])
def test_an_out_of_tree_plugin_is_called_for_no_node_that_others_reject(make: Make, scope: str) -> None:
    made: list[Picky] = []

    def factory(args: Any, handle: Any) -> Picky:
        made.append(Picky(args, handle))
        made[0].scope = scope  # type: ignore[misc, assignment]
        return made[0]

    world = World(ROOMY, plugins={"Picky": factory})
    assert decide(world, make, NEWCOMER).node_name == "a"
    kept = make is SOURCES["planned"] and scope != "cluster"  # A plan makes answers for all pods of the template.
    assert sorted(made[0].calls) == (["a", "b", "c", "d"] if kept else ["a", "b", "d"])
    made[0].calls.clear()
    hopeless = decide(world, make, pod("p", requests={"cpu": 10}))
    assert hopeless.message.startswith("0/4 nodes are available: ")
    assert "1 picky" in hopeless.message
    assert made[0].calls.count("b") == 1 + kept


def test_a_plan_serves_pod_after_pod() -> None:
    world = World(ROOMY)
    made = world.pod(NEWCOMER)
    planned = Planned(world.profile, made)
    for number in range(20):
        one = world.pod(pod(f"p{number}", requests={"cpu": 1}))
        decision = schedule_pod(world.profile, one, planned)
        assert decision.node_name == world.afresh(one).node_name
        world.add_pod(pod(f"p{number}", decision.node_name, requests={"cpu": 1}))


def test_pre_filter_is_not_run_again_while_no_node_object_changes() -> None:
    """A filter token stands for what PreFilter found."""
    world = World(ROOMY, [pod("r", "b", labels={"app": "r"})])
    item = pod("p", affinity=away(term(HOSTNAME, "r")))
    made = world.pod(item)
    planned = Planned(world.profile, made)

    def run() -> str:
        return schedule_pod(world.profile, made, planned).node_name

    assert [run(), run()] == ["a", "a"]
    plugin, runs = world.plugin("InterPodAffinity"), []
    original = plugin.pre_filter
    plugin.pre_filter = lambda *args: runs.append(1) or original(*args)
    assert [run() for _ in range(3)] == ["a"] * 3
    assert not runs
    world.put_node(node("e", cpu=64))
    assert run() == "e"
    assert runs


def test_a_pod_changes_the_answers_for_nodes_that_did_not_change() -> None:
    """The filter token of the plugin shows it."""
    zones = {"a": "1", "b": "1", "c": "2", "d": "3"}
    world = World([node(name, labels={"zone": zone}) for name, zone in zones.items()])
    world.add_pod(pod("r", "d", labels={"app": "r"}))
    made = world.pod(pod("p", affinity=away(term("zone", "r"))))
    planned = Planned(world.profile, made)

    def run() -> tuple[str, int]:
        decision = schedule_pod(world.profile, made, planned)
        return decision.node_name, decision.feasible

    for number in range(3):
        assert run()[1] == 3
        world.add_pod(pod(f"q{number}", "b", labels={"app": "r"}))
        assert run() == ("c", 1)
        world.cluster.remove_pod(f"default/q{number}")


def test_a_plugin_that_skips_a_pod_has_no_part_in_its_decision() -> None:
    """Although its answers for the template are part of the plan."""
    made: list[Picky] = []

    def factory(args: Any, handle: Any) -> Picky:
        made.append(Picky(args, handle))
        made[0].scope = "node"  # type: ignore[misc]
        return made[0]

    world = World(ROOMY, plugins={"Picky": factory})
    planned = Planned(world.profile, world.pod(NEWCOMER))
    assert schedule_pod(world.profile, world.pod(NEWCOMER), planned).node_name == "a"
    made[0].skips = True
    assert schedule_pod(world.profile, world.pod(NEWCOMER), planned).node_name == "b"


def test_scores_that_need_all_nodes_are_made_in_every_cycle() -> None:
    spread = {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {"app": "p"}},
            }
        ]
    }
    world = World([node("a", labels={"zone": "1"}), node("b", labels={"zone": "2"})], config=profile_config())
    item = pod("p", labels={"app": "p"}, **spread)
    planned = Planned(world.profile, world.pod(item))
    first = schedule_pod(world.profile, world.pod(item), planned).node_name
    world.add_pod(pod("q", first, labels={"app": "p"}))
    second = schedule_pod(world.profile, world.pod(item), planned).node_name
    assert {first, second} == {"a", "b"}
