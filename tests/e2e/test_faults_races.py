"""What changes between a decision and its binding, which the proxy holds up meanwhile."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from tests.builders import HOSTNAME
from tests.e2e.arrivals import arriving
from tests.e2e.audit import Audit
from tests.e2e.conftest import StartStowplan

from stowplan.testing import FaultProxy, Hold, KubeApi, KubeScheduler, Rule, node, pod, wait_until
from stowplan.testing.objects import JsonObject

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

FOREIGN = "somebody-else"


class Race(NamedTuple):
    """A scheduler that has chosen node `a` for pod `first`, and whose request to bind it is on its way."""

    api: KubeApi
    namespace: str
    audit: Audit
    binding: Hold

    def create(self, *names: str, **of: Any) -> None:
        self.api.create_all([pod(name, self.namespace, **{"cpu": "1", **of}) for name in names], connections=1)

    def patch_node(self, patch: JsonObject, subresource: str = "") -> None:
        self.api.patch("Node", "a", patch, "", how="strategic", subresource=subresource)

    def bind(self, name: str, to: str) -> None:
        """As another scheduler does."""
        target = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"name": to}}
        self.api.request("POST", self.api.path("Pod", name, self.namespace, "binding"), target)

    def bound(self, count: int) -> dict[str, str]:
        return self.audit.wait_for_all(self.namespace, count)

    def stays_pending(self, name: str) -> None:
        time.sleep(1)
        assert name not in self.api.bound_pods(self.namespace)


@pytest.fixture
def race(
    kube_api: KubeApi,
    namespace: str,
    audit: Audit,
    start_stowplan: StartStowplan,
    start_fault_proxy: Callable[..., FaultProxy],
) -> Race:
    proxy = start_fault_proxy()
    start_stowplan(server=proxy.url)
    kube_api.create(node("a", cpu="2"))
    binding = Hold()
    held = proxy.add(Rule(binding, method="POST", path="/first/binding$", times=1))
    race = Race(kube_api, namespace, audit, binding)
    race.create("first")
    wait_until(lambda: held.hits)
    return race


def deleted(race: Race) -> None:
    race.api.delete("Node", "a")


def cordoned(race: Race) -> None:
    race.patch_node({"spec": {"unschedulable": True}})


def tainted(race: Race) -> None:
    race.patch_node({"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}})


def shrunk(race: Race) -> None:
    race.patch_node({"status": {"allocatable": {"cpu": "1"}}}, "status")


@pytest.mark.parametrize("happens", [deleted, cordoned, tainted, shrunk])
def test_a_node_that_changes(race: Race, happens: Callable[[Race], None]) -> None:
    """What was decided stands, as with kube-scheduler; what is decided afterwards heeds the change.

    News of nodes come one after the other: who knows of node `b` knows what has happened to `a`.
    """
    happens(race)
    race.api.create(node("b", cpu="2"))
    race.create("second", nodeSelector={HOSTNAME: "b"})
    assert race.bound(1) == {"second": "b"}
    race.binding.release()
    assert race.bound(2) == {"first": "a", "second": "b"}
    race.create("third")
    assert race.bound(3) == {"first": "a", "second": "b", "third": "b"}
    race.create("fourth")
    race.stays_pending("fourth")


def test_a_pod_that_is_deleted(race: Race) -> None:
    race.api.delete("Pod", "first", race.namespace)
    race.binding.release()
    race.create("second", cpu="2")
    assert race.bound(1) == {"second": "a"}


def test_a_pod_that_another_takes_the_place_of(race: Race) -> None:
    race.api.delete("Pod", "first", race.namespace)
    race.create("first", schedulingGates=[{"name": "not-yet"}])
    race.binding.release()
    race.create("second", cpu="2")
    assert race.bound(1) == {"second": "a"}
    race.stays_pending("first")
    race.api.create(node("b", cpu="1"))
    race.api.patch("Pod", "first", {"spec": {"schedulingGates": None}}, race.namespace)
    assert race.bound(2) == {"first": "b", "second": "a"}


def test_a_pod_that_somebody_else_binds(race: Race) -> None:
    race.api.create(node("b", cpu="2"))
    race.bind("first", "b")
    race.create("second", cpu="2")
    race.binding.release()
    assert race.bound(2) == {"first": "b", "second": "a"}, "what it held on the other node is free"
    time.sleep(1)
    assert race.bound(2) == {"first": "b", "second": "a"}


def test_a_node_that_somebody_else_overfills(race: Race) -> None:
    race.binding.release()
    assert race.bound(1) == {"first": "a"}
    for name in ("foreign-1", "foreign-2"):
        race.create(name, schedulerName=FOREIGN)
        race.bind(name, "a")
    assert set(race.bound(3).values()) == {"a"}
    race.create("second", cpu="100m")
    race.stays_pending("second")
    race.api.delete("Pod", "foreign-1", race.namespace)
    race.stays_pending("second")
    race.api.delete("Pod", "foreign-2", race.namespace)
    assert race.bound(2) == {"first": "a", "second": "a"}


def test_another_scheduler_on_the_same_nodes(
    kube_api: KubeApi,
    namespace: str,
    start_stowplan: StartStowplan,
    start_kube_scheduler: Callable[..., KubeScheduler],
) -> None:
    """Both may choose the last place of a node at the same time, but ours never adds to what it has seen full."""
    kube_api.create_all(node(f"n-{i}", cpu="5") for i in range(10))
    start_kube_scheduler()
    start_stowplan(config={"profiles": [{"schedulerName": "mine"}]})
    theirs, ours = f"{namespace}-theirs", namespace
    kube_api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": theirs}})
    with (
        Audit(kube_api, ours=("mine",), grace=3.5) as audit,
        arriving(kube_api, ours, 300, within=6, cpu="100m", schedulerName="mine"),
        arriving(kube_api, theirs, 300, within=6, cpu="100m"),
    ):
        wait_until(lambda: audit.seen >= 500)
        for name in list(kube_api.bound_pods(theirs))[:100]:
            kube_api.delete("Pod", name, theirs)
    wait_until(lambda: len(kube_api.bound_pods(ours)) + len(kube_api.bound_pods(theirs)) >= 500)
    assert not audit.problems
