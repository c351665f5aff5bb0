"""Profiles: what decides, and that nothing but the caller changes anything."""

import pytest
from tests.builders import HOSTNAME, Json, World, away, node, pod, profile_config, term

from stowplan.framework import Pod, Status
from stowplan.runtime.decide.plan import Plan
from stowplan.runtime.profile.profile import Profile


def test_nothing_changes_by_deciding() -> None:
    world = World([node("n")], [pod("r", "n", priority=-1, requests={"cpu": 4})])
    log, versions = world.cluster.nodes.log.position, world.cluster.nodes.node_log.position
    for _ in range(3):
        newcomer = world.pod(pod("p", requests={"cpu": 4}))
        decision = world.profile.decide(newcomer)
        assert decision.preemption is not None
        assert newcomer.node_name == ""
    assert (log, versions) == (world.cluster.nodes.log.position, world.cluster.nodes.node_log.position)
    assert set(world.cluster.pods) == {"default/r"}


def test_pre_enqueue_names_the_plugin() -> None:
    world = World()
    status = world.profile.pre_enqueue(world.pod(pod("p", schedulingGates=[{"name": "g"}])))
    assert status is not None
    assert status.plugin == "SchedulingGates"
    assert world.profile.pre_enqueue(world.pod(pod("p"))) is None


@pytest.mark.parametrize("item", [pod("p", nodeName="b"), pod("p", nominated="b")])
def test_pods_that_insist_on_a_node_do_not_spoil_what_is_remembered(item: Json) -> None:
    """They share their template with pods that do not."""
    world = World([node("a", cpu=64), node("b")])
    for _ in range(3):
        assert world.decide(pod("q")).node_name == "a"
        assert world.decide(item).node_name == "b"


def test_many_templates() -> None:
    """More than are remembered, each seen often enough to be."""
    world = World([node("a", cpu=4), node("b", cpu=5)])
    for round_ in range(3):
        for i in range(1100):
            assert world.decide(pod(f"p{round_}-{i}", requests={"cpu": f"{i + 1}m"})).node_name == "b"


def test_pods_that_come_while_another_node_changes() -> None:
    """The domains of a hostname hold one node each, so that only a look at the changed node itself tells."""

    def hermit(name: str, on: str) -> Json:
        return pod(name, on, affinity=away(term(HOSTNAME, "c")))

    world = World([node("a", cpu=64, memory="128Gi"), node("b"), node("c")], [hermit("r1", "b")])
    item = pod("p", labels={"app": "c"})
    for _ in range(3):
        assert world.decide(item).node_name == "a"
    world.add_pod(hermit("r2", "a"))
    world.put_node(node("c", cpu=5))
    assert world.decide(item).node_name == "c"
    world.cluster.remove_pod("default/r2")
    world.put_node(node("c", cpu=6))
    assert world.decide(item).node_name == "a"


def test_profiles_share_the_cluster() -> None:
    config = profile_config()
    config["profiles"].append(
        {
            "schedulerName": "packing",
            "pluginConfig": [
                {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}},
            ],
        }
    )
    world = World([node("a"), node("b")], [pod("r", "a", requests={"cpu": 1, "memory": "2Gi"})], config=config)
    newcomer = world.pod(pod("p", requests={"cpu": 1, "memory": "2Gi"}))
    for _ in range(3):
        chosen = {name: profile.decide(newcomer).node_name for name, profile in world.profiles.items()}
        assert chosen == {"default-scheduler": "b", "packing": "a"}


def test_the_last_node_may_go_and_come_back() -> None:
    world = World([node("n")])
    for _ in range(3):
        assert world.decide(pod("p")).node_name == "n"
    world.cluster.remove_node("n")
    for _ in range(2):
        decision = world.decide(pod("p"))
        assert isinstance(decision.error, Status)
        assert decision.message == "no nodes available to schedule pods"
    world.put_node(node("m"))
    assert world.decide(pod("p")).node_name == "m"


def test_without_scores_any_feasible_node_will_do() -> None:
    config = profile_config({"score": {"disabled": [{"name": "*"}]}, "preScore": {"disabled": [{"name": "*"}]}})
    world = World([node("a"), node("b", unschedulable=True), node("c")], config=config)
    chosen = {world.decide(pod("p")).node_name for _ in range(4)} | {world.afresh(pod("p")).node_name}
    assert len(chosen) == 1
    assert chosen <= {"a", "c"}


def test_plans_used_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stowplan.runtime.profile.profile._MAX_PLANS", 16)
    world = World([node("a"), node("b")])
    made: list[Pod] = []

    def make(profile: Profile, pod: Pod) -> Plan:
        made.append(pod)
        return Plan(profile, pod)

    monkeypatch.setattr("stowplan.runtime.decide.planned.Plan", make)

    def decide(number: int) -> None:
        assert world.decide(pod("p", labels={"app": f"a{number}"})).node_name

    templates = [world.pod(pod("p", labels={"app": f"a{number}"})) for number in range(20)]
    for number in range(16):
        decide(number)
        decide(number)
    decide(0)
    assert len(made) == 16
    for _ in range(2):
        decide(16)  # one too many: the plans of 1 and 2, which were used least recently, go
    assert len(made) == 17
    for number in (0, *range(3, 17)):
        decide(number)
    assert len(made) == 17
    decide(1)
    assert [each.template for each in made[16:]] == [templates[16].template, templates[1].template]
