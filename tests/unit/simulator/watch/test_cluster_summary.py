import pytest

from stowplan.simulator.clock import EPOCH
from stowplan.simulator.demo.scenario import load_scenario
from stowplan.simulator.demo.scenario_run import ScenarioRun
from stowplan.simulator.watch.cluster_summary import ClusterSummary
from stowplan.simulator.watch.node_cells import devices_of


@pytest.fixture(scope="module")
def stage() -> ScenarioRun:
    stage = ScenarioRun(load_scenario(), 30, 0)
    while stage.simulation.step() or stage.simulation.advance(EPOCH + 16.0):
        pass
    return stage


def test_it_counts_what_is_there(stage: ScenarioRun) -> None:
    summary = ClusterSummary.of(stage, 5.0)
    engine = stage.simulation.engine
    assert sum(len(fills) for zone in summary.zones for fills in zone.pools.values()) == summary.nodes == 30
    assert summary.pods == len(engine.cluster.pods) == summary.placed
    assert summary.queues == engine.queue_counts()
    assert summary.queues["gated"] > 0
    assert sum(count for _, count in summary.reasons) == summary.queues["unschedulable"]
    assert (summary.rate, summary.evicted) == (5.0, 0)


def test_a_node_is_as_full_as_its_scarcest_resource(stage: ScenarioRun) -> None:
    nodes = stage.simulation.engine.cluster.nodes
    summary, devices = ClusterSummary.of(stage, 0.0), devices_of(stage.simulation.api_server)
    for zone in summary.zones:
        infos = [info for info in nodes if info.labels["topology.kubernetes.io/zone"] == zone.name]
        gpu = [info for info in infos if info.labels["example.com/pool"] == "gpu"]
        for cell, info in zip(zone.pools.get("gpu", []), gpu, strict=True):
            taken, whole = devices[info.name]
            assert 1.0 >= cell.fill >= taken / whole > 0.0
        cpu = sum(info.requested["cpu"] for info in infos) / sum(info.allocatable["cpu"] for info in infos)
        assert zone.cpu == pytest.approx(cpu)
    assert summary.gpus == (sum(taken for taken, _ in devices.values()), sum(whole for _, whole in devices.values()))
    assert summary.gpus[1] == 4 * len(devices) > 0
