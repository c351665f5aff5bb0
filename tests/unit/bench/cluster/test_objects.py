import json
from typing import Any

import pytest

from stowplan.api.quantity import milli_value
from stowplan.bench.cluster.objects import arriving, beside_nodes, beside_pods, incoming, nodes, running
from stowplan.bench.cluster.workload import NAMES, load_workload
from stowplan.bench.scenario import NodeSeries


def bodies(written: Any) -> list[dict[str, Any]]:
    return [json.loads(body) for _, body in written]


def test_nodes_are_the_same_whichever_are_asked_for() -> None:
    every = list(nodes(NodeSeries(), range(600), seed=3))
    assert list(nodes(NodeSeries(), range(498, 503), seed=3)) == every[498:503]
    assert [name for name, _ in every[:2]] == ["node-0", "node-1"]
    assert 5_500 < len(every[0][1]) < 7_500


@pytest.mark.parametrize("name", NAMES)
def test_what_the_server_fills_in_is_left_out(name: str) -> None:
    workload = load_workload(name)
    written = [*nodes(workload.cluster, range(2), 0), *incoming(workload, 2), *running(workload, 2)]
    for (name_, _), body in zip(written, bodies(written), strict=True):
        assert body["metadata"]["name"] == name_
        assert not body["metadata"].keys() & {"uid", "resourceVersion", "creationTimestamp"}
        assert ("status" in body) == (body["kind"] == "Node")


def test_pods_wait_or_run() -> None:
    workload = load_workload("preemption")
    assert [body["spec"].get("nodeName") for body in bodies(incoming(workload, 3))] == [None] * 3
    placed = bodies(running(workload, 4))
    assert len(placed) == 32
    assert [body["spec"]["nodeName"] for body in placed[:5]] == ["node-0", "node-1", "node-2", "node-3", "node-0"]
    assert {body["spec"]["priorityClassName"] for body in placed} == {"low-0", "low-10", "low-20"}


def test_names_never_meet() -> None:
    workload = load_workload("preemption-async")
    assert workload.arriving is not None
    names = [name for name, _ in (*incoming(workload, 50), *running(workload, 10), *arriving(workload.arriving))]
    assert len(set(names)) == len(names)


def test_preemptors_take_the_room_of_three_pods() -> None:
    """Of the smallest node as of the largest; a small pod fits beside four of them."""
    workload = load_workload("preemption-async")
    assert workload.arriving is not None
    (high, *_), (small,) = bodies(arriving(workload.arriving)), bodies(incoming(workload, 1))
    low = bodies(running(workload, 1))
    assert len(low) == 4
    of_low, of_high, of_small = (
        milli_value(body["spec"]["containers"][0]["resources"]["requests"]["cpu"]) for body in (low[0], high, small)
    )
    for free in (30_900 - 4 * of_low, 31_850 - 4 * of_low):
        assert of_small <= free < of_high
        assert free + 2 * of_low < of_high <= free + 3 * of_low


def test_volumes_come_with_preemptors() -> None:
    workload = load_workload("preemption-pvs")
    (body,) = bodies(incoming(workload, 1))
    volume, claim = bodies(each for _, each in beside_pods(workload, 1))
    assert body["spec"]["volumes"][1]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    assert claim["spec"]["volumeName"] == volume["metadata"]["name"]
    assert volume["spec"]["claimRef"]["name"] == claim["metadata"]["name"]


def test_what_comes_with_nodes_and_pods() -> None:
    workload = load_workload("devices")
    (kind, (name, _)), (_, second) = beside_nodes(workload, 2)
    assert (kind, name) == ("ResourceSlice", "node-0-gpu.example.com")
    (slice_,) = bodies([second])
    assert (slice_["spec"]["nodeName"], slice_["spec"]["pool"]["name"]) == ("node-1", "node-1")
    assert len(slice_["spec"]["devices"]) == 8
    claims = dict(claim for _, claim in beside_pods(workload, 3))
    named = [pod["spec"]["resourceClaims"][0]["resourceClaimName"] for pod in bodies(incoming(workload, 3))]
    assert list(claims) == named
    assert not list(beside_pods(load_workload("basic"), 3))
