import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import make
from tests.unit.simulator.simulated_cluster import SimulatedCluster, node, pod, workload

from stowplan import api

WEB = {"matchLabels": {"app": "web"}}


def budget(name: str = "b", selector: Any = WEB, status: Any = None, **spec: Any) -> Any:
    return make("PodDisruptionBudget", name, spec={"selector": selector, **spec}, status=status or {})


def status_of(stage: SimulatedCluster, name: str = "b") -> api.PodDisruptionBudgetStatus:
    found = stage.world.get(api.PodDisruptionBudget, name, "default")
    assert found is not None
    return found.status


def allowed(stage: SimulatedCluster, name: str = "b") -> int:
    return status_of(stage, name).disruptions_allowed


def web(count: int, on: str = "n1", **fields: Any) -> list[Any]:
    return [pod(f"web-{i}", on, labels={"app": "web"}, **fields) for i in range(count)]


def test_pods_count_once_they_are_bound_and_until_they_are_gone() -> None:
    stage = SimulatedCluster(node("n1"), budget(minAvailable=1), *web(3, ""))
    assert allowed(stage) == 0
    seen = []
    for name in ("web-0", "web-1", "web-2"):
        stage.bind(name)
        seen.append(allowed(stage))
    stage.delete("web-0")
    assert (*seen, allowed(stage)) == (0, 1, 2, 1)


def test_pods_on_their_way_out_count_no_more() -> None:
    stage = SimulatedCluster(node("n1"), budget(minAvailable=0), *web(2), grace=30.0)
    stage.delete("web-0")
    assert allowed(stage) == 1
    assert len(stage.pods()) == 2


def test_a_snapshot_may_say_that_pods_are_not_ready() -> None:
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
    stage = SimulatedCluster(
        node("n1"), budget(minAvailable=0), *web(2, status=status), pod("c", "n1", labels={"app": "web"})
    )
    assert allowed(stage) == 1


def test_all_numbers_are_there_when_a_budget_comes() -> None:
    stage = SimulatedCluster(node("n1"), *web(2), budget(minAvailable=5))
    assert status_of(stage) == api.PodDisruptionBudgetStatus(current_healthy=2, desired_healthy=5, expected_pods=2)


def test_the_status_of_the_input_is_only_the_start() -> None:
    given = {"disruptionsAllowed": 7, "currentHealthy": 8, "disruptedPods": {"web-0": "2001-09-09T01:46:40Z"}}
    stage = SimulatedCluster(node("n1"), budget(minAvailable=1, status=given), *web(2))
    assert (allowed(stage), status_of(stage).disrupted_pods) == (1, {})


def test_a_status_that_somebody_else_wrote_is_put_right() -> None:
    stage = SimulatedCluster(node("n1"), budget(minAvailable=1), *web(3))
    stage.put(budget(minAvailable=1))
    assert allowed(stage) == 2


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (WEB, 1),
        ({}, 3),
        (None, 0),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["db", "web"]}]}, 2),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["db"]}]}, 2),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, 2),
        ({"matchLabels": {"app": "web", "tier": "front"}}, 0),
        ({"matchLabels": {"app": "db", "tier": "back"}}, 1),
    ],
)
def test_whom_a_budget_covers(selector: Any, expected: int) -> None:
    stage = SimulatedCluster(
        node("n1"),
        pod("a", "n1", labels={"app": "web"}),
        pod("b", "n1", labels={"tier": "back", "app": "db"}),
        pod("c", "n1"),
        pod("d", "n1", namespace="other", labels={"app": "web"}),
        budget(selector=selector, minAvailable=0),
    )
    assert allowed(stage) == expected


def test_pods_may_change_sides() -> None:
    db = {"matchLabels": {"app": "db"}}
    stage = SimulatedCluster(node("n1"), budget(minAvailable=0), budget("other", db, minAvailable=0), *web(2))
    assert (allowed(stage), allowed(stage, "other")) == (2, 0)
    stage.put(pod("web-0", "n1", labels={"app": "db"}))
    assert (allowed(stage), allowed(stage, "other")) == (1, 1)
    stage.put(pod("web-0", "n1", labels={}))
    assert (allowed(stage), allowed(stage, "other")) == (1, 0)


def test_a_pod_may_be_under_several_budgets() -> None:
    stage = SimulatedCluster(node("n1"), budget(minAvailable=0), budget("strict", {}, minAvailable=2), *web(3))
    assert (allowed(stage), allowed(stage, "strict")) == (3, 1)
    stage.delete("web-0")
    assert (allowed(stage), allowed(stage, "strict")) == (2, 0)


def test_budgets_come_change_and_go() -> None:
    stage = SimulatedCluster(node("n1"), *web(4))
    stage.put(budget(minAvailable=1))
    assert allowed(stage) == 3
    stage.put(budget(minAvailable=3))
    assert allowed(stage) == 1
    stage.world.delete(make("PodDisruptionBudget", "b", namespace="default"))
    stage.settle()
    stage.delete("web-0")
    assert stage.names("PodDisruptionBudget") == []
    stage.put(budget(minAvailable=2))
    assert allowed(stage) == 1


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("Deployment", {}),
        ("ReplicaSet", {}),
        ("ReplicationController", {"selector": {}}),
        ("StatefulSet", {"podManagementPolicy": "Parallel"}),
    ],
)
def test_as_many_pods_are_expected_as_their_workload_wants(kind: str, spec: dict[str, Any]) -> None:
    stage = SimulatedCluster(node("n1"), workload(kind, "web", replicas=4, **spec), budget(maxUnavailable="25%"))
    names = stage.names()
    for name in names[:3]:
        stage.bind(name)
    assert allowed(stage) == 0
    stage.bind(names[3])
    assert allowed(stage) == 1
    assert (status_of(stage).expected_pods, status_of(stage).desired_healthy) == (4, 3)


def test_a_deployment_is_expected_to_have_its_pods_whatever_its_replica_sets() -> None:
    of_web = {"kind": "Deployment", "name": "web", "uid": "d"}
    stage = SimulatedCluster(
        node("n1"),
        workload("Deployment", "web", uid="d", replicas=3),
        workload("ReplicaSet", "web-1", uid="r1", owner=of_web, replicas=2),
        workload("ReplicaSet", "web-2", uid="r2", owner=of_web, replicas=2),
        budget(selector={}, maxUnavailable=1),
    )
    assert len(stage.names()) == 4
    for name in stage.names():
        stage.bind(name)
    assert (allowed(stage), status_of(stage).expected_pods) == (2, 3)


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        ({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "x", "uid": "x"}, 1),
        ({"apiVersion": "example.com/v1", "kind": "Rollout", "name": "x", "uid": "x"}, 1),
        ({"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "x", "uid": "x"}, 0),
        ({"apiVersion": "batch/v1", "kind": "Job", "name": "x", "uid": "x"}, 0),
    ],
)
def test_owners_that_are_not_in_the_input(owner: dict[str, Any], expected: int) -> None:
    stage = SimulatedCluster(node("n1"), budget(maxUnavailable=1), *web(3, owner=owner))
    assert allowed(stage) == expected


def test_daemons_have_no_scale() -> None:
    stage = SimulatedCluster(
        node("n1"), workload("DaemonSet", "web"), budget(maxUnavailable=1), budget("least", minAvailable=0)
    )
    stage.bind(stage.names()[0])
    assert (allowed(stage), allowed(stage, "least")) == (0, 1)


def test_nothing_is_written_that_nobody_reads() -> None:
    stage = SimulatedCluster(node("n1"), budget(minAvailable=3), *web(3, ""))
    stage.seen.clear()
    stage.bind("web-0")
    stage.bind("web-1")
    assert [change.item.metadata.name for change in stage.seen] == ["web-0", "web-1"]


def test_a_budget_moves_nothing() -> None:
    stage = SimulatedCluster(node("n1"), budget(minAvailable=0), *web(1, ""))
    version = stage.world.version
    stage.bind("web-0")
    assert allowed(stage) == 1
    assert stage.world.version == version + 1


BUDGETS = (
    budget("a", minAvailable=1),
    budget("b", {}, maxUnavailable="30%"),
    budget("c", {"matchLabels": {"app": "db"}}, minAvailable="50%"),
    budget("d", {"matchExpressions": [{"key": "app", "operator": "Exists"}]}, maxUnavailable=1),
)


def step(stage: SimulatedCluster, rng: random.Random) -> None:
    pods = stage.pods()
    match rng.randrange(6):
        case 0 | 1 if pods:
            stage.bind(rng.choice(pods).metadata.name)
        case 2 if pods:
            stage.delete(rng.choice(pods).metadata.name)
        case 3:
            kind, name = rng.choice((("Deployment", "web"), ("ReplicaSet", "db")))
            stage.put(workload(kind, name, replicas=min(len(pods), 9)))
        case 4:
            stage.put(pod(f"bare-{rng.randrange(3)}", labels={"app": rng.choice(("web", "db"))}))
        case _:
            stage.put(rng.choice(BUDGETS))
    stage.now += 20
    stage.world.tick()
    stage.settle()


@given(st.integers(0, 10**6))
def test_running_counts_are_what_a_count_from_scratch_finds(seed: int) -> None:
    rng = random.Random(seed)
    workloads = workload("Deployment", "web", replicas=2), workload("ReplicaSet", "db", replicas=2)
    stage = SimulatedCluster(node("n1"), *workloads, *BUDGETS, grace=rng.choice((0.0, 30.0)))
    for _ in range(20):
        step(stage, rng)
    fresh = SimulatedCluster()
    for kind in (api.Node, api.Deployment, api.ReplicaSet, api.Pod, api.PodDisruptionBudget):
        for item in list(stage.world.all(kind)):  # type: ignore[type-var]
            fresh.world.put(item)
    changes = [change for change in fresh.world.changes() if isinstance(change.item, api.PodDisruptionBudget)]
    for change in changes:
        fresh.controllers.react(change)
    names = [each.metadata.name for each in BUDGETS]
    assert [allowed(stage, name) for name in names] == [allowed(fresh, name) for name in names]
