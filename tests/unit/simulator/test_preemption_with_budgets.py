"""Preemption in a cluster that is full, and what a disruption budget changes about it."""

from collections import Counter
from typing import Any

import pytest
from tests.builders import make
from tests.unit.simulator.simulated_cluster import CONTAINER, pod, workload

from stowplan import api
from stowplan.config import default_configuration
from stowplan.plugins.registry import REGISTRY
from stowplan.simulator.input.documents import Origin
from stowplan.simulator.load import populate
from stowplan.simulator.simulation import Simulation

ONE_CPU = {"containers": [{**CONTAINER, "resources": {"requests": {"cpu": "1"}}}]}
REPLICAS = 4


def full_cluster(*more: Any) -> Simulation:
    """Eight cores for four pods each of two deployments. Were it not for a budget, the guarded ones would go first."""
    objects = [
        *(make("Node", f"n{i}", status={"allocatable": {"cpu": "2", "pods": "9"}}) for i in range(4)),
        make("PriorityClass", "high", value=1000),
        make("PriorityClass", "medium", value=10, preemptionPolicy="Never"),
        workload("Deployment", "guarded", replicas=REPLICAS, pod=ONE_CPU),
        workload("Deployment", "free", replicas=REPLICAS, pod={**ONE_CPU, "priorityClassName": "medium"}),
        *more,
    ]
    simulation = Simulation(default_configuration(), REGISTRY)
    populate(simulation.api_server, simulation.controllers, [(item, Origin("objects")) for item in objects])
    simulation.run()
    return simulation


def budget(**spec: Any) -> Any:
    return make("PodDisruptionBudget", "guard", spec={"selector": {"matchLabels": {"app": "guarded"}}, **spec})


def running(simulation: Simulation) -> tuple[int, int, int]:
    """How many pods run: guarded, free and urgent ones."""
    apps = Counter(each.metadata.labels["app"] for each in simulation.api_server.all(api.Pod) if each.spec.node_name)
    return apps["guarded"], apps["free"], apps["urgent"]


def allowed(simulation: Simulation) -> int:
    found = simulation.api_server.get(api.PodDisruptionBudget, "guard", "default")
    assert found is not None
    return found.status.disruptions_allowed


def send_urgent(simulation: Simulation, number: int) -> None:
    item = pod(f"urgent-{number}", labels={"app": "urgent"}, priorityClassName="high", **ONE_CPU)
    simulation.api_server.put(simulation.controllers.admission.admit(item))
    simulation.run()


@pytest.mark.parametrize(
    ("budgets", "expected"),
    [
        ([], [(4 - i, 4, i) for i in range(5)] + [(0, 3, 5)]),
        ([budget(minAvailable=REPLICAS)], [(4, 4 - i, i) for i in range(5)] + [(3, 0, 5)]),
        ([budget(maxUnavailable=0)], [(4, 4 - i, i) for i in range(5)] + [(3, 0, 5)]),
        ([budget(maxUnavailable="50%")], [(4, 4, 0), (3, 4, 1), (2, 4, 2), (2, 3, 3), (2, 2, 4), (2, 1, 5)]),
    ],
)
def test_who_makes_room(budgets: list[Any], expected: list[tuple[int, int, int]]) -> None:
    simulation = full_cluster(*budgets)
    seen = [running(simulation)]
    for number in range(5):
        send_urgent(simulation, number)
        seen.append(running(simulation))
    assert seen == expected


def test_what_is_left_of_the_budget_follows_the_evictions() -> None:
    simulation = full_cluster(budget(minAvailable=2))
    seen = [allowed(simulation)]
    for number in range(3):
        send_urgent(simulation, number)
        seen.append(allowed(simulation))
    assert seen == [2, 1, 0, 0]
