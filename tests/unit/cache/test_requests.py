"""What a pod asks a node for."""

from typing import Any

import pytest
from tests.builders import Json, World, container, pod

from stowplan import api
from stowplan.api import codec
from stowplan.cache.requests import (
    is_extended_resource,
    is_schedulable_resource,
    scheduling_requests,
    scoring_requests,
)

MI = 1 << 20


def spec(**fields: Any) -> api.PodSpec:
    return codec.convert(api.PodSpec, fields)


def sidecar(name: str, **requests: Any) -> Json:
    return {**container(name, **requests), "restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("fields", "requests"),
    [
        ({"containers": [container(cpu="100m"), container(cpu="1", memory="1Gi")]}, {"cpu": 1100, "memory": 1 << 30}),
        ({"containers": [container(cpu="500u"), container(cpu="500u")]}, {"cpu": 1}),
        ({"containers": [container(cpu="1n")]}, {"cpu": 1}),
        ({"containers": [container(memory="1500m")]}, {"memory": 2}),
        ({"containers": [container(cpu=1)], "initContainers": [container(cpu=3)]}, {"cpu": 3000}),
        ({"containers": [container(cpu=2)], "initContainers": [sidecar("s", cpu=1)]}, {"cpu": 3000}),
        (
            {"containers": [container(cpu=1)], "initContainers": [sidecar("s", cpu=1), container(cpu=3)]},
            {"cpu": 4000},
        ),
        (
            {"containers": [container(cpu=1)], "initContainers": [container(cpu=3), sidecar("s", cpu=1)]},
            {"cpu": 3000},
        ),
        ({"containers": [container(cpu=1)], "overhead": {"cpu": "250m", "memory": "1"}}, {"cpu": 1250, "memory": 1}),
        ({"containers": [container(**{"example.com/x": 2})]}, {"example.com/x": 2}),
        ({"containers": [container(**{"hugepages-2Mi": "4Mi"})]}, {"hugepages-2Mi": 4 * MI}),
        ({"containers": [container(**{"unknown": 2, "storage": "1Gi"})]}, {}),
        ({"containers": [container(cpu=0)]}, {"cpu": 0}),
        ({}, {}),
    ],
)
def test_sums_over_containers(fields: Json, requests: dict[str, int]) -> None:
    assert scheduling_requests(spec(**fields))[0] == requests


@pytest.mark.parametrize(
    ("level", "requests"),
    [
        ({"cpu": "5"}, {"cpu": 5000, "memory": 1000}),
        ({"cpu": "5", "memory": "7"}, {"cpu": 5000, "memory": 7}),
        ({"example.com/x": "9"}, {"cpu": 2000, "memory": 1000, "example.com/x": 1}),
        ({"cpu": "5", "example.com/x": "9"}, {"cpu": 5000, "memory": 1000, "example.com/x": 1}),
    ],
)
def test_pod_level_requests_replace_sums(level: Json, requests: dict[str, int]) -> None:
    containers = [container(cpu=2, memory=1000, **{"example.com/x": 1})]
    expected = {"example.com/x": 1, **requests}
    assert scheduling_requests(spec(containers=containers, resources={"requests": level}))[0] == expected


@pytest.mark.parametrize(
    ("fields", "non_zero"),
    [
        ({"containers": [container()]}, (100, 200 * MI)),
        ({"containers": [container(), container(cpu="50m")]}, (150, 400 * MI)),
        ({"containers": [container(cpu=0, memory=0)]}, (0, 0)),
        ({"containers": [container(cpu="10m")], "initContainers": [container(memory="1Gi")]}, (100, 1 << 30)),
        ({"containers": [container()], "overhead": {"cpu": "5m"}}, (105, 200 * MI)),
        ({"containers": [container()], "resources": {"requests": {"cpu": "3"}}}, (3000, 200 * MI)),
        ({"containers": [container(memory=5)], "resources": {"requests": {"cpu": "3"}}}, (3000, 5)),
        ({"containers": []}, (0, 0)),
    ],
)
def test_defaults_that_scoring_assumes(fields: Json, non_zero: tuple[int, int]) -> None:
    assert scheduling_requests(spec(**fields))[1] == non_zero


def test_scoring_ignores_pod_level_requests_of_the_newcomer() -> None:
    item = pod("p", containers=[container(cpu="10m")], resources={"requests": {"cpu": "3", "memory": "1Gi"}})
    assert scoring_requests(World().pod(item).template) == {"cpu": 10, "memory": 200 * MI}
    assert scoring_requests(World().pod(pod("p")).template) == {"cpu": 100, "memory": 200 * MI}


def resized(requests: Json, allocated: Json, *, infeasible: bool = False) -> Json:
    report = {"name": "c", "resources": {"requests": requests}, "allocatedResources": allocated}
    pending = [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}] if infeasible else []
    return {"containerStatuses": [report], "conditions": pending}


@pytest.mark.parametrize(
    ("status", "cpu"),
    [
        ({}, 1000),
        (resized({"cpu": "2"}, {"cpu": "500m"}), 2000),
        (resized({"cpu": "500m"}, {"cpu": "3"}), 3000),
        (resized({"cpu": "500m"}, {"cpu": "200m"}), 1000),
        (resized({"cpu": "500m"}, {"cpu": "200m"}, infeasible=True), 500),
    ],
)
def test_running_pods_count_what_they_have(status: Json, cpu: int) -> None:
    world = World([{"metadata": {"name": "n"}}], [pod("p", "n", requests={"cpu": 1}, status=status)])
    assert world.cluster.nodes.requested["cpu"].values[0] == cpu
    world.cluster.remove_pod("default/p")
    assert world.cluster.nodes.requested["cpu"].values[0] == 0


def test_resized_pods_keep_their_template() -> None:
    world = World()
    plain, grown = (
        world.pod(pod(f"p{i}", requests={"cpu": 1}, status=s)) for i, s in enumerate(({}, resized({"cpu": "2"}, {})))
    )
    assert plain.template is grown.template
    assert plain.used is None
    assert grown.used is not None
    assert grown.used[0] == {"cpu": 2000}


@pytest.mark.parametrize(
    ("name", "schedulable", "extended"),
    [
        ("cpu", True, False),
        ("ephemeral-storage", True, False),
        ("storage", False, False),
        ("hugepages-1Gi", True, False),
        ("attachable-volumes-aws-ebs", True, False),
        ("example.com/gpu", True, True),
        ("kubernetes.io/batch-cpu", True, False),
        ("requests.example.com/gpu", False, False),
    ],
)
def test_sorts_of_resources(name: str, schedulable: bool, extended: bool) -> None:
    assert is_schedulable_resource(name) is schedulable
    assert is_extended_resource(name) is extended
