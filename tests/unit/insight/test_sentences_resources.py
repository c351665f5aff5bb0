"""Refusals because of amounts: sentences, figures, facts, changes, where the request comes from, fragmentation."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import World, container, node, pod

from stowplan.framework import CycleState, Explanation, Refusal
from stowplan.insight.explain import explain, run
from stowplan.insight.matrix import FilterMatrix

GPU = "nvidia.com/gpu"
GI = 2**30


def explained(world: World, **spec: Any) -> Explanation:
    return run(explain(world.profile, world.pod(pod("p", **spec))))


def refusals(world: World, on: str, **spec: Any) -> list[Refusal]:
    info = world.cluster.nodes.get(on)
    assert info is not None
    return FilterMatrix(world.profile, world.pod(pod("p", **spec))).explain("NodeResourcesFit", info)


def busy(*cpus: str, cpu: int = 16) -> World:
    """A node for each amount of CPU that a pod on it requests."""
    world = World([node(f"n{number}", cpu=cpu) for number in range(len(cpus))])
    for number, amount in enumerate(cpus):
        world.add_pod(pod(f"x{number}", f"n{number}", requests={"cpu": amount}))
    return world


# One node
def test_too_little_is_free() -> None:
    (found,) = refusals(busy("4050m"), "n0", requests={"cpu": "12"})
    assert (found.id, found.lasting) == ("resources.insufficient", False)
    assert found.text == "needs 12 CPU; 11.95 of 16 are free (4.05 requested by 1 pod)"
    assert (found.wanted, found.there, found.rule) == ("12 CPU", "11.95 of 16 free", "with 12 CPU free")
    assert found.facts == {"resource": "cpu", "wanted": 12000, "free": 11950, "allocatable": 16000, "pods": 1}
    (change,) = found.changes
    assert (change.kind, change.on, change.text) == ("request", "pod", "cpu: 11950m")
    assert change.effort == pytest.approx(1 + 20 * 50 / 12000)
    assert [(each.path, each.value) for each in change.patch] == [
        ("/spec/containers/0/resources/requests/cpu", "11950m")
    ]


def test_the_node_is_too_small() -> None:
    (found,) = refusals(busy("1", cpu=4), "n0", requests={"cpu": "6"})
    assert (found.id, found.lasting) == ("resources.too-small", True)
    assert found.text == "asks for 6 CPU; the node has 4 in all"
    assert [change.text for change in found.changes] == ["cpu: 3"]


@pytest.mark.parametrize(
    ("requests", "texts"),
    [
        ({"memory": "9Gi"}, ["asks for 9Gi; the node has 8Gi in all"]),
        ({"ephemeral-storage": "9Gi"}, ["asks for 9Gi ephemeral-storage; the node offers none"]),
        ({GPU: "3"}, ["needs 3 nvidia.com/gpu; 1 of 4 is free (3 requested by 1 pod)"]),
        ({GPU: "5"}, ["asks for 5 nvidia.com/gpu; the node has 4 in all"]),
        ({"amd.com/gpu": "1"}, ["asks for 1 amd.com/gpu; the node offers none"]),
        (
            {"cpu": "5", "memory": "8193Mi"},
            ["asks for 5 CPU; the node has 4 in all", "asks for 8.001Gi; the node has 8Gi in all"],
        ),
    ],
)
def test_resources_by_name(requests: dict[str, str], texts: list[str]) -> None:
    world = World([node("a", extra={GPU: "4"})], [pod("x", "a", requests={GPU: "3"})])
    assert [found.text for found in refusals(world, "a", requests=requests)] == texts


def test_pods_that_request_nothing_are_mentioned_if_they_are_most() -> None:
    world = busy("3", cpu=4)
    for number in range(2):
        world.add_pod(pod(f"y{number}", "n0"))
    (found,) = refusals(world, "n0", requests={"cpu": "2"})
    assert found.notes == ("2 pods on n0 request no cpu: usage is not counted, requests are.",)


def test_too_many_pods() -> None:
    world = World([node(name, pods=1) for name in "ab"], [pod("x", "a"), pod("y", "b")])
    (found,) = refusals(world, "a")
    assert (found.id, found.text, found.lasting) == ("pods.too-many", "holds 1 of 1 pods", False)
    assert found.facts == {"resource": "pods", "wanted": 1, "free": 0, "allocatable": 1}
    answer = explained(world)
    assert (answer.sentence, answer.verdict) == ("Both nodes hold as many pods as allowed (1).", "not-now")


# It dominates
def test_the_best_node() -> None:
    answer = explained(busy("6", "4050m", "9"), requests={"cpu": "12"})
    assert answer.sentence == "Needs 12 CPU on one node; the best of 3 nodes has 11.95 free."
    assert answer.more[0] == "28.95 CPU are free on 3 nodes, at most 11.95 on one."
    assert answer.because is not None
    assert (answer.because.best, answer.because.facts["freeInAll"]) == ("n1", 28950)
    assert answer.proposals[0].change.text == "lower cpu from 12 to 11.95"


def test_the_largest_node_although_another_has_more_free() -> None:
    world = World([node("small", cpu=4), node("large", cpu=8)], [pod("x", "large", requests={"cpu": "7"})])
    answer = explained(world, requests={"cpu": "12"})
    assert (answer.sentence, answer.verdict) == ("Asks for 12 CPU; the largest of 2 nodes has 8.", "never")
    assert answer.more == ("Never fits, as the pod and the nodes are.",)


def test_fragmented_devices() -> None:
    world = World([node(f"n{number}", extra={GPU: "8"}) for number in range(9)])
    for number, used in enumerate((5, 5, 6, 6, 6, 7, 7, 7, 7)):
        world.add_pod(pod(f"x{number}", f"n{number}", requests={GPU: str(used)}))
    answer = explained(world, requests={GPU: "8"})
    assert answer.sentence == "Needs 8 nvidia.com/gpu on one node; the best of 9 nodes has 3 free."
    assert answer.more[0] == "16 nvidia.com/gpu are free on 9 nodes, at most 3 on one."


def test_fragmentation_is_not_mentioned_where_the_sum_would_not_do() -> None:
    answer = explained(busy("15", "15"), requests={"cpu": "12"})
    assert [line for line in answer.more if "on one" in line] == []


def test_two_resources_that_no_node_has_together() -> None:
    world = World([node("a", cpu=4, memory="64Gi"), node("b", cpu=16, memory="8Gi"), node("c", cpu=2, memory="64Gi")])
    answer = explained(world, requests={"cpu": "8", "memory": "32Gi"})
    assert answer.sentence == (
        "Needs 8 CPU and 32Gi on one node; nodes with that memory have at most 4 CPU free (2), "
        "nodes with that CPU have at most 8Gi free (1)."
    )
    assert answer.steps[-1].rule == "with 8 CPU and 32Gi free"


def test_three_resources_that_no_node_has_together() -> None:
    nodes = [
        node("a", cpu=8, memory="32Gi"),
        node("b", cpu=8, memory="8Gi", extra={GPU: "1"}),
        node("c", cpu=2, memory="32Gi", extra={GPU: "1"}),
    ]
    answer = explained(World(nodes), requests={"cpu": "8", "memory": "32Gi", GPU: "1"})
    assert answer.sentence.startswith(
        "Needs 8 CPU, 32Gi and 1 nvidia.com/gpu on one node, and no node has all of it free: "
    )


def test_a_resource_that_no_node_offers() -> None:
    world = World([node("a"), node("b", extra={"amd.com/gpu": "8"})])
    answer = explained(world, requests={GPU: "1"})
    assert answer.sentence == (
        "No node offers nvidia.com/gpu; is the device plugin running? 1 node offers amd.com/gpu."
    )
    assert answer.verdict == "never"
    assert explained(World([node("a")]), requests={"hugepages-2Mi": "4Mi"}).sentence == "No node offers hugepages-2Mi."


def test_a_resource_that_only_other_nodes_offer() -> None:
    world = World([node("a", labels={"pool": "x"}), node("c", labels={"pool": "x"}), node("b", extra={GPU: "8"})])
    answer = explained(world, requests={GPU: "1"}, nodeSelector={"pool": "x"})
    assert answer.sentence == (
        "None of the 2 nodes that are left offers nvidia.com/gpu; is the device plugin running? 1 other node offers it."
    )


def test_room_kept_for_nominated_pods() -> None:
    world = World([node("a", cpu=4)])
    world.nominate(pod("urgent", nominated="a", priority=10, requests={"cpu": "2"}))
    (found,) = refusals(world, "a", requests={"cpu": "3"})
    assert (found.id, found.lasting) == ("resources.insufficient", False)
    assert found.facts["nominated"] == ["default/urgent"]
    answer = explained(world, requests={"cpu": "3"})
    assert answer.sentence == "Needs 3 CPU on one node; the only node has 2 free."
    assert answer.more[0] == "2 CPU on a are kept for default/urgent, which is nominated to it."
    assert answer.verdict == "not-now"


def test_an_extended_resource_that_a_device_class_serves_is_not_this_plugins_refusal() -> None:
    world = World([node("a", cpu=1)])
    world.put("DeviceClass", name="gpus", spec={"extendedResourceName": GPU})
    assert [found.text for found in refusals(world, "a", requests={"cpu": "2", GPU: "1"})] == [
        "asks for 2 CPU; the node has 1 in all"
    ]


# Lower requests
@pytest.mark.parametrize(
    ("spec", "patch"),
    [
        (
            {"containers": [container("app", cpu="11"), container("proxy", cpu="500m")], "overhead": {"cpu": "500m"}},
            {"/spec/containers/0/resources/requests/cpu": "9500m"},
        ),
        (
            {"containers": [container("app", cpu="1")], "initContainers": [container("migrate", cpu="12")]},
            {"/spec/initContainers/0/resources/requests/cpu": "10500m"},
        ),
        (
            {
                "containers": [container("app", cpu="1")],
                "initContainers": [{**container("mesh", cpu="1"), "restartPolicy": "Always"}, container("m", cpu="11")],
            },
            {"/spec/initContainers/1/resources/requests/cpu": "9500m"},
        ),
        (
            {"containers": [container("app", cpu="11")], "resources": {"requests": {"cpu": "12"}}},
            {
                "/spec/resources/requests/cpu": "10500m",
                "/spec/containers/0/resources/requests/cpu": "10500m",
            },
        ),
    ],
)
def test_the_lower_request_holds(spec: dict[str, Any], patch: dict[str, str]) -> None:
    answer = explained(busy("5500m"), **spec)
    assert answer.proposals[0].change.text == "lower cpu from 12 to 10.5"
    assert {each.path: each.value for each in answer.proposals[0].change.patch} == patch


def test_extended_resources_have_equal_limits() -> None:
    amounts = {"requests": {GPU: "4"}, "limits": {GPU: "4"}}
    answer = explained(World([node("a", extra={GPU: "2"})]), containers=[{"name": "c", "resources": amounts}])
    assert {each.path.split("/")[-2]: each.value for each in answer.proposals[0].change.patch} == {
        "requests": "2",
        "limits": "2",
    }


# Requirements and scores
def test_requirement_and_scores() -> None:
    world = busy("6", cpu=16)
    item = world.pod(pod("p", requests={"cpu": "2", "memory": "4Gi"}))
    info = world.cluster.nodes.get("n0")
    fit = world.plugin("NodeResourcesFit")
    found = fit.requirement(CycleState(), item, info)
    assert (found.wanted, found.there) == ("2 CPU, 4Gi", "10 of 16 CPU, 8Gi of 8Gi free")
    assert fit.explain_score(CycleState(), item, info) == "cpu 50 %, memory 52 % requested with the pod"
    balanced = world.plugin("NodeResourcesBalancedAllocation")
    assert balanced.explain_score(CycleState(), item, info) == (
        "cpu 50 %, memory 50 % requested with the pod: 0 points apart, 38 before"
    )


def test_images_in_words() -> None:
    images = [{"names": ["app:1"], "sizeBytes": GI}]
    world = World([node("a", images=images), node("b")])
    plugin = world.plugin("ImageLocality")
    a, b = world.cluster.nodes.get("a"), world.cluster.nodes.get("b")
    one = world.pod(pod("p"))
    two = world.pod(pod("q", containers=[container(), container("d", image="db:2")]))
    assert [plugin.explain_score(CycleState(), item, info) for item in (one, two) for info in (a, b)] == [
        "has its image (1Gi)",
        "does not have its image",
        "has 1 of 2 images (1Gi)",
        "has none of its images",
    ]
