from typing import Any

import pytest
from tests.unit.simulator.simulated_cluster import node, pod, workload

from stowplan.simulator.input import Origin
from stowplan.simulator.input.input_checks import daemons_without_nodes


def found(*items: Any) -> list[str]:
    return list(daemons_without_nodes([(item, Origin(f"{index}.yaml")) for index, item in enumerate(items)]))


def test_a_daemon_set_needs_nodes() -> None:
    problem = "$: DaemonSet d has a pod for each node, and the input has no nodes: add some"
    assert found(pod("p"), workload("DaemonSet", "d")) == [f"1.yaml: {problem}"]


@pytest.mark.parametrize("items", [[workload("DaemonSet", "d"), node("n")], [workload("Deployment", "d")], []])
def test_what_will_do(items: list[Any]) -> None:
    assert found(*items) == []
