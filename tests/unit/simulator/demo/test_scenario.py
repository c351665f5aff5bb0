from collections import Counter

import pytest

from stowplan.simulator.demo.scenario import POOL, ZONE, ScenarioStep, load_scenario, manifest_text
from stowplan.simulator.input import InputOptions
from stowplan.simulator.input import read_input as load

SCENARIO = load_scenario()


FRAGMENT = InputOptions(fragment=True)


@pytest.mark.parametrize("count", [3, 30, 300, 301])
def test_nodes_are_as_many_as_asked_for_over_all_zones(count: int) -> None:
    nodes = list(SCENARIO.make_nodes(count))
    assert len({node.metadata.name for node in nodes}) == count
    zones = Counter(node.metadata.labels[ZONE] for node in nodes)
    assert set(zones) == set(SCENARIO.zones)
    assert max(zones.values()) - min(zones.values()) <= 1


def test_some_nodes_are_tainted() -> None:
    pools = {node.metadata.labels[POOL]: node for node in SCENARIO.make_nodes(SCENARIO.nodes)}
    assert {name: bool(node.spec.taints) for name, node in pools.items()} == {
        "general": False,
        "large": False,
        "spot": True,
        "gpu": True,
    }
    assert pools["general"].status.images


def test_gpu_nodes_have_devices() -> None:
    nodes = list(SCENARIO.make_nodes(SCENARIO.nodes))
    slices = {each.spec.node_name: each.spec for each in SCENARIO.make_slices(nodes)}
    assert set(slices) == {node.metadata.name for node in nodes if node.metadata.labels[POOL] == "gpu"}
    assert {len(spec.devices) for spec in slices.values()} == {4}
    assert len({spec.pool.name for spec in slices.values()}) == len(slices)


@pytest.mark.parametrize("step", [step for step in SCENARIO.steps if step.apply], ids=lambda step: step.apply)
def test_manifests_are_sound(step: ScenarioStep) -> None:
    manifests = load([step.apply], lambda name: manifest_text(name, 7), options=FRAGMENT)
    assert manifests.objects
    assert not manifests.unknown
    assert not manifests.notes


def test_the_scenario_has_what_the_demo_promises() -> None:
    kinds = {
        type(item).__name__
        for step in SCENARIO.steps
        if step.apply
        for item, _ in load([step.apply], lambda name: manifest_text(name, 1), options=FRAGMENT).objects
    }
    assert {"Deployment", "StatefulSet", "DaemonSet", "Job", "Service", "PriorityClass", "StorageClass"} <= kinds
    assert "ResourceClaimTemplate" in kinds
    assert any(step.lift for step in SCENARIO.steps)
    assert any(step.lose for step in SCENARIO.steps)
    assert max(step.at + (step.times - 1) * step.every for step in SCENARIO.steps) < SCENARIO.seconds <= 60


def test_repeated_manifests_are_numbered() -> None:
    assert manifest_text("shop.yaml", 3) != manifest_text("shop.yaml", 4)
    assert b"shop-3" in manifest_text("shop.yaml", 3)
