import json
from collections import Counter

import pytest

from stowplan.bench.object_series import (
    FIRST_RUNNING_POD_NUMBER,
    PAGE_NODES,
    NodeList,
    node_name,
    node_pages,
    nodes,
    pods,
)
from stowplan.bench.scenario import NodeSeries, PodSeries, load_scenario
from stowplan.cache import Cluster

PLAIN = NodeSeries()


def test_pages_are_a_function_of_the_seed() -> None:
    assert list(node_pages(20, PLAIN, 1)) == list(node_pages(20, PLAIN, 1))
    assert list(node_pages(20, PLAIN, 1)) != list(node_pages(20, PLAIN, 2))


@pytest.mark.parametrize(("count", "sizes"), [(3, [3]), (PAGE_NODES, [PAGE_NODES]), (PAGE_NODES + 1, [PAGE_NODES, 1])])
def test_nodes_come_in_pages(count: int, sizes: list[int]) -> None:
    assert [len(json.loads(page)["items"]) for page in node_pages(count, PLAIN, 0)] == sizes


def test_nodes_have_the_promised_size() -> None:
    page = next(node_pages(100, PLAIN, 0))
    assert 5_500 < len(page) / 100 < 7_000
    for node in json.loads(page)["items"]:
        assert len(node["metadata"]["labels"]) == 15
        assert len(node["status"]["images"]) == 20
        assert all("@sha256:" in image["names"][0] and len(image["names"]) == 2 for image in node["status"]["images"])


def test_nodes_differ_a_little() -> None:
    made = list(nodes(700, PLAIN, 0))
    assert [node.metadata.name for node in made] == [node_name(number) for number in range(700)]
    zones = Counter(node.metadata.labels["topology.kubernetes.io/zone"] for node in made)
    assert list(zones.values()) == [70] * 10
    assert len({node.metadata.labels["kubernetes.io/hostname"] for node in made}) == 700
    for resource in ("cpu", "memory"):
        assert 1 < len({node.status.allocatable[resource] for node in made}) < 10


def test_a_scenario_changes_what_it_says_about_nodes() -> None:
    taints = [node.spec.taints for node in nodes(110, load_scenario("templates").cluster, 0)]
    assert sum(bool(taint) for taint in taints) == 30
    labels = [node.metadata.labels for node in nodes(11, load_scenario("user-plugin").cluster, 0)]
    assert sum(each["example.com/rack-state"] == "maintenance" for each in labels) == 1
    assert all(len(each) == 17 for each in labels)


def test_an_empty_list_has_no_items() -> None:
    assert NodeList().items == ()


def test_pods_are_always_the_same() -> None:
    series = load_scenario("unique").incoming
    assert list(pods(series, 20)) == list(pods(series, 20))


def test_each_pod_has_its_own_name_uid_and_token_volume() -> None:
    made = [*pods(PodSeries(), 50), *pods(PodSeries(), 50, FIRST_RUNNING_POD_NUMBER)]
    assert len({pod.metadata.name for pod in made}) == 100
    assert len({pod.metadata.uid for pod in made}) == 100
    assert len({pod.spec.volumes[0].name for pod in made}) == 100
    assert all(len(pod.metadata.uid) == 36 for pod in made)


def test_running_pods_are_on_the_nodes_that_they_are_given() -> None:
    series = load_scenario("preemption").running
    assert series is not None
    made = list(pods(series, 21, FIRST_RUNNING_POD_NUMBER, lambda number: f"node-{number % 4}"))
    assert [pod.spec.node_name for pod in made[:5]] == ["node-0", "node-1", "node-2", "node-3", "node-0"]
    assert {pod.spec.priority for pod in made} == {0, 10, 20}
    assert all(pod.status.start_time for pod in made)


def test_replicas_share_a_template() -> None:
    cluster = Cluster()
    made = [cluster.pod(pod) for pod in pods(load_scenario("basic").incoming, 10)]
    assert len({id(pod.template) for pod in made}) == 1
