"""Autoscalers decide how many replicas are simulated."""

from typing import Any

import pytest
from tests.builders import make
from tests.unit.simulator.simulated_cluster import workload

from stowplan.simulator.custom_workload import CustomWorkload, CustomWorkloadSpec
from stowplan.simulator.input import Origin
from stowplan.simulator.input.autoscaling import scale


def autoscaler(kind: str = "Deployment", **bounds: Any) -> Any:
    return make("HorizontalPodAutoscaler", "h", spec={"scaleTargetRef": {"kind": kind, "name": "web"}, **bounds})


def scaled(*items: Any, mode: str) -> tuple[Any, list[str]]:
    found = scale([(item, Origin("f.yaml")) for item in items], mode)
    return found.objects[0][0].spec.replicas, found.notes


@pytest.mark.parametrize(
    ("replicas", "mode", "wanted"),
    [
        (4, "min", 2),
        (4, "current", 4),
        (4, "max", 9),
        (1, "current", 2),
        (20, "current", 9),
        (None, "current", 2),
        (0, "max", 0),
    ],
)
def test_replicas(replicas: int | None, mode: str, wanted: int) -> None:
    given = workload("Deployment", "web", replicas=replicas)
    found, notes = scaled(given, autoscaler(minReplicas=2, maxReplicas=9), mode=mode)
    assert found == wanted
    changed = wanted != (1 if replicas is None else replicas)
    note = f"HorizontalPodAutoscaler h gives Deployment web {wanted} replicas instead of {replicas or 1}"
    assert notes == ([note] if changed else [])


def test_the_minimum_is_one_unless_given() -> None:
    assert scaled(workload("Deployment", "web", replicas=5), autoscaler(maxReplicas=9), mode="min")[0] == 1


def test_custom_workloads_are_scaled() -> None:
    metadata = make("Pod", "web").metadata
    rollout = CustomWorkload(kind="Rollout", metadata=metadata, spec=CustomWorkloadSpec(replicas=1))
    assert scaled(rollout, autoscaler("Rollout", maxReplicas=7), mode="max")[0] == 7


def test_other_targets_are_noted() -> None:
    _, notes = scaled(workload("StatefulSet", "web", replicas=1), autoscaler(maxReplicas=7), mode="max")
    assert notes == ["HorizontalPodAutoscaler h scales Deployment web, which is not in the input"]
