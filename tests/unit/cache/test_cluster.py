"""Pods that come, go, are assumed and forgotten, on nodes that are known or not."""

import pytest
from tests.builders import ZONE, Json, World, container, node, pod, selector

from stowplan import api
from stowplan.api import codec
from stowplan.api.selectors import selector_from_map
from stowplan.cache import CacheError, Clause, Cluster, PodSelector


def cpu(world: World, name: str) -> int:
    return world.cluster.nodes.requested["cpu"].values[world.cluster.nodes.slot_of[name]]


def one(name: str, on: str = "", **more: object) -> Json:
    return pod(name, on, requests={"cpu": 1}, labels={"app": "a"}, **more)


def test_add_and_remove() -> None:
    world = World([node("n")], [one("p", "n")])
    assert cpu(world, "n") == 1000
    world.cluster.remove_pod("default/p")
    assert cpu(world, "n") == 0
    world.cluster.remove_pod("default/p")
    assert cpu(world, "n") == 0


def test_a_pod_that_is_added_again_is_an_update() -> None:
    world = World([node("n"), node("m")], [one("p", "n")])
    world.add_pod(pod("p", "m", requests={"cpu": 3}))
    assert (cpu(world, "n"), cpu(world, "m")) == (0, 3000)
    assert len(world.cluster.pods) == 1


def test_assume_and_forget() -> None:
    world = World([node("n")])
    made = world.pod(one("p"))
    world.cluster.assume(made, "n")
    assert (made.node_name, cpu(world, "n")) == ("n", 1000)
    world.cluster.forget(made)
    assert (made.node_name, cpu(world, "n")) == ("", 0)
    world.cluster.forget(made)
    assert not world.cluster.assumed


def test_assuming_twice_is_a_mistake() -> None:
    world = World([node("n")])
    made = world.pod(one("p"))
    world.cluster.assume(made, "n")
    with pytest.raises(CacheError, match=r"pod default/p\(default/p\) is in the cache, so can't be assumed"):
        world.cluster.assume(world.pod(one("p")), "n")


def test_a_confirmed_pod_cannot_be_forgotten() -> None:
    world = World([node("n"), node("m")])
    made = world.pod(one("p"))
    world.cluster.assume(made, "n")
    confirmed = world.add_pod(one("p", "m"))
    world.cluster.forget(made)
    assert (cpu(world, "n"), cpu(world, "m")) == (0, 1000)
    world.cluster.forget(confirmed)
    assert cpu(world, "m") == 1000


def test_pods_wait_for_their_node() -> None:
    world = World([], [one("p", "n"), one("q", "n")])
    world.cluster.remove_pod("default/q")
    world.put_node(node("n"))
    assert cpu(world, "n") == 1000
    world.cluster.remove_node("n")
    assert set(world.cluster.pods) == {"default/p"}
    world.put_node(node("n"))
    assert cpu(world, "n") == 1000
    world.cluster.remove_node("n")
    world.cluster.remove_pod("default/p")
    world.put_node(node("n"))
    assert cpu(world, "n") == 0


def test_removing_an_unknown_node_changes_nothing() -> None:
    world = World([node("m")], [one("p", "n")])
    world.cluster.remove_node("n")
    assert [info.name for info in world.cluster.nodes] == ["m"]
    assert set(world.cluster.pods) == {"default/p"}
    world.put_node(node("n"))
    assert cpu(world, "n") == 1000


def test_claims_and_ports_are_counted() -> None:
    def holder(name: str) -> Json:
        volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "x"}}]
        return pod(name, "n", volumes=volumes, containers=[container(ports=[{"hostPort": 80, "containerPort": 80}])])

    world = World([node("n")], [holder("p"), holder("q")])
    assert world.cluster.claim_users == {"default/x": 2}
    for uid, left in (("default/p", {"default/x": 1}), ("default/q", {})):
        world.cluster.remove_pod(uid)
        assert world.cluster.claim_users == left


def test_counts_begin_with_the_pods_that_are_there() -> None:
    world = World([node("n", zone="a"), node("m", zone="a")], [one("p", "n"), one("q", "n"), one("r", "m")])
    apps = PodSelector((Clause(None, selector_from_map({"app": "a"})),), terminating=True)
    counts = world.cluster.counts_for(apps)
    domains = counts.by_domain(world.cluster.nodes.label(ZONE))
    assert (counts.array[:2].tolist(), domains.of(0)) == ([2, 1], 3)
    world.cluster.remove_pod("default/q")
    world.add_pod(pod("s", "m", labels={"app": "b"}))
    assert (counts.array[:2].tolist(), domains.of(1)) == ([1, 1], 2)
    assert world.cluster.counts_for(apps) is counts


def test_rules_version_grows_with_objects_that_filters_and_scores_look_up() -> None:
    world = World()
    version = world.cluster.selection.rules_version
    world.put("Service", name="s", namespace="default", spec={"selector": {"app": "a"}})
    assert world.cluster.selection.rules_version > version
    version = world.cluster.selection.rules_version
    world.put("PodDisruptionBudget", name="s", namespace="default", spec={"selector": selector(app="a")})
    assert world.cluster.selection.rules_version == version


@pytest.mark.parametrize("keep", [False, True])
def test_whole_objects_are_kept_on_request(keep: bool) -> None:
    cluster = Cluster(keep_objects=keep)
    item = one("p")
    assert cluster.pod(codec.convert(api.Pod, item), item).source is (item if keep else None)
