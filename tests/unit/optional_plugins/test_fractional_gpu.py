"""FractionalGPU: shares of GPUs in decisions, in a simulation and behind kube-scheduler."""

from __future__ import annotations

import asyncio
import json
from random import Random
from typing import Any

import numpy as np
import pytest
from tests.builders import Json, World, node, pod
from tests.unit.extender.handlers.handler_fakes import FakeClusterCache, FakeReservations, encode, named
from tests.unit.optional_plugins.test_registry import configuration

from stowplan import api
from stowplan.api import codec
from stowplan.config import InvalidConfigurationError, from_builtins
from stowplan.extender.handlers import GroupMember, Handlers
from stowplan.framework import CycleState
from stowplan.optional_plugins.fractional_gpu import FractionalGPU
from stowplan.optional_plugins.fractional_gpu.devices import parse_indices
from stowplan.optional_plugins.fractional_gpu.fragmentation import TargetPod, TargetWorkload
from stowplan.optional_plugins.fractional_gpu.request import whole_number
from stowplan.plugins.registry import REGISTRY
from stowplan.simulator.simulation import Simulation

NAME = "FractionalGPU"
MILLI, INDEX = "alibabacloud.com/gpu-milli", "alibabacloud.com/gpu-index"
MEMORY, COUNT = "aliyun.com/gpu-mem", "aliyun.com/gpu-count"
POLICIES = ["BestFit", "Clustering", "DotProduct", "FGD", "Packing", "Random"]
WORKLOAD = [{"cpu": 1000, "milli": 500, "gpus": 1, "count": 3}, {"cpu": 4000, "milli": 1000, "gpus": 2}]
FULL, SMALL = "node(s) had no GPU with that much left", "node(s) had no GPU of that size"


def config(**args: Any) -> dict[str, Any]:
    if args.get("policy") == "FGD":
        args = {"workload": WORKLOAD, **args}
    enabled = {"multiPoint": {"enabled": [{"name": NAME, "weight": 50}]}}
    return configuration(enabled, {"name": NAME, "args": args})


def gpu_node(name: str, gpus: int, **more: Any) -> Json:
    return node(name, cpu=64, memory="64Gi", extra={MILLI: gpus * 1000}, **more)


def gpu_pod(name: str, milli: int, on: str = "", gpu: str = "", cpu: int = 1, **more: Any) -> Json:
    annotations = {INDEX: gpu} if gpu else {}
    requests = {"cpu": cpu, "memory": "1Gi", **({MILLI: milli} if milli else {})}
    return pod(name, on, requests=requests, annotations=annotations, **more)


def rejections(world: World, item: Json) -> dict[str, str]:
    """Reasons by node; all forms of the filter agree."""
    plugin: FractionalGPU = world.plugin(NAME)
    newcomer, nodes, state = world.pod(item), world.cluster.nodes.everything(), CycleState()
    one_by_one = {info.name: plugin.filter(state, newcomer, info) for _, info in nodes.infos()}
    together: dict[str, str] = {}
    for mask, status in plugin.filter_nodes(state, newcomer, nodes):
        together |= {info.name: status.message for position, info in nodes.infos() if mask[position]}
    passing = plugin.passing_nodes(state, newcomer, nodes)
    assert {info.name for position, info in nodes.infos() if not passing[position]} == together.keys()
    assert {name: status.message for name, status in one_by_one.items() if status is not None} == together
    return together


def test_a_share_fits_one_gpu_not_the_sum_of_several() -> None:
    pods = [gpu_pod("a", 600, "n", "0"), gpu_pod("b", 600, "n", "1")]
    world = World([gpu_node("n", 2), gpu_node("one", 1)], pods, config=config())
    assert rejections(world, gpu_pod("p", 600)) == {"n": FULL}
    assert rejections(world, gpu_pod("p", 400)) == {}
    assert rejections(world, gpu_pod("p", 2000)) == {"n": FULL, "one": SMALL}
    assert world.decide(gpu_pod("p", 600)).node_name == "one"


def test_a_pod_whose_gpu_is_unknown_counts_on_each() -> None:
    world = World([gpu_node("n", 2)], [gpu_pod("a", 600, "n"), gpu_pod("odd", 100, "n", "7")], config=config())
    assert rejections(world, gpu_pod("p", 300)) == {}
    assert rejections(world, gpu_pod("p", 400)) == {"n": FULL}


def test_requests_by_annotations_as_in_the_simulators_of_others() -> None:
    world = World([gpu_node("n", 2)], config=config())
    notes = {MILLI: "400", "alibabacloud.com/gpu-count": "2"}
    item = pod("p", requests={"cpu": 1}, annotations=notes)
    assert world.plugin(NAME)._request(world.pod(item).template) == (2, 400)


def test_annotations_without_bounds_count_as_none() -> None:
    """A pod on a node with such annotations does not stop the others."""
    absurd = "9" * 5000
    notes = {MILLI: absurd, "alibabacloud.com/gpu-count": absurd, INDEX: absurd}
    world = World([gpu_node("n", 2)], [pod("p", "n", requests={"cpu": 1}, annotations=notes)], config=config())
    assert rejections(world, gpu_pod("q", 500)) == {}
    assert parse_indices(absurd, 2) is None
    assert whole_number(absurd) == 0


def test_pods_without_gpus_pass_everywhere() -> None:
    world = World([gpu_node("n", 0), gpu_node("m", 2)], config=config(policy="Packing"))
    assert rejections(world, gpu_pod("p", 0)) == {}
    assert not world.plugin(NAME).concerns(world.pod(gpu_pod("p", 0)).template)


@pytest.mark.parametrize("policy", POLICIES)
def test_kept_answers_equal_fresh_ones_while_pods_come_and_go(policy: str) -> None:
    rng = Random(policy)
    world = World([gpu_node(f"n{number}", number % 4) for number in range(12)], config=config(policy=policy))
    plugin: FractionalGPU = world.plugin(NAME)
    placed: list[Any] = []
    for number in range(150):
        item = gpu_pod(f"p{number}", rng.choice([0, 200, 300, 500, 700, 1000, 2000]), cpu=rng.choice([1, 2]))
        newcomer = world.pod(item)
        decision = world.decide(newcomer)
        assert decision.node_name == world.afresh(newcomer).node_name
        if decision.node_name:
            world.cluster.assume(newcomer, decision.node_name)
            assert plugin.reserve(decision.state, newcomer, decision.node_name) is None
            placed.append(newcomer)
        if placed and rng.random() < 0.4:
            gone = placed.pop(rng.randrange(len(placed)))
            plugin.unreserve(CycleState(), gone, gone.node_name)
            world.cluster.forget(gone)
        check_devices(plugin)


def check_devices(plugin: FractionalGPU) -> None:
    """No GPU is overbooked, whole GPUs are not shared, and everything is accounted for."""
    for info in plugin.nodes:
        gpus = plugin.gpus.of(info.slot)
        assert all(0 <= left <= 1000 for left in gpus.left)
        requested = sum(each.template.requests.get(MILLI, 0) for each in info.pods.values())
        assert sum(gpus.left) + requested == len(gpus.left) * 1000


def simulated(nodes: list[Json], pods: list[Json], **args: Any) -> Simulation:
    made = Simulation(from_builtins(config(**args)), REGISTRY)
    for item in nodes:
        made.api_server.put(codec.convert(api.Node, item))
    made.settle()
    for item in pods:
        made.controllers.create_pod(codec.convert(api.Pod, item))
    made.run()
    return made


def annotations(simulation: Simulation) -> dict[str, dict[str, str]]:
    return {each.metadata.name: each.metadata.annotations for each in simulation.api_server.all(api.Pod)}


def test_the_chosen_gpus_are_written_to_the_pod() -> None:
    pods = [gpu_pod("a", 600), gpu_pod("b", 600), gpu_pod("c", 400), gpu_pod("d", 2000), gpu_pod("e", 0)]
    simulation = simulated([gpu_node("n", 4)], pods)
    notes = annotations(simulation)
    assert {name: found.get(INDEX) for name, found in notes.items()} == {
        "a": "0",
        "b": "1",
        "c": "0",
        "d": "2-3",
        "e": None,
    }
    assert notes["a"]["alibabacloud.com/assume-time"].startswith("2026-01-01T00:00:00")


def test_shares_of_memory_with_the_annotations_of_the_gpushare_extender() -> None:
    nodes = [node("n", cpu=64, extra={MEMORY: 32, COUNT: 2})]
    pods = [pod(name, requests={"cpu": 1, MEMORY: 6}) for name in "abcde"]
    simulation = simulated(nodes, pods, unit="Memory", policy="Packing")
    notes = annotations(simulation)
    assert {name: found.get("ALIYUN_COM_GPU_MEM_IDX") for name, found in notes.items()} == {
        "a": "0",
        "b": "0",
        "c": "1",
        "d": "1",
        "e": None,
    }
    assert notes["a"]["ALIYUN_COM_GPU_MEM_POD"] == "6"
    assert notes["a"]["ALIYUN_COM_GPU_MEM_DEV"] == "16"
    assert notes["a"]["ALIYUN_COM_GPU_MEM_ASSIGNED"] == "false"
    assert notes["a"]["ALIYUN_COM_GPU_MEM_ASSUME_TIME"].isdecimal()


def test_a_deleted_pod_frees_its_gpu_for_a_pending_one() -> None:
    simulation = simulated([gpu_node("n", 1)], [gpu_pod("a", 700), gpu_pod("b", 700)])
    assert INDEX not in annotations(simulation)["b"]
    first = simulation.api_server.get(api.Pod, "a", "default")
    assert first is not None
    simulation.api_server.delete(first)
    simulation.run()
    assert annotations(simulation)["b"][INDEX] == "0"


def test_preemption_frees_the_gpu_that_is_needed() -> None:
    pods = [gpu_pod("low", 700, priority=0), gpu_pod("other", 700, priority=5), gpu_pod("high", 700, priority=10)]
    simulation = simulated([gpu_node("n", 2)], pods[:2])
    simulation.controllers.create_pod(codec.convert(api.Pod, pods[2]))
    simulation.run()
    assert annotations(simulation).keys() == {"other", "high"}
    assert annotations(simulation)["other"][INDEX] == "0"
    assert annotations(simulation)["high"][INDEX] == "1"


class Extender:
    """The plugin behind kube-scheduler, with its requests for one node."""

    def __init__(self) -> None:
        self.reservations = FakeReservations()
        self.cache = FakeClusterCache(gpu_node("n", 1))
        member = GroupMember(FractionalGPU, args={"policy": "BestFit"})
        self.handlers = Handlers([member], cluster_cache=self.cache, reservations=self.reservations, binds=True)

    def passes(self, item: Json) -> bool:
        self.cache.pending[item["metadata"]["uid"]] = self.cache.cluster.pod(codec.convert(api.Pod, item))
        reply = json.loads(self.handlers.filter(named("n", of=item)).body)
        return bool(reply["NodeNames"])

    def bind(self, item: Json) -> str:
        metadata = item["metadata"]
        body = {"PodName": metadata["name"], "PodNamespace": "default", "PodUID": metadata["uid"], "Node": "n"}
        answer: str = json.loads(asyncio.run(self.handlers.answer("bind", encode(body))).body)["Error"]
        return answer


def test_behind_kube_scheduler_a_reservation_counts_until_the_pod_is_seen() -> None:
    extender = Extender()
    first, second, third = (gpu_pod(name, 600) for name in ("a", "b", "c"))
    assert extender.passes(first)
    assert extender.passes(second)
    assert extender.bind(first) == ""
    assert extender.reservations.annotated["default/a"][INDEX] == "0"
    assert extender.reservations.bound == [("default/a", "n")]
    assert "others were faster" in extender.bind(second)
    assert not extender.passes(third)
    plugin = extender.handlers._state.plugins.plugins[0]
    assert isinstance(plugin, FractionalGPU)
    plugin.held.release(first["metadata"]["uid"])
    assert extender.passes(third)


def test_fragmentation_worked_out_by_hand() -> None:
    workload = TargetWorkload([(TargetPod(1000, 500, 1), 3), (TargetPod(4000, 1000, 2), 1), (TargetPod(500, 0, 0), 1)])
    # The share uses both GPUs, the pair needs both whole, and a pod without GPUs uses none.
    assert workload.fragmented(8000, (1000, 1000), "") == 3 * 0 + 0 + 2000
    assert workload.fragmented(8000, (1000, 300), "") == 3 * 300 + 1300 + 1300
    assert workload.fragmented(900, (1000, 300), "") == 5 * 1300
    (taken,) = workload.gradients(8000, (1000, 1000), "", 1000, 1000, 2)
    assert taken == (int(100 / (1 + np.exp(-(2000 / 5) / 1000))), (0, 1))
    assert [way for _, way in workload.gradients(8000, (1000, 300), "", 1000, 300, 1)] == [(0,), (1,)]
    assert workload.gradients(8000, (200, 300), "", 1000, 400, 1) == []


def test_rounding_of_sums_decides_where_fragmentation_does_not_change() -> None:
    """The pod moves classes without GPUs from one sum to another: the total is the same, but rounded differently."""
    classes = [
        (TargetPod(cpu, 0, 0), count) for cpu, count in ((1000, 59), (8000, 55), (8000, 79), (1000, 88), (1000, 36))
    ]
    for pods, score in ((318, 49), (0, 50)):
        workload = TargetWorkload(classes, pods)
        assert workload.fragmented(9000, (1000, 1000), "") == workload.fragmented(5000, (1000, 1000), "")
        assert workload.gradients(9000, (1000, 1000), "", 4000, 0, 0) == [(score, ())]


def test_the_target_workload_is_the_most_frequent_part() -> None:
    pods = [TargetPod(1, 1, 1)] * 6 + [TargetPod(2, 1, 1)] * 3 + [TargetPod(3, 1, 1)]
    workload = TargetWorkload.of(pods, 0.8)
    assert workload.classes == ((TargetPod(1, 1, 1), 6), (TargetPod(2, 1, 1), 3))
    assert (workload.total, workload.pods) == (9, 10)


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({"policy": "Tetris"}, '.policy: Invalid value: "Tetris": must be one of BestFit, Clustering'),
        ({"policy": "FGD", "workload": []}, "policy FGD needs a target workload"),
        ({"unit": "Cores"}, '.unit: Invalid value: "Cores": must be one of Milli, Memory'),
        ({"maxGpuMilli": 0}, ".maxGpuMilli: Invalid value: 0: must be greater than 0"),
        ({"workload": [{"cpu": -1}]}, ".workload[0]"),
        ({"workload": [{"count": 3}], "workloadPods": 2}, ".workloadPods: Invalid value: 2"),
        ({"policyy": "FGD"}, 'unknown field (did you mean "policy"?)'),
    ],
)
def test_bad_args(args: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidConfigurationError) as found:
        from_builtins(configuration({}, {"name": NAME, "args": args}))
    assert problem in str(found.value)
