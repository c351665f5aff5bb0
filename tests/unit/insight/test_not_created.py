"""Pods that controllers could not create, in answers about workloads and about all pending pods."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import node, pod
from tests.builders.engine_host import Host

import stowplan
from stowplan import api
from stowplan.api import codec
from stowplan.framework.explanation import PendingPods
from stowplan.insight.explain import run
from stowplan.insight.finding import PodNotFoundError
from stowplan.insight.insight import Insight
from stowplan.insight.text.groups import groups_lines
from stowplan.insight.text.layout import Layout
from stowplan.insight.workloads import workload_reference

QUOTA = "exceeded quota: compute, requested: requests.cpu=1, used: requests.cpu=3, limited: requests.cpu=3"


def replica_set(name: str = "web-abc", replicas: int = 5, made: int = 3, failure: str = "True") -> api.ReplicaSet:
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "d", "controller": True}
    message = f'pods "{name}-x" is forbidden: {QUOTA}'
    condition = {"type": "ReplicaFailure", "status": failure, "reason": "FailedCreate", "message": message}
    document = {
        "metadata": {"name": name, "namespace": "default", "uid": name, "ownerReferences": [owner]},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}},
        "status": {"replicas": made, "conditions": [condition]},
    }
    return codec.convert(api.ReplicaSet, document)


def of_workload(host: Host, name: str) -> PendingPods:
    reference = workload_reference(name, "default")
    assert reference is not None
    return run(Insight(host.engine, host.clock).workload(reference))


def lines(answer: PendingPods, top: int = 5) -> str:
    return "\n".join(groups_lines(answer, Layout(top=top)))


def test_the_status_of_a_replica_set_says_that_pods_were_never_created() -> None:
    host = Host(node("a"), replica_set())
    answer = of_workload(host, "Deployment/web")
    (found,) = answer.not_created
    assert (found.workload, found.pods, found.wanted) == ("default/Deployment/web", 2, 5)
    assert found.sentence == f"2 of 5 pods were never created: {QUOTA}"
    assert found.sentence in lines(answer)


@pytest.mark.parametrize("item", [replica_set(failure="False"), replica_set(made=5)], ids=["mended", "complete"])
def test_nothing_is_said_where_nothing_is_lacking(item: api.ReplicaSet) -> None:
    host = Host(node("a"), item)
    assert run(Insight(host.engine, host.clock).pending()).not_created == ()
    with pytest.raises(PodNotFoundError, match="no pod belongs to Deployment/web"):
        of_workload(host, "Deployment/web")


def test_the_list_of_pending_pods_names_the_workloads() -> None:
    host = Host(node("a", cpu="1"), pod("big", requests={"cpu": "2"}), *(replica_set(f"rs-{i}") for i in range(3)))
    host.schedule()
    answer = run(Insight(host.engine, host.clock).pending())
    assert answer.pods == 1
    assert len(answer.not_created) == 3
    text = lines(answer, top=2)
    assert text.count("default/Deployment/web: 2 of 5 pods were never created") == 2
    assert "and pods of 1 more workload that were never created; --all lists them" in text
    assert run(Insight(host.engine, host.clock).pending("other")).not_created == ()


def test_a_simulation_reports_pods_that_a_quota_refuses() -> None:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container()]}}
    meta = {"apiVersion": "v1", "kind": "Node"}
    cluster = stowplan.Cluster.from_objects(
        {**meta, **node("a", cpu="8")},
        {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "compute", "namespace": "default"}}
        | {"spec": {"hard": {"requests.cpu": "3"}}},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"}}
        | {"spec": {"replicas": 5, "selector": {"matchLabels": {"app": "web"}}, "template": template}},
    )
    answer = cluster.explain("Deployment/web")
    assert isinstance(answer, PendingPods)
    assert answer.placed == 3
    assert [each.sentence for each in answer.not_created] == [f"2 of 5 pods were never created: {QUOTA}"]


def container() -> dict[str, Any]:
    return {"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}
