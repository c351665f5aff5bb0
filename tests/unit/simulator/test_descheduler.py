"""Evictions of the descheduler, with pods and times worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.simulator.scenario.scenarios import Diary, document, load, pod, pool, simulate, workload

from stowplan import api
from stowplan.api import codec
from stowplan.simulator.scenario import LoadedScenario, ScenarioSimulation, compile_scenario
from stowplan.study import run

LOW = {"thresholds": {"cpu": 30}, "targetThresholds": {"cpu": 50}}
PRIORITIES = """\
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: low}, value: 1}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 2}
"""


def web(name: str = "web", replicas: int = 4, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    template = workload("Deployment", name, cpu, replicas=replicas)
    template["spec"]["template"]["spec"].update(spec)
    return {"name": name, "template": template}


def unbalanced(*workloads: dict[str, Any], **descheduler: Any) -> LoadedScenario:
    """Two nodes of 4 CPUs. general-2 is drained at 300 s and back at 900 s; the descheduler runs every 600 s."""
    drain = {"kind": "drain", "nodes": {"name": "general-2"}, "at": "5m", "for": "10m"}
    settings = {"every": "10m", "LowNodeUtilization": LOW, **descheduler}
    return load(*workloads, nodes={"pools": [pool(count=2)]}, failures=[drain], descheduler=settings)


def evictions(diary: Diary, since: float = 301) -> list[tuple[float, str]]:
    return [(time, name) for time, _, name in diary.of("evicted") if time >= since]


def pods_on(simulation: ScenarioSimulation, node: str) -> list[str]:
    return sorted(each.metadata.name for each in simulation.api_server.pods_on(node))


def test_low_node_utilization_evicts_down_to_the_target() -> None:
    """At 600 s the empty node is cordoned. At 1200 s two evictions bring the full node from 100 to 50 percent."""
    simulation, diary = simulate(unbalanced(web()), until=1199)
    assert evictions(diary) == []
    first, second, *others = pods_on(simulation, "general-1")
    assert len(others) == 2
    simulation.run_until(3500)
    assert evictions(diary) == [(1200, first), (1200, second)]
    assert pods_on(simulation, "general-1") == others
    assert len(pods_on(simulation, "general-2")) == 2


def test_results_name_the_strategy_as_cause() -> None:
    result = run(unbalanced(web()), seed=0)
    assert sorted(filter(None, result.pods["cause"].tolist())) == ["LowNodeUtilization"] * 2 + ["drain"] * 2
    assert result.summary["evictions"] == 4


@pytest.mark.parametrize("limit", ["maxNoOfPodsToEvictPerNode", "maxNoOfPodsToEvictTotal"])
def test_limits_hold_for_each_run(limit: str) -> None:
    """One eviction leaves 75 and 25 percent, so the next run evicts another pod."""
    _, diary = simulate(unbalanced(web(), **{limit: 1}))
    assert [time for time, _ in evictions(diary)] == [1200, 1800]
    _, diary = simulate(unbalanced(web(), **{limit: 0}))
    assert evictions(diary) == []


def test_nothing_is_evicted_without_enough_underutilized_nodes() -> None:
    _, diary = simulate(unbalanced(web(), LowNodeUtilization={**LOW, "numberOfNodes": 1}))
    assert evictions(diary) == []


def test_evictions_end_when_underutilized_nodes_are_full() -> None:
    """general-2 has room for 10 percent of 110 pods; general-1 stays above the target after that."""
    bounds = {"thresholds": {"pods": 1}, "targetThresholds": {"pods": 10}}
    _, diary = simulate(unbalanced(web(replicas=40, cpu="10m"), LowNodeUtilization=bounds))
    assert [time for time, _ in evictions(diary)] == [1200] * 11


def test_low_priority_leaves_first_then_the_lower_qos_class(tmp_path: Path) -> None:
    """The node is at 75 percent; evictions of d, c and b leave 75, 50 and 25 percent."""
    (tmp_path / "classes.yaml").write_text(PRIORITIES)
    guaranteed = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
    given = [
        web("a", 1, priorityClassName="high"),
        web("b", 1, containers=[{"name": "main", "image": "b", "resources": guaranteed}], priorityClassName="low"),
        web("c", 1, priorityClassName="low"),
        web("d", 1, containers=[{"name": "main", "image": "d"}], priorityClassName="low"),
    ]
    bounds = {"thresholds": {"cpu": 0}, "targetThresholds": {"cpu": 45}}
    fields = {**unbalanced(*given, LowNodeUtilization=bounds).document, "manifests": ["classes.yaml"]}
    _, diary = simulate(compile_scenario(fields, "scenario.yaml", tmp_path), until=1201)
    assert [name[0] for _, name in evictions(diary)] == ["d", "c", "b"]


def test_budgets_keep_pods() -> None:
    simulation, diary = simulate(unbalanced(web()), until=1000)
    budget = {"minAvailable": 3, "selector": {"matchLabels": {"app": "web"}}}
    metadata = {"name": "web", "namespace": "default"}
    simulation.api_server.put(codec.convert(api.PodDisruptionBudget, {"metadata": metadata, "spec": budget}))
    simulation.run_until(1300)
    assert [time for time, _ in evictions(diary)] == [1200]


def test_pod_life_time_counts_from_creation() -> None:
    """At 600 s pods are exactly as old as they may be; successors are created at 1200 s."""
    descheduler = {"every": "10m", "to": "50m", "PodLifeTime": {"maxPodLifeTimeSeconds": "10m"}}
    _, diary = simulate(load(web(replicas=2), descheduler=descheduler))
    assert [time for time, _ in evictions(diary)] == [1200, 1200, 2400, 2400]


def test_pods_that_are_not_replaced_elsewhere_stay() -> None:
    critical = web("critical", 1, "100m", priorityClassName="system-cluster-critical")
    daemon = {"name": "daemon", "template": workload("DaemonSet", "daemon", "100m")}
    bare = {"name": "bare", "template": pod("100m"), "arrivals": {"at": [0]}, "duration": "2h"}
    again = {**bare, "name": "again", "resubmit": True}
    descheduler = {"every": "10m", "to": "10m", "PodLifeTime": {"maxPodLifeTimeSeconds": 60}}
    _, diary = simulate(load(critical, daemon, bare, again, descheduler=descheduler))
    assert diary.of("evicted") == [(600, "evicted", "again-1")]


def test_high_node_utilization_empties_the_emptier_node() -> None:
    """Three pods of 1 CPU on two nodes: 50 and 25 percent."""
    descheduler = {"every": "10m", "HighNodeUtilization": {"thresholds": {"cpu": 30}}}
    scenario = load(web(replicas=3), nodes={"pools": [pool(count=2)]}, descheduler=descheduler)
    simulation, diary = simulate(scenario, until=599)
    (alone,) = min((pods_on(simulation, node) for node in ("general-1", "general-2")), key=len)
    simulation.run_until(600)
    assert diary.of("evicted") == [(600, "evicted", alone)]


def test_equal_seeds_give_equal_evictions() -> None:
    batch = {
        "name": "batch",
        "template": pod("500m"),
        "arrivals": {"poisson": {"rate": "30/h"}},
        "duration": {"exponential": {"mean": "10m"}},
        "resubmit": True,
    }
    given = document(
        web(replicas=5),
        batch,
        nodes={"pools": [pool(count=3)]},
        descheduler={"every": "2m", "LowNodeUtilization": LOW, "PodLifeTime": {"maxPodLifeTimeSeconds": "20m"}},
    )
    lines = [simulate(compile_scenario(given, "scenario.yaml", Path()), seed=3)[1].lines for _ in range(2)]
    assert lines[0] == lines[1]
    assert len([line for line in lines[0] if line[1] == "evicted"]) > 5
