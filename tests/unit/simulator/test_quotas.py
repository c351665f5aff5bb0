"""Quotas and limit ranges of namespaces."""

from typing import Any

import pytest
from tests.builders import make
from tests.unit.simulator.runs import Run, asking
from tests.unit.simulator.simulated_cluster import node, pod, workload

from stowplan import api
from stowplan.simulator.limit_ranges import with_limit_range_defaults
from stowplan.simulator.quotas import pod_usage, unsupported_resources, unsupported_scopes

BARE = {"containers": [{"name": "c"}]}


def quota(name: str = "q", hard: dict[str, str] | None = None, **spec: Any) -> Any:
    return make("ResourceQuota", name, namespace="default", spec={"hard": hard or {}, **spec})


def refused(*items: Any) -> list[tuple[str, int, str]]:
    found = Run(node("n", cpu="64"), *items).report().not_created
    return [(each.workload, each.pods, each.message.partition("is forbidden: ")[2]) for each in found]


def test_pods_over_quota_are_not_created() -> None:
    web = workload("Deployment", "web", replicas=5, pod=asking("500m"))
    why = "exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=1, limited: requests.cpu=1"
    run = Run(node("n"), quota(hard={"requests.cpu": "1"}), web)
    assert run.report().summary.placed == 2
    assert refused(quota(hard={"requests.cpu": "1"}), web) == [("default/Deployment/web", 3, why)]


def test_running_pods_count_and_other_namespaces_do_not() -> None:
    running = pod("old", "n", namespace="default", **asking("1"))
    far = pod("far", "n", namespace="far", **asking("1"))
    why = "exceeded quota: q, requested: cpu=1,pods=1, used: cpu=1,pods=1, limited: cpu=1500m,pods=1"
    assert refused(quota(hard={"cpu": "1500m", "pods": "1"}), running, far, pod("p", **asking("1"))) == [("", 1, why)]


def test_memory_is_shown_as_in_the_quota() -> None:
    spec = {"containers": [{"name": "c", "resources": {"requests": {"memory": "1536Mi"}}}]}
    (found,) = refused(quota(hard={"memory": "1Gi"}), pod("p", **spec))
    assert found[2] == "exceeded quota: q, requested: memory=1536Mi, used: memory=0, limited: memory=1Gi"


def test_limited_resources_must_be_set() -> None:
    hard = {"limits.cpu": "9", "requests.memory": "9Gi", "limits.ephemeral-storage": "1"}
    why = "failed quota: q: must specify limits.cpu for: c; requests.memory for: c"
    assert refused(quota(hard=hard), pod("p", **BARE)) == [("", 1, why)]


@pytest.mark.parametrize(
    ("scope", "spec", "counted"),
    [
        ({"scopes": ["BestEffort"]}, BARE, True),
        ({"scopes": ["BestEffort"]}, asking("1"), False),
        ({"scopes": ["NotBestEffort"]}, BARE, False),
        ({"scopes": ["Terminating"]}, BARE, False),
        ({"scopes": ["PriorityClass"]}, {**BARE, "priorityClassName": "a", "priority": 1}, True),
        ({"scopes": ["PriorityClass"]}, BARE, False),
    ],
)
def test_scopes(scope: dict[str, Any], spec: dict[str, Any], counted: bool) -> None:
    assert bool(refused(quota(hard={"pods": "0"}, **scope), pod("p", **spec))) == counted


@pytest.mark.parametrize(
    ("operator", "counted"), [("In", True), ("NotIn", False), ("Exists", True), ("DoesNotExist", False)]
)
def test_scope_selectors(operator: str, counted: bool) -> None:
    expression = {"scopeName": "PriorityClass", "operator": operator, "values": ["vip"]}
    given = quota(hard={"pods": "0"}, scopeSelector={"matchExpressions": [expression]})
    vip = pod("p", priorityClassName="vip", priority=1, **BARE)
    assert bool(refused(given, vip)) == counted


def test_an_eviction_makes_room_in_the_quota() -> None:
    low = pod("low", "n", namespace="default", priority=0, **asking("4"))
    web = workload("Deployment", "web", replicas=1, pod={**asking("1"), "priority": 5})
    high = pod("high", namespace="far", priority=10, **asking("3"))
    report = Run(node("n"), quota(hard={"pods": "1"}), low, web, high).report()
    assert report.not_created == ()
    assert {each.workload for each in report.pods} == {"", "Deployment/web"}
    assert report.summary.evicted == 1


def test_daemon_sets_are_counted_once_for_each_node() -> None:
    nodes = [node(f"n{i}") for i in range(4)]
    found = Run(*nodes, quota(hard={"pods": "1"}), workload("DaemonSet", "d", pod=BARE)).report()
    assert [(each.workload, each.pods) for each in found.not_created] == [("default/DaemonSet/d", 3)]


def test_what_is_not_enforced_is_known() -> None:
    hard = {"services": "1", "requests.storage": "1Gi", "pods": "1", "requests.example.com/gpu": "1", "limits.cpu": "1"}
    assert unsupported_resources(quota(hard=hard)) == ["services", "requests.storage"]
    assert unsupported_scopes(quota(scopes=["Terminating", "BestEffort"])) == ["Terminating"]


def test_finished_pods_are_objects_only() -> None:
    assert pod_usage(pod("p", status={"phase": "Failed"}, **asking("1"))) == {"count/pods": 10**9}


# Limit ranges
def limit_range(name: str = "l", **item: Any) -> Any:
    return make("LimitRange", name, namespace="default", spec={"limits": [{"type": "Container", **item}]})


@pytest.mark.parametrize(
    ("item", "requests", "limits"),
    [
        ({"default": {"cpu": "2"}}, {"cpu": "2"}, {"cpu": "2"}),
        ({"default": {"cpu": "2"}, "defaultRequest": {"cpu": "1"}}, {"cpu": "1"}, {"cpu": "2"}),
        ({"max": {"cpu": "3"}}, {"cpu": "3"}, {"cpu": "3"}),
        ({"min": {"cpu": "1"}}, {"cpu": "1"}, {}),
        ({"type": "Pod", "max": {"cpu": "3"}}, {}, {}),
    ],
)
def test_defaults_of_containers(item: Any, requests: Any, limits: Any) -> None:
    (container,) = with_limit_range_defaults(pod("p", **BARE).spec, [limit_range(**item)]).containers
    assert (container.resources.requests, container.resources.limits) == (requests, limits)


def test_given_amounts_stay() -> None:
    (container,) = with_limit_range_defaults(
        pod("p", **asking("7")).spec, [limit_range(default={"cpu": "1"})]
    ).containers
    assert container.resources.requests == {"cpu": "7"}


def test_new_pods_and_templates_get_defaults_and_stored_pods_do_not() -> None:
    stored = api.Pod(metadata=api.ObjectMeta(name="stored", namespace="default", uid="u", resource_version="1"))
    items = [pod("new", **BARE), workload("Deployment", "web", pod=BARE), stored]
    run = Run(node("n"), *items, limit_range(defaultRequest={"cpu": "1"}))
    (found,) = run.report().nodes
    assert (found.pods, run.report().summary.requested["cpu"]) == (3, 2000)
