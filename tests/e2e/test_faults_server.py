"""An API server that goes away, and connections that break."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import pytest
from tests.e2e.arrivals import arriving
from tests.e2e.audit import Audit
from tests.e2e.conftest import StartStowplan

from stowplan.testing import (
    ControlPlane,
    Delay,
    Drop,
    FaultProxy,
    Garble,
    KubeApi,
    Reply,
    Rule,
    node,
    pod,
    wait_until,
)
from stowplan.testing.cleanup import clear
from stowplan.testing.faults import Fault

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

BINDINGS: dict[str, Any] = {"method": "POST", "path": "/binding$"}
POD_LISTS: dict[str, Any] = {"path": "/v1/pods[?]", "watch": False}
STREAMED_POD_LISTS: dict[str, Any] = {"path": "/v1/pods[?].*sendInitialEvents", "watch": True}
POD_WATCHES: dict[str, Any] = {"path": "/v1/pods[?]", "watch": True}
PODS = 100


class Cluster(NamedTuple):
    """Nodes with room for so many pods and no more, and a proxy that makes the scheduler's life hard."""

    api: KubeApi
    namespace: str
    audit: Audit
    proxy: FaultProxy

    def pods_arriving(self, count: int = PODS, *, within: float) -> AbstractContextManager[None]:
        return arriving(self.api, self.namespace, count, within=within, cpu="100m")


@pytest.fixture
def cluster(kube_api: KubeApi, namespace: str, audit: Audit, start_fault_proxy: Callable[..., FaultProxy]) -> Cluster:
    kube_api.create_all(node(f"n-{i}", cpu="5") for i in range(2))
    return Cluster(kube_api, namespace, audit, start_fault_proxy())


def test_a_server_that_is_away_for_ten_seconds(
    start_control_plane: Callable[..., ControlPlane], start_stowplan: StartStowplan
) -> None:
    control_plane = start_control_plane()
    with control_plane.client() as kube_api, Audit(kube_api) as audit:
        kube_api.create_all(node(f"n-{i}", cpu="9") for i in range(5))
        scheduler = start_stowplan(control_plane=control_plane)
        kube_api.create(pod("for-another", schedulerName="late"))
        with arriving(kube_api, "default", 400, within=20, cpu="100m"):
            wait_until(lambda: audit.seen > 20)
            control_plane.stop_api_server(kill=True)
            time.sleep(5)
            late = start_stowplan(
                control_plane=control_plane, name="late", config={"profiles": [{"schedulerName": "late"}]}
            )
            time.sleep(5)
            control_plane.start_api_server()
        audit.wait_for_all("default", 401)
        assert scheduler.alive
        assert late.alive


def test_watches_cut_every_second_and_bindings_whose_replies_come_too_late(
    cluster: Cluster, start_stowplan: StartStowplan
) -> None:
    """Bindings without a reply are sent again, for nobody knows whether they were carried out; the other pods do not
    wait for that. And what is not heard of while nobody listens is heard of afterwards."""
    done = cluster.proxy.add(Rule(Delay(33), times=20, **BINDINGS))
    not_yet = cluster.proxy.add(Rule(Delay(33, forward=False), times=20, **BINDINGS))
    cluster.api.create_all(node(f"more-{i}", cpu="10") for i in range(5))
    start_stowplan(server=cluster.proxy.url)
    with cluster.proxy.cutting_watches(every=1.0), cluster.pods_arriving(6 * PODS, within=18):
        time.sleep(20)
    wait_until(lambda: cluster.audit.seen == 6 * PODS - not_yet.hits, timeout=12)
    cluster.audit.wait_for_all(cluster.namespace, 6 * PODS)
    assert (done.hits, not_yet.hits) == (20, 20)


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param(
            [
                Rule(Reply(409, "Conflict"), times=30, **BINDINGS),
                Rule(Reply(429, "TooManyRequests", retry_after=1), times=60, **BINDINGS),
                Rule(Drop(), times=30, **BINDINGS),
            ],
            id="refused",
        ),
        pytest.param(
            [
                Rule(Reply(500, "InternalError"), times=60, **BINDINGS),
                Rule(Reply(503, "ServiceUnavailable"), times=60, **BINDINGS),
                Rule(Drop(forward=True), times=30, **BINDINGS),
            ],
            id="perhaps carried out",
        ),
    ],
)
def test_bindings_that_go_wrong(cluster: Cluster, start_stowplan: StartStowplan, rules: list[Rule]) -> None:
    start_stowplan(server=cluster.proxy.url)
    for rule in rules:
        cluster.proxy.add(rule)
        with cluster.pods_arriving(within=0):
            pass
        cluster.audit.wait_for_all(cluster.namespace, PODS)
        assert rule.hits == rule.times
        clear(cluster.api, "Pod", cluster.namespace)


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(Rule(Reply(500, "InternalError"), times=2, **POD_LISTS), id="500"),
        pytest.param(Rule(Reply(429, retry_after=1), times=2, **POD_LISTS), id="429"),
        pytest.param(Rule(Reply(500, "InternalError"), times=2, **STREAMED_POD_LISTS), id="streamed 500"),
        pytest.param(Rule(Drop(), times=2, **STREAMED_POD_LISTS), id="streamed, connection lost"),
    ],
)
def test_lists_that_go_wrong(cluster: Cluster, start_stowplan: StartStowplan, rule: Rule) -> None:
    if rule.watch is False:
        cluster.proxy.add(Rule(Reply(422, "Invalid"), **STREAMED_POD_LISTS))
    cluster.proxy.add(rule)
    with cluster.pods_arriving(within=0):
        start_stowplan(server=cluster.proxy.url)
    cluster.audit.wait_for_all(cluster.namespace, PODS)
    assert rule.hits == rule.times


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Reply(503), id="503"),
        pytest.param(Reply(404, "NotFound"), id="404"),
        pytest.param(Reply(410, "Expired"), id="410 on resume"),
        pytest.param(Reply(410, "Expired", in_watch=True), id="410 in the watch"),
        pytest.param(Garble(after=3), id="a malformed frame"),
        pytest.param(Garble(b'{"type":"ADDED","object":{"spec":7}}\n'), id="an object that makes no sense"),
        pytest.param(Drop(), id="connection lost"),
    ],
)
def test_watches_that_go_wrong(cluster: Cluster, start_stowplan: StartStowplan, fault: Fault) -> None:
    start_stowplan(server=cluster.proxy.url)
    with cluster.pods_arriving(within=2):
        wait_until(lambda: cluster.audit.seen >= 25)
        rule = cluster.proxy.add(Rule(fault, times=2, **POD_WATCHES))
        cluster.proxy.cut_watches()
        # Those that go while nobody watches leave room for those that come.
        going = list(cluster.api.bound_pods(cluster.namespace))[:10]
        for name in going:
            cluster.api.delete("Pod", name, cluster.namespace)
    cluster.api.create_all(pod(f"late-{i}", cluster.namespace, cpu="100m") for i in range(len(going)))
    cluster.audit.wait_for_all(cluster.namespace, PODS)
    assert rule.hits > 0
