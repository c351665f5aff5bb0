from typing import Any

import pytest
from tests.builders import make
from tests.unit.simulator.simulated_cluster import node, pod, workload

from stowplan.simulator.input import input_checks
from stowplan.simulator.input.documents import Origin
from stowplan.simulator.input.ownership import Ownership


def problems(*items: Any) -> list[str]:
    return list(input_checks.too_many_pods(Ownership([(item, Origin(f"{i}.yaml")) for i, item in enumerate(items)])))


def cron_job(parallelism: int) -> Any:
    return make("CronJob", "c", spec={"jobTemplate": {"spec": {"parallelism": parallelism}}})


@pytest.mark.parametrize(
    ("item", "path"),
    [
        (workload("Deployment", "d", replicas=1_000_000), "$.spec.replicas"),
        (workload("ReplicaSet", "d", replicas=1_000_000), "$.spec.replicas"),
        (workload("StatefulSet", "d", replicas=1_000_000), "$.spec.replicas"),
        (make("ReplicationController", "d", spec={"replicas": 1_000_000}), "$.spec.replicas"),
        (workload("Job", "d", parallelism=1_000_000), "$.spec.parallelism"),
        (cron_job(1_000_000), "$.spec.jobTemplate.spec.parallelism"),
    ],
)
def test_a_million_is_too_many(item: Any, path: str) -> None:
    assert problems(item) == [f"0.yaml: {path}: 1000000 pods, and no more than 200000 can be simulated"]


def test_jobs_count_by_what_runs_at_once() -> None:
    assert problems(workload("Job", "d", parallelism=5, completions=1_000_000)) == []


def test_all_workloads_together_are_limited() -> None:
    half = [workload("Deployment", name, replicas=100_000) for name in ("a", "b")]
    assert problems(*half) == []
    assert problems(*half, pod("p"), pod("q")) == [
        "2.yaml: $: with Pod p the input has more than the 200000 pods that can be simulated"
    ]


def test_daemon_sets_have_a_pod_for_each_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_checks, "MAX_PODS", 5)
    nodes = [node(f"n{i}") for i in range(3)]
    assert problems(*nodes, workload("DaemonSet", "a")) == []
    assert len(problems(*nodes, workload("DaemonSet", "a"), workload("DaemonSet", "b"))) == 1


def test_what_is_owned_counts_with_its_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_checks, "MAX_PODS", 3)
    deployment = workload("Deployment", "d", replicas=3)
    replica_set = workload("ReplicaSet", "rs", replicas=3, owner={"kind": "Deployment", "name": "d"})
    pods = [pod(f"p{i}", owner={"kind": "ReplicaSet", "name": "rs"}) for i in range(3)]
    assert problems(deployment, replica_set, *pods) == []
