"""The faults of the proxy, each on its way to a real API server."""

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from stowplan.testing import (
    SCHEDULER,
    ControlPlane,
    Delay,
    Drop,
    FaultProxy,
    Garble,
    Hold,
    KubeApi,
    KubeScheduler,
    RefusedError,
    Reply,
    Rule,
    node,
    pod,
    wait_until,
)
from stowplan.testing.errors import UnreachableError
from stowplan.testing.objects import JsonObject

pytestmark = pytest.mark.e2e


@pytest.fixture
def proxy(control_plane: ControlPlane, start_fault_proxy: Callable[..., FaultProxy]) -> FaultProxy:
    return start_fault_proxy(control_plane)


@pytest.fixture
def proxied(control_plane: ControlPlane, proxy: FaultProxy) -> Iterator[KubeApi]:
    with control_plane.client(server=proxy.url) as client:
        yield client


@pytest.fixture
def pods(kube_api: KubeApi, namespace: str) -> list[str]:
    kube_api.create_all([node("ant"), *(pod(name, namespace) for name in ("a", "b"))])
    return ["a", "b"]


def names_in(watch: Iterator[JsonObject], count: int) -> set[str]:
    return {next(watch)["object"]["metadata"]["name"] for _ in range(count)}


def bind(client: KubeApi, name: str, namespace: str) -> None:
    binding = {"metadata": {"name": name}, "target": {"kind": "Node", "name": "ant"}}
    client.request("POST", client.path("Pod", name, namespace, "binding"), binding)


def test_without_rules_it_is_not_noticed(kube_api: KubeApi, proxied: KubeApi, namespace: str, pods: list[str]) -> None:
    assert proxied.list("Pod", namespace) == kube_api.list("Pod", namespace)
    proxied.create_all(pod(f"more-{i}", namespace) for i in range(50))
    assert len(kube_api.list("Pod", namespace)) == 52
    bind(proxied, "a", namespace)
    assert kube_api.bound_pods(namespace) == {"a": "ant"}
    with pytest.raises(RefusedError, match="404 NotFound"):
        proxied.get("Pod", "nobody", namespace)


@pytest.mark.parametrize(
    ("reply", "status"),
    [(Reply(409, "Conflict"), 409), (Reply(429, retry_after=1), 429), (Reply(503), 503)],
)
def test_made_up_replies(
    proxy: FaultProxy, proxied: KubeApi, namespace: str, pods: list[str], reply: Reply, status: int
) -> None:
    rule = proxy.add(Rule(reply, method="POST", path="/binding$", times=2))
    for _ in range(2):
        with pytest.raises(RefusedError) as refusal:
            bind(proxied, "a", namespace)
        assert (refusal.value.status, refusal.value.reason) == (status, reply.reason)
    assert rule.hits == 2
    assert proxied.bound_pods(namespace) == {}
    bind(proxied, "a", namespace)
    assert proxied.bound_pods(namespace) == {"a": "ant"}


@pytest.mark.parametrize("in_watch", [True, False])
def test_gone_on_resuming_a_watch(proxy: FaultProxy, proxied: KubeApi, namespace: str, in_watch: bool) -> None:
    gone = Reply(410, "Expired", in_watch=in_watch)
    with proxy.rule(Rule(gone, watch=True, path="resourceVersion=[1-9]")) as rule:
        watch = proxied.watch("Pod", namespace, resourceVersion=5, timeoutSeconds=1)
        if in_watch:
            assert [(event["type"], event["object"]["code"]) for event in watch] == [("ERROR", 410)]
        else:
            with pytest.raises(RefusedError) as refusal:
                next(watch)
            assert refusal.value.status == 410
        assert rule.hits == 1
        assert proxied.list("Pod", namespace) == []


@pytest.mark.parametrize(
    ("fault", "bound"),
    [
        (Delay(5.0), True),
        (Delay(5.0, forward=False), False),
        (Drop(forward=True), True),
        (Drop(), False),
    ],
)
def test_no_reply_in_time_and_whether_it_was_done(
    control_plane: ControlPlane,
    kube_api: KubeApi,
    proxy: FaultProxy,
    namespace: str,
    pods: list[str],
    fault: Delay | Drop,
    bound: bool,
) -> None:
    """The client gives up in a hurry: perhaps before the fault has befallen it, and then it asks again."""
    rule = proxy.add(Rule(fault, method="POST", path="/binding$"))

    def ask_and_look() -> bool:
        with pytest.raises(UnreachableError):
            bind(hasty, "a", namespace)
        return rule.hits > 0 and ("a" in kube_api.bound_pods(namespace)) is bound

    with control_plane.client(server=proxy.url, timeout=0.3) as hasty:
        assert wait_until(ask_and_look)


def test_a_request_that_is_held_back(
    control_plane: ControlPlane, kube_api: KubeApi, proxy: FaultProxy, proxied: KubeApi, namespace: str, pods: list[str]
) -> None:
    """It is done when it is released, unless nobody waits for it any more."""
    hold = Hold()
    proxy.add(Rule(hold, method="POST", path="/a/binding$"))
    abandoned = proxy.add(Rule(hold, method="POST", path="/b/binding$"))
    with ThreadPoolExecutor(1) as threads, control_plane.client(server=proxy.url, timeout=0.3) as hasty:
        asked = threads.submit(bind, proxied, "a", namespace)

        def give_up() -> int:
            with pytest.raises(UnreachableError):
                bind(hasty, "b", namespace)
            return abandoned.hits

        assert wait_until(give_up)
        assert wait_until(lambda: len(proxy._conversations) == 1), "the proxy knows who has gone"
        assert kube_api.bound_pods(namespace) == {}
        hold.release()
        asked.result()
    assert kube_api.bound_pods(namespace) == {"a": "ant"}


def test_a_delayed_reply_arrives(proxy: FaultProxy, proxied: KubeApi, namespace: str, pods: list[str]) -> None:
    proxy.add(Rule(Delay(0.3), method="POST", path="/binding$"))
    started = time.monotonic()
    bind(proxied, "a", namespace)
    assert time.monotonic() - started >= 0.3


@pytest.mark.parametrize("after", [0, 1])
def test_a_malformed_frame(proxy: FaultProxy, proxied: KubeApi, namespace: str, pods: list[str], after: int) -> None:
    proxy.add(Rule(Garble(after=after), watch=True, times=1))
    watch = proxied.watch("Pod", namespace)
    for _ in range(after):
        assert next(watch)["type"] == "ADDED"
    with pytest.raises(json.JSONDecodeError):
        list(watch)
    assert names_in(proxied.watch("Pod", namespace), len(pods)) == set(pods)


def test_cutting_watches(proxy: FaultProxy, proxied: KubeApi, namespace: str, pods: list[str]) -> None:
    watch = proxied.watch("Pod", namespace)
    assert names_in(watch, len(pods)) == set(pods)
    assert proxy.cut_watches() == 1
    assert wait_until(lambda: proxy.cut_watches() == 0)
    with pytest.raises((StopIteration, UnreachableError)):
        next(watch)
    assert proxied.list("Pod", namespace)


def test_the_servers_end_is_the_clients_end(
    start_control_plane: Callable[..., ControlPlane], start_fault_proxy: Callable[..., FaultProxy]
) -> None:
    control_plane = start_control_plane()
    proxy = start_fault_proxy(control_plane)
    with control_plane.client(server=proxy.url) as client:
        client.create(node("ant"))
        control_plane.stop_api_server()
        with pytest.raises(UnreachableError):
            client.list("Node")
        control_plane.start_api_server()
        assert [obj["metadata"]["name"] for obj in client.list("Node")] == ["ant"]


def test_kube_scheduler_gets_through_a_storm(
    kube_api: KubeApi,
    namespace: str,
    proxy: FaultProxy,
    start_kube_scheduler: Callable[..., KubeScheduler],
) -> None:
    """All at once, and every pod still ends up bound: so it is the scheduler's merit, or fault, if one does not.

    It blows until each fault has struck, for whether a cut finds a watch under way is a matter of the moment.
    """
    kube_api.create_all(node(f"n{i}", cpu="100") for i in range(5))
    storm = [
        Rule(Reply(503, "ServiceUnavailable"), method="POST", path="/binding$", times=3),
        Rule(Delay(0.2), method="POST", path="/binding$", times=6),
        Rule(Reply(410, "Expired", in_watch=True), watch=True, path="resourceVersion=[1-9]", probability=0.3),
        Rule(Drop(), path="/events", probability=0.2),
    ]
    for rule in storm:
        proxy.add(rule)
    back_off = {"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1}
    start_kube_scheduler(config=back_off, server=proxy.url, user=SCHEDULER)
    with proxy.cutting_watches(every=0.5):
        for i in range(60):
            kube_api.create(pod(f"p{i}", namespace))
            time.sleep(0.02)
        assert wait_until(lambda: all(rule.hits for rule in storm))
        assert len(kube_api.wait_for_pods_bound(namespace, 60)) == 60
