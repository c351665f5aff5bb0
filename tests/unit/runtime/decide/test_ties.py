"""Of nodes with equal totals the one with the fewest pods is chosen, and of those a random one."""

from collections import Counter

from tests.builders import World, node, pod


def test_equal_nodes_get_their_share() -> None:
    chosen: Counter[str] = Counter()
    for seed in range(200):
        chosen[World([node(f"n{i}") for i in range(4)], seed=seed).decide(pod("p")).node_name] += 1
    assert all(30 <= count <= 70 for count in chosen.values()), chosen
    assert len(chosen) == 4


def test_the_same_seed_makes_the_same_choices() -> None:
    def choices(seed: int) -> list[str]:
        world = World([node(f"n{i}") for i in range(90)], seed=seed)
        made = []
        for i in range(40):
            newcomer = world.pod(pod(f"p{i}", requests={"cpu": "100m"}))
            decision = world.profile.decide(newcomer)
            assert decision.node_name == world.profile.decide_afresh(newcomer).node_name
            world.cluster.assume(newcomer, decision.node_name)
            made.append(decision.node_name)
        return made

    assert choices(1) == choices(1) != choices(2)


def test_a_record_names_all_that_tie() -> None:
    world = World([node("a"), node("b"), node("small", cpu=1)])
    decision = world.decide(pod("p", requests={"cpu": "500m"}))
    record = decision.record()
    assert sorted(record.tied) == ["a", "b"]
    assert record.tied[0] == record.node == decision.node_name


def test_pods_that_score_all_nodes_equally_go_to_all_of_them() -> None:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"score": {"disabled": [{"name": "*"}]}}}],
    }
    nodes = [node(f"n{i}", cpu=100, pods=200) for i in range(5)]
    world = World(nodes, config=config)
    pods: Counter[str] = Counter()
    for i in range(100):
        newcomer = world.pod(pod(f"p{i}"))
        decision = world.profile.decide(newcomer)
        assert decision.node_name == world.profile.decide_afresh(newcomer).node_name
        world.cluster.assume(newcomer, decision.node_name)
        pods[decision.node_name] += 1
    assert set(pods.values()) == {20}
