from typing import Any

import pytest
from tests.builders import make
from tests.unit.simulator.simulated_cluster import CONTAINER, SimulatedCluster, node, pod, workload

from stowplan import api
from stowplan.simulator.workloads.jobs import parse_indexes

OWNER: dict[str, Any] = {"kind": "Job", "name": "sum", "uid": "j"}
INDEX = "batch.kubernetes.io/job-completion-index"


def job(**spec: Any) -> Any:
    return workload("Job", "sum", uid="j", **spec)


@pytest.mark.parametrize(
    ("spec", "status", "made"),
    [
        ({}, {}, 1),
        ({"parallelism": 3}, {}, 3),
        ({"parallelism": 0}, {}, 0),
        ({"completions": 5}, {}, 1),
        ({"completions": 2, "parallelism": 3}, {}, 2),
        ({"completions": 5, "parallelism": 3}, {"succeeded": 3}, 2),
        ({"parallelism": 3}, {"succeeded": 1}, 0),
        ({"parallelism": 3, "suspend": True}, {}, 0),
        ({"parallelism": 3}, {"conditions": [{"type": "Complete", "status": "True"}]}, 0),
        ({"parallelism": 3}, {"conditions": [{"type": "Failed", "status": "True"}]}, 0),
        ({"parallelism": 3}, {"conditions": [{"type": "Failed", "status": "False"}]}, 3),
    ],
)
def test_as_many_pods_as_may_run_at_once(spec: dict[str, Any], status: dict[str, Any], made: int) -> None:
    assert len(SimulatedCluster(job(**spec, status=status)).names()) == made


def test_pods_are_labelled_as_the_jobs() -> None:
    (made,) = SimulatedCluster(job()).pods()
    assert made.metadata.name.startswith("sum-")
    assert made.metadata.labels == {
        "app": "sum",
        "job-name": "sum",
        "batch.kubernetes.io/job-name": "sum",
        "controller-uid": "j",
        "batch.kubernetes.io/controller-uid": "j",
    }
    (plain,) = SimulatedCluster(job(manualSelector=True)).pods()
    assert plain.metadata.labels == {"app": "sum"}


def test_indexed_pods() -> None:
    stage = SimulatedCluster(
        job(completionMode="Indexed", completions=5, parallelism=2, status={"completedIndexes": "0,2-3"})
    )
    one, two = stage.pods()
    assert [each.metadata.labels[INDEX] for each in (one, two)] == ["1", "4"]
    assert one.metadata.annotations == {INDEX: "1"}
    assert one.metadata.name.startswith("sum-1-")
    stage.delete(one.metadata.name)
    assert sorted(each.metadata.labels[INDEX] for each in stage.pods()) == ["1", "4"]


def test_lost_pods_are_replaced_and_those_there_count() -> None:
    stage = SimulatedCluster(node("n1"), job(parallelism=3), pod("sum-a", "n1", owner=OWNER))
    assert len(stage.names()) == 3
    stage.delete("sum-a")
    assert len(stage.names()) == 3
    assert "sum-a" not in stage.names()


def test_success_ends_the_need() -> None:
    stage = SimulatedCluster(job(completions=2, parallelism=1))
    (name,) = stage.names()
    stage.put(pod(name, owner={**OWNER, "apiVersion": "batch/v1"}, status={"phase": "Succeeded"}))
    assert len(stage.names()) == 2
    stage.put(pod(stage.names()[1], owner=OWNER, status={"phase": "Succeeded"}))
    assert len(stage.names()) == 2


def cron_job(**more: Any) -> Any:
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"parallelism": 2, "template": {"spec": {"containers": [CONTAINER]}}},
    }
    return make("CronJob", "nightly", uid="c", spec={"jobTemplate": template, **more})


def test_a_cron_job_makes_one_job() -> None:
    stage = SimulatedCluster(cron_job())
    (made,) = stage.world.all(api.Job)
    assert made.metadata.name == f"nightly-{1_000_000_000 // 60}"
    assert made.metadata.labels == {"a": "b"}
    assert made.metadata.owner_references[0].kind == "CronJob"
    assert len(stage.names()) == 2


def test_a_cron_job_that_has_jobs_or_is_suspended_makes_none() -> None:
    assert SimulatedCluster(cron_job(suspend=True)).names("Job") == []
    done = {"conditions": [{"type": "Complete", "status": "True"}]}
    before = workload("Job", "nightly-1", owner={"kind": "CronJob", "name": "nightly", "uid": "c"}, status=done)
    stage = SimulatedCluster(cron_job(), before)
    assert stage.names("Job") == ["nightly-1"]
    assert stage.names() == []


@pytest.mark.parametrize(
    ("text", "numbers"), [("", []), ("3", [3]), ("1,3-5", [1, 3, 4, 5]), ("x,2", [2]), ("4-x", [4])]
)
def test_lists_of_indexes(text: str, numbers: list[int]) -> None:
    assert list(parse_indexes(text)) == numbers
