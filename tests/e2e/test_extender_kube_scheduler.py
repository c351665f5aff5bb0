"""Our extender behind the stock kube-scheduler."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e.extending import HERE, ExtenderProcess, entry, failures, wait_for_failure

from stowplan.testing import ADMIN, ControlPlane, KubeApi, KubeScheduler, Process, User, node, pod, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

ROLES = HERE.parents[1] / "deploy" / "rbac-extender.yaml"

StartScheduler = Callable[..., KubeScheduler]
StartExtenders = Callable[..., None]


@pytest.fixture
def start_extenders(_own: Any) -> Iterator[StartExtenders]:
    """A function that starts extenders side by side."""

    def start(*extenders: ExtenderProcess, wait: bool = True) -> None:
        for each in extenders:
            _own.start(each)
        for each in extenders if wait else ():
            each.wait_ready()

    return start


def priority_class(name: str, value: int) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }


def tls_flags(control_plane: ControlPlane, name: str) -> list[str]:
    pair = control_plane.authority.server(name)
    return [f"--tls-cert-file={pair.certificate}", f"--tls-private-key-file={pair.key}"]


def test_names_only_over_mutual_tls(
    control_plane: ControlPlane,
    kube_api: KubeApi,
    namespace: str,
    tmp_path: Path,
    start_extenders: StartExtenders,
    start_kube_scheduler: StartScheduler,
) -> None:
    """All four verbs. Pods are shown by label what is to be done to them."""
    authority = control_plane.authority
    extender = ExtenderProcess(
        tmp_path,
        "names-only",
        *tls_flags(control_plane, "names-only"),
        f"--client-ca-file={authority.file}",
        "--allowed-names=the-scheduler",
        f"--kubeconfig={control_plane.kubeconfig(ADMIN)}",
        "--url-prefix=/api/scheduler",
        "--prioritize-verb=priority",
        scheme="https",
    )
    for name in ("n1", "n2", "n3"):
        kube_api.create(node(name, cpu="1"))
    start_extenders(extender)
    shown = authority.client("the-scheduler")
    tls = {"caFile": str(authority.file), "certFile": str(shown.certificate), "keyFile": str(shown.key)}
    start_kube_scheduler(
        config={
            "extenders": [
                entry(
                    f"{extender.url}/api/scheduler/",
                    prioritizeVerb="priority",
                    preemptVerb="preempt",
                    bindVerb="bind",
                    weight=100,
                    nodeCacheCapable=True,
                    enableHTTPS=True,
                    tlsConfig=tls,
                    httpTimeout="10s",
                )
            ]
        }
    )
    plain = {"cpu": "10m", "memory": "1Mi"}
    kube_api.create(pod("liked", namespace, labels={"prefer": "n2"}, **plain))
    kube_api.create(pod("refused", namespace, labels={"refuse": "n1_n2", "refuse-forever": "n3"}, **plain))
    kube_api.create(pod("hopeless", namespace, labels={"refuse-forever": "n1_n2_n3"}, **plain))
    kube_api.create(pod("unlucky", namespace, labels={"trouble": "raises"}, **plain))
    kube_api.create(pod("alone", namespace, nodeSelector={"kubernetes.io/hostname": "n3"}, **plain))
    assert kube_api.wait_for_pods_bound(namespace, count=2) == {"liked": "n2", "alone": "n3"}
    extender.wait_for_calls(f"{namespace}/liked", ["filter", "prioritize", "bind"])
    extender.wait_for_calls(f"{namespace}/alone", ["filter", "bind"])

    # Evictions may help where it is "Failed", they cannot where it is "FailedAndUnresolvable".
    told = wait_for_failure(kube_api, namespace, "refused", "wrong colour")
    assert "0/3 nodes are available: 1 wrong planet, 2 wrong colour." in told
    assert "1 Preemption is not helpful for scheduling" in told
    assert "2 No preemption victims found for incoming pod" in told
    told = wait_for_failure(kube_api, namespace, "hopeless", "wrong planet")
    assert "3 Preemption is not helpful for scheduling" in told
    assert "No preemption victims" not in told
    wait_for_failure(kube_api, namespace, "unlucky", "the licence server is down")

    _preempt(kube_api, namespace)
    assert wait_until(lambda: "preempt" in extender.calls(f"{namespace}/important"))
    metrics = extender.metrics()
    assert metrics['stowplan_extender_requests_total{code="200",verb="bind"}'] >= 2
    assert metrics["stowplan_extender_cache_nodes"] == 3
    assert metrics['stowplan_extender_rejected_nodes_total{reason="wrong planet",verb="filter"}'] >= 4


def _preempt(kube_api: KubeApi, namespace: str) -> None:
    """All nodes are full of pods that matter less. The extender protects one node's."""
    for name, value in (("low", 1), ("high", 1000)):
        kube_api.create(priority_class(name, value))
    for name in ("n1", "n2", "n3"):
        low = pod(f"low-{name}", namespace, cpu="900m", memory="1Mi", priorityClassName="low", nodeName=name)
        kube_api.create(low)
    kube_api.create(
        pod("important", namespace, cpu="500m", priorityClassName="high", labels={"protect": "n1_n2"}, memory="1Mi")
    )

    def evicted() -> list[str]:
        metadata = {p["metadata"]["name"]: p["metadata"] for p in kube_api.list("Pod", namespace)}
        stays = {name for name, meta in metadata.items() if "deletionTimestamp" not in meta}
        return [name for name in ("n1", "n2", "n3") if f"low-{name}" not in stays]

    assert wait_until(evicted, what="the eviction") == ["n3"]


def test_whole_nodes_failures_and_interest(
    control_plane: ControlPlane,
    kube_api: KubeApi,
    namespace: str,
    tmp_path: Path,
    start_extenders: StartExtenders,
    start_kube_scheduler: StartScheduler,
) -> None:
    """Three extenders: one over HTTPS that is sent whole nodes, one that may be ignored, one for some resource."""
    whole = ExtenderProcess(tmp_path, "whole", *tls_flags(control_plane, "whole"), "--http-timeout=4s", scheme="https")
    ignorable = ExtenderProcess(tmp_path, "ignorable", "--http-timeout=10s")
    interested = ExtenderProcess(tmp_path, "interested", f"--kubeconfig={control_plane.kubeconfig(ADMIN)}")
    for name in ("n1", "n2"):
        kube_api.create(node(name))
    start_extenders(whole, ignorable, interested)
    start_kube_scheduler(
        config={
            "extenders": [
                entry(
                    whole.url,
                    prioritizeVerb="prioritize",
                    preemptVerb="preempt",
                    weight=20,
                    enableHTTPS=True,
                    tlsConfig={"caFile": str(control_plane.authority.file)},
                    httpTimeout="4s",
                ),
                entry(ignorable.url, ignorable=True, httpTimeout="10s"),
                entry(
                    f"{interested.url}/",
                    filterVerb="/filter",
                    nodeCacheCapable=True,
                    managedResources=[{"name": "example.com/widget", "ignoredByScheduler": True}],
                    bindVerb="bind",
                ),
            ]
        }
    )
    kube_api.create(pod("liked", namespace, labels={"prefer": "n2"}))
    kube_api.create(pod("refused", namespace, labels={"refuse": "n1_n2"}))
    widget = pod("widget", namespace, labels={"prefer": "n1"})
    for amounts in ("requests", "limits"):
        widget["spec"]["containers"][0]["resources"].setdefault(amounts, {})["example.com/widget"] = "1"
    kube_api.create(widget)
    assert kube_api.wait_for_pods_bound(namespace, count=2) == {"liked": "n2", "widget": "n1"}
    interested.wait_for_calls(f"{namespace}/widget", ["filter", "bind"])
    assert interested.calls(f"{namespace}/liked") == []
    ignorable.wait_for_calls(f"{namespace}/liked", ["filter"])
    wait_for_failure(kube_api, namespace, "refused", "2 wrong colour")

    # One that must not be ignored answers before the scheduler gives up, so that its owner is told why.
    kube_api.create(pod("stuck", namespace, labels={"trouble": "hangs"}))
    told = wait_for_failure(kube_api, namespace, "stuck", "no answer within")
    assert "deadline exceeded" not in told
    kube_api.create(pod("next", namespace, labels={"prefer": "n1"}))  # which a plugin that hangs does not hold up
    assert kube_api.wait_for_pods_bound(namespace, count=3)["next"] == "n1"
    whole.stop()
    kube_api.create(pod("later", namespace))
    wait_for_failure(kube_api, namespace, "later", "connection refused")
    assert failures(kube_api, namespace, "liked") == []


def test_an_ignorable_extender_that_hangs(
    kube_api: KubeApi,
    namespace: str,
    tmp_path: Path,
    start_extenders: StartExtenders,
    start_kube_scheduler: StartScheduler,
) -> None:
    extender = ExtenderProcess(tmp_path, "ignorable", "--http-timeout=1500ms")
    start_extenders(extender)
    kube_api.create(node("n1"))
    start_kube_scheduler(config={"extenders": [entry(extender.url, ignorable=True, httpTimeout="1500ms")]})
    kube_api.create(pod("stuck", namespace, labels={"trouble": "hangs"}))
    assert kube_api.wait_for_pods_bound(namespace, count=1) == {"stuck": "n1"}
    assert wait_until(lambda: extender.metrics()['stowplan_extender_overdue_total{verb="filter"}'] == 1)


@pytest.fixture
def account(kube_api: KubeApi) -> Iterator[User]:
    """A user with the roles of an extender that binds."""
    roles = list(yaml.safe_load_all(ROLES.read_text()))
    for role in roles:
        kube_api.create(role)
    yield User.service_account("kube-system", "stowplan-extender")
    for role in roles:
        meta = role["metadata"]
        kube_api.delete(
            f"{role['apiVersion']}/{role['kind']}".removeprefix("v1/"), meta["name"], meta.get("namespace", "")
        )


@pytest.mark.parametrize("scheduler", ["start_kube_scheduler", "start_stowplan"])
def test_reservations(
    request: pytest.FixtureRequest,
    scheduler: str,
    control_plane: ControlPlane,
    kube_api: KubeApi,
    namespace: str,
    tmp_path: Path,
    account: User,
    start_extenders: StartExtenders,
) -> None:
    """Pods at a time, two seats a node: no seat is given away twice, and those without one are told. A second replica
    waits until the first one ends. Our own scheduler calls it just as well. The roles meant for it are enough."""
    flags = (f"--kubeconfig={control_plane.kubeconfig(account, certificate=True)}", "--leader-elect")
    extender = ExtenderProcess(tmp_path, "seats", *flags, plugin="Seats")
    second = ExtenderProcess(tmp_path, "second", *flags, plugin="Seats")
    for name in ("n1", "n2"):
        kube_api.create(node(name))
    start_extenders(extender)
    start_extenders(second, wait=False)
    called = entry(extender.url, bindVerb="bind", nodeCacheCapable=True, httpTimeout="10s")
    request.getfixturevalue(scheduler)(config={"extenders": [called]})
    _take_seats(kube_api, namespace)
    wait_until(lambda: extender.metrics()['stowplan_extender_reservations{plugin="Seats"}'] == 0, what="confirmation")
    assert "another replica holds the reservations" in second.wait_not_ready("reservations-lease")
    extender.stop()
    second.wait_ready(10)
    for replica in (extender, second):
        assert "forbidden" not in replica.process.log.read_text().lower()


def test_the_same_class_inside_our_scheduler(
    kube_api: KubeApi, namespace: str, start_stowplan: Callable[..., Process]
) -> None:
    for name in ("n1", "n2"):
        kube_api.create(node(name))
    start_stowplan(f"--plugin={HERE}/label_driven_plugins.py:Seats", user=ADMIN)
    _take_seats(kube_api, namespace)


def _take_seats(kube_api: KubeApi, namespace: str) -> None:
    kube_api.create_all([pod(f"p{number}", namespace) for number in range(6)])
    bound = kube_api.wait_for_pods_bound(namespace, count=4)
    pods = {p["metadata"]["name"]: p for p in kube_api.list("Pod", namespace)}
    seats = [(where, pods[name]["metadata"]["annotations"]["example.com/seat"]) for name, where in bound.items()]
    assert sorted(seats) == [("n1", "0"), ("n1", "1"), ("n2", "0"), ("n2", "1")]
    for name in set(pods) - set(bound):
        wait_for_failure(kube_api, namespace, name, "no seat is free")
        assert "annotations" not in pods[name]["metadata"]
