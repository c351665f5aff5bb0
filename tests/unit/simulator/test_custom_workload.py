"""Objects of custom kinds with replicas and a pod template are workloads."""

import json
from typing import Any

import pytest
from tests.unit.simulator.runs import Run
from tests.unit.simulator.simulated_cluster import node

from stowplan import api
from stowplan.errors import InputError
from stowplan.simulator.custom_workload import CustomWorkload
from stowplan.simulator.input import Input, read_input

TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}


def rollout(kind: str = "Rollout", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": kind,
        "metadata": {"name": "web", "uid": "r"},
        "spec": {"replicas": 3, "template": TEMPLATE, "strategy": {"canary": {}}, **spec},
    }


def read(*documents: Any) -> Input:
    return read_input(["-"], lambda _: "\n---\n".join(map(json.dumps, documents)).encode())


def test_its_pods_are_created() -> None:
    ((item, _),) = read(rollout()).objects
    assert isinstance(item, CustomWorkload)
    report = Run(node("n"), item).report()
    assert [(each.workload, each.status) for each in report.pods] == [("Rollout/web", "Placed")] * 3


@pytest.mark.parametrize(
    "document",
    [
        rollout(replicas=None),
        rollout(template={"spec": {"bootstrap": {}}}),
        rollout(template=5),
        {**rollout(), "apiVersion": "v1"},
        {**rollout(), "spec": 5},
    ],
)
def test_other_objects_are_not_workloads(document: Any) -> None:
    found = read(document)
    assert (found.objects, found.unknown) == ([], {"Rollout": 1})


def test_pods_of_its_replica_sets_count() -> None:
    owner = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "web", "uid": "r", "controller": True}
    metadata = {"name": "web-1", "ownerReferences": [owner]}
    replica_set = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": metadata,
        "spec": {"replicas": 2, "template": TEMPLATE},
    }
    objects = [item for item, _ in read(rollout(), replica_set).objects]
    report = Run(node("n"), *objects).report()
    assert [each.workload for each in report.pods] == ["Rollout/web"] * 3
    assert sum(each.pod.startswith("default/web-1-") for each in report.pods) == 2


def test_evicted_pods_come_back() -> None:
    low = [
        item
        for item, _ in read(
            rollout(
                replicas=1, template={"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]}}
            )
        ).objects
    ]
    high = api.Pod(
        metadata=api.ObjectMeta(name="high", namespace="default"),
        spec=api.PodSpec(
            priority=9,
            containers=(api.Container(name="c", resources=api.ResourceRequirements(requests={"cpu": "3"})),),
            scheduling_gates=(),
        ),
    )
    run = Run(node("n"), *low)
    run.simulation.api_server.put(high)
    run.simulation.run()
    (eviction,) = run.report().preemptions
    assert eviction.outcome == "recreated by Rollout/web, 1 of its pods pending"


def test_it_is_validated() -> None:
    containers = [{"name": "c", "resources": {"requests": {"cpu": "-1"}}}]
    with pytest.raises(InputError) as caught:
        read(rollout(replicas=-1, template={"spec": {"containers": containers}}))
    assert str(caught.value).splitlines() == [
        "<stdin>: $.spec.replicas: must be greater than or equal to 0: -1",
        '<stdin>: $.spec.template.spec.containers[0].resources.requests.cpu: must not be negative: "-1"',
    ]


def test_equal_names_of_two_kinds_are_refused() -> None:
    with pytest.raises(InputError, match=r"CloneSet default/web and Rollout default/web cannot be simulated together"):
        read(rollout(), rollout("CloneSet"))
