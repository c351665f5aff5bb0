"""Nodes that fail, are drained or interrupted, with times worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.simulator.scenario.scenarios import Diary, load, pod, pool, simulate, workload

from stowplan import api
from stowplan.api import codec
from stowplan.simulator.scenario import ScenarioSimulation


def web(replicas: int = 2, cpu: str = "1") -> dict[str, Any]:
    return {"name": "web", "template": workload("Deployment", "web", cpu, replicas=replicas)}


def failing(*workloads: dict[str, Any], count: int = 2, **failure: Any) -> tuple[ScenarioSimulation, Diary]:
    failure = {"at": "10m", "nodes": {"name": "general-1"}, **failure}
    return simulate(load(*workloads, nodes={"pools": [pool(count=count)]}, failures=[failure]))


def nodes_of(simulation: ScenarioSimulation) -> set[str]:
    return {item.spec.node_name for item in simulation.api_server.all(api.Pod)}


def test_pods_of_a_failed_node_are_evicted_after_grace_period_and_toleration() -> None:
    """The node is tainted 50 s after its failure, and pods tolerate that for 300 s."""
    simulation, diary = failing(web())
    assert [(time, what) for time, what, _ in diary.of("evicted")] == [(600 + 50 + 300, "evicted")]
    assert nodes_of(simulation) == {"general-2"}
    node = simulation.api_server.get(api.Node, "general-1")
    assert node is not None
    assert [condition.status for condition in node.status.conditions] == ["Unknown"]
    assert {taint.effect for taint in node.spec.taints} == {"NoSchedule", "NoExecute"}


def test_a_toleration_without_seconds_keeps_the_pod() -> None:
    given = web()
    tolerations = [{"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}]
    given["template"]["spec"]["template"]["spec"]["tolerations"] = tolerations
    _, diary = failing(given)
    assert diary.of("evicted") == []
    tolerations[0]["tolerationSeconds"] = 20  # type: ignore[assignment]
    _, diary = failing(given)
    assert [time for time, _, _ in diary.of("evicted")] == [670]


def test_a_node_that_is_back_in_time_keeps_its_pods_which_start_over() -> None:
    given = {"name": "b", "template": pod("4"), "arrivals": {"at": [0]}, "duration": "15m"}
    _, diary = failing(given, count=1, **{"for": "2m"})
    assert diary.of("succeeded", "evicted") == [(600 + 120 + 900, "succeeded", "b-1")]
    _, diary = failing({**given, "restart": {"resume": True}}, count=1, **{"for": "2m"})
    assert diary.of("succeeded", "evicted") == [(600 + 120 + 300, "succeeded", "b-1")]


def test_pods_of_a_node_that_vanishes_are_gone_at_once() -> None:
    simulation, diary = failing(web(), kind="vanish")
    assert [time for time, _, _ in diary.of("evicted")] == [600]
    assert simulation.api_server.get(api.Node, "general-1") is None
    assert nodes_of(simulation) == {"general-2"}
    simulation, _ = failing(web(), kind="vanish", **{"for": "5m"})
    assert simulation.api_server.get(api.Node, "general-1") is not None


def test_a_drain_respects_budgets() -> None:
    """No replica may be missing, so the pod stays on the cordoned node."""
    budget = {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}}
    failure = {"at": "10m", "nodes": {"name": "general-1"}, "kind": "drain"}
    scenario = load(web(2), nodes={"pools": [pool(count=2)]}, failures=[failure])
    simulation, diary = simulate(scenario, until=60)
    metadata = {"name": "web", "namespace": "default"}
    simulation.api_server.put(codec.convert(api.PodDisruptionBudget, {"metadata": metadata, "spec": budget}))
    simulation.run_until(3600)
    assert diary.of("evicted") == []
    node = simulation.api_server.get(api.Node, "general-1")
    assert node is not None
    assert node.spec.unschedulable


def test_a_drain_moves_all_pods() -> None:
    simulation, diary = failing(web(3), kind="drain", **{"for": "20m"})
    assert {time for time, _, _ in diary.of("evicted")} == {600}
    assert nodes_of(simulation) == {"general-2"}
    node = simulation.api_server.get(api.Node, "general-1")
    assert node is not None
    assert not node.spec.unschedulable
    assert node.spec.taints == ()


def test_a_spot_node_is_drained_with_notice_and_gone_after_it() -> None:
    simulation, diary = failing(web(), kind="spot", notice="2m")
    assert [time for time, _, _ in diary.of("evicted")] == [600]
    simulation, _ = simulate(
        load(
            web(),
            nodes={"pools": [pool(count=2)]},
            failures=[{"at": "10m", "nodes": {"name": "general-1"}, "kind": "spot", "notice": "2m"}],
        ),
        until=719,
    )
    assert simulation.api_server.get(api.Node, "general-1") is not None
    simulation.run_until(721)
    assert simulation.api_server.get(api.Node, "general-1") is None


def test_a_degraded_node_offers_less() -> None:
    simulation, _ = failing(kind="degrade", share=0.25)
    node = simulation.api_server.get(api.Node, "general-1")
    assert node is not None
    assert (node.status.allocatable["cpu"], node.status.allocatable["pods"]) == ("1", "110")


def test_random_failures_depend_on_the_node_alone() -> None:
    def down(count: int) -> list[tuple[float, str]]:
        failure = {"nodes": {}, "mtbf": "6h", "mttr": "10m", "kind": "vanish"}
        scenario = load(nodes={"pools": [pool(count=count)]}, failures=[failure], until={"time": "2d"})
        simulation, _ = simulate(scenario, until=0)
        times: list[tuple[float, str]] = []
        simulation.api_server.listen(
            api.Node, lambda old, new: times.append((simulation.now, old.metadata.name)) if old and not new else None
        )
        simulation.run_until(1e9)
        return times

    few, many = down(2), down(5)
    assert [each for each in many if each[1] in ("general-1", "general-2")] == few
    assert len(many) == pytest.approx(5 * 48 / 6.17, rel=0.5)
