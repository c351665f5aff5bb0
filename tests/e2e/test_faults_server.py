"""An API server that goes away, and connections that break."""

import time
from collections.abc import Callable

import pytest
from tests.e2e.arrivals import arriving
from tests.e2e.audit import Audit
from tests.e2e.conftest import StartStowplan

from stowplan.testing import ControlPlane, Delay, Drop, FaultProxy, Garble, KubeApi, Reply, Rule, node, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

StartProxy = Callable[..., FaultProxy]

BINDINGS = {"method": "POST", "path": "/binding$"}
PODS_WATCH = {"path": "/pods[?]", "watch": True}


@pytest.mark.timeout(150)
def test_a_server_that_is_away_for_ten_seconds(
    start_control_plane: Callable[..., ControlPlane], start_stowplan: StartStowplan
) -> None:
    control_plane = start_control_plane()
    with control_plane.client() as kube_api, Audit(kube_api) as audit:
        kube_api.create_all(node(f"n-{i}", cpu="10") for i in range(4))
        scheduler = start_stowplan(control_plane=control_plane)
        with arriving(kube_api, "default", 400, within=20, cpu="100m"):
            wait_until(lambda: audit.seen > 20)
            control_plane.stop_api_server(kill=True)
            time.sleep(10)
            control_plane.start_api_server()
        audit.wait_for_all("default", 400, timeout=60)
        assert scheduler.alive


@pytest.mark.timeout(120)
def test_watches_cut_every_second(
    kube_api: KubeApi, namespace: str, audit: Audit, start_stowplan: StartStowplan, start_fault_proxy: StartProxy
) -> None:
    proxy = start_fault_proxy()
    kube_api.create_all(node(f"n-{i}", cpu="10") for i in range(10))
    start_stowplan(server=proxy.url)
    with proxy.cutting_watches(every=1.0):
        began = time.monotonic()
        with arriving(kube_api, namespace, 1000, within=20, cpu="100m"):
            time.sleep(20)
        audit.wait_for_all(namespace, 1000)
    assert time.monotonic() - began < 40


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(Rule(Reply(409, "Conflict"), times=30, **BINDINGS), id="409 on bind"),
        pytest.param(Rule(Reply(429, "TooManyRequests", retry_after=1), times=60, **BINDINGS), id="429 on bind"),
        pytest.param(Rule(Reply(500, "InternalError"), times=60, **BINDINGS), id="500 on bind"),
        pytest.param(Rule(Reply(503, "ServiceUnavailable"), times=60, **BINDINGS), id="503 on bind"),
        pytest.param(Rule(Drop(), times=30, **BINDINGS), id="connection lost before bind"),
        pytest.param(Rule(Drop(forward=True), times=30, **BINDINGS), id="connection lost after bind"),
        pytest.param(Rule(Reply(500, "InternalError"), watch=False, method="GET", times=20), id="500 on list"),
        pytest.param(Rule(Reply(429, retry_after=1), watch=False, method="GET", times=20), id="429 on list"),
        pytest.param(Rule(Reply(503), watch=True, times=20), id="503 on watch"),
        pytest.param(Rule(Garble(after=3), times=3, **PODS_WATCH), id="malformed frame"),
        pytest.param(Rule(Garble(b'{"type":"ADDED","object":{"spec":7}}\n'), times=2, **PODS_WATCH), id="odd object"),
        pytest.param(Rule(Reply(410, "Expired", in_watch=True), times=2, **PODS_WATCH), id="410 in a watch"),
    ],
)
def test_replies_that_are_no_good(
    kube_api: KubeApi,
    namespace: str,
    audit: Audit,
    start_stowplan: StartStowplan,
    start_fault_proxy: StartProxy,
    rule: Rule,
) -> None:
    proxy = start_fault_proxy()
    proxy.add(rule)
    kube_api.create_all(node(f"n-{i}", cpu="5") for i in range(2))
    start_stowplan(server=proxy.url)
    with arriving(kube_api, namespace, 100, within=2, cpu="100m"):
        pass
    audit.wait_for_all(namespace, 100)
    assert rule.hits == rule.times


def test_a_watch_that_cannot_be_resumed(
    kube_api: KubeApi, namespace: str, audit: Audit, start_stowplan: StartStowplan, start_fault_proxy: StartProxy
) -> None:
    proxy = start_fault_proxy()
    kube_api.create_all(node(f"n-{i}", cpu="5") for i in range(2))
    start_stowplan(server=proxy.url)
    with arriving(kube_api, namespace, 100, within=4, cpu="100m"):
        wait_until(lambda: audit.seen >= 25)
        expired = proxy.add(Rule(Reply(410, "Expired"), watch=True, times=20))
        proxy.cut_watches()
        # Those that go while nobody watches leave room.
        for name, _ in list(kube_api.bound_pods(namespace).items())[:10]:
            kube_api.delete("Pod", name, namespace)
    audit.wait_for_all(namespace, 90)
    assert expired.hits


@pytest.mark.timeout(120)
def test_bindings_whose_replies_come_too_late(
    kube_api: KubeApi, namespace: str, audit: Audit, start_stowplan: StartStowplan, start_fault_proxy: StartProxy
) -> None:
    proxy = start_fault_proxy()
    done = proxy.add(Rule(Delay(33), times=20, **BINDINGS))
    not_yet = proxy.add(Rule(Delay(33, forward=False), times=20, **BINDINGS))
    kube_api.create_all(node(f"n-{i}", cpu="5") for i in range(2))
    start_stowplan(server=proxy.url)
    with arriving(kube_api, namespace, 100, within=1, cpu="100m"):
        pass
    audit.wait_for_all(namespace, 100, timeout=60)
    assert (done.hits, not_yet.hits) == (20, 20)
