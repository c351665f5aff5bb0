"""The control plane that tests run against, and kube-scheduler on it."""

import os
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from stowplan.testing import (
    ADMIN,
    NOBODY,
    SCHEDULER,
    ControlPlane,
    KubeApi,
    KubeScheduler,
    RefusedError,
    SurroundingsError,
    User,
    node,
    pod,
    wait_until,
)
from stowplan.testing.binaries import kubernetes_version
from stowplan.testing.cleanup import clear_cluster
from stowplan.testing.errors import UnreachableError

pytestmark = pytest.mark.e2e


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_kube_scheduler_binds_pods(
    kube_api: KubeApi, namespace: str, start_kube_scheduler: Callable[..., KubeScheduler]
) -> None:
    kube_api.create_all(node(name, cpu="2") for name in ("ant", "bee"))
    kube_api.create_all(pod(f"p{i}", namespace, cpu="1") for i in range(4))
    scheduler = start_kube_scheduler()
    assert kube_api.wait_for_pods_bound(namespace, 4).keys() == {"p0", "p1", "p2", "p3"}
    assert sorted(kube_api.bound_pods(namespace).values()) == ["ant", "ant", "bee", "bee"]

    attempts = 'scheduler_schedule_attempts_total{profile="default-scheduler",result="scheduled"}'
    assert wait_until(lambda: scheduler.metrics().get(attempts) == 4)
    assert "# TYPE scheduler_schedule_attempts_total counter" in scheduler.scrape()
    assert scheduler.cpu_seconds() > 0
    assert 20 < scheduler.rss_mib() < 1000
    scheduler.stop()
    assert gone(scheduler.process.pid)


def test_kube_scheduler_takes_a_config(
    kube_api: KubeApi, namespace: str, start_kube_scheduler: Callable[..., KubeScheduler]
) -> None:
    start_kube_scheduler(config={"profiles": [{"schedulerName": "mine"}]})
    kube_api.create(node("ant"))
    kube_api.create_all([pod("theirs", namespace), pod("ours", namespace, schedulerName="mine")])
    assert kube_api.wait_for_pods_bound(namespace, 1) == {"ours": "ant"}


def test_a_scheduler_that_cannot_start_shows_its_log(start_kube_scheduler: Callable[..., KubeScheduler]) -> None:
    with pytest.raises(SurroundingsError, match=r"(?s)kube-scheduler ended with status 1\n.*no-such-plugin"):
        start_kube_scheduler(config={"profiles": [{"plugins": {"filter": {"enabled": [{"name": "no-such-plugin"}]}}}]})


def test_the_server_is_of_the_reference_version(kube_api: KubeApi) -> None:
    if not os.environ.get("KUBEBUILDER_ASSETS"):
        assert kube_api.request("GET", "/version")["gitVersion"] == kubernetes_version()


def test_who_may_do_what(control_plane: ControlPlane, namespace: str) -> None:
    with control_plane.client(NOBODY) as nobody, pytest.raises(RefusedError) as refusal:
        nobody.list("Pod", namespace)
    assert (refusal.value.status, refusal.value.reason) == (403, "Forbidden")
    with control_plane.client(SCHEDULER) as scheduler:
        assert scheduler.list("Pod", namespace) == []
        with pytest.raises(RefusedError):
            scheduler.create(node("mine"))
    with control_plane.client(User("unknown")) as unknown, pytest.raises(RefusedError, match="401 Unauthorized"):
        unknown.list("Pod", namespace)


def test_login_by_certificate(control_plane: ControlPlane, namespace: str) -> None:
    pair = control_plane.authority.client("anybody", "system:masters")
    with control_plane.client_with_certificate(pair) as client:
        assert client.list("Pod", namespace) == []
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview", "metadata": {}}
        who = client.create(review)["status"]["userInfo"]
    assert (who["username"], "system:masters" in who["groups"]) == ("anybody", True)
    with control_plane.client_with_certificate(control_plane.authority.client("nobody")) as client:
        assert client.create(review)["status"]["userInfo"]["username"] == "nobody"
        with pytest.raises(RefusedError, match="403 Forbidden"):
            client.list("Pod", namespace)


def test_kubeconfigs_name_known_users_only(control_plane: ControlPlane) -> None:
    assert control_plane.url in control_plane.kubeconfig(SCHEDULER).read_text()
    assert "client-key-data" in control_plane.kubeconfig(User("stranger"), certificate=True).read_text()
    with pytest.raises(SurroundingsError, match="stranger has no token"):
        control_plane.kubeconfig(User("stranger"))


def test_the_server_is_trusted_by_its_authority_alone(control_plane: ControlPlane) -> None:
    with KubeApi(control_plane.url, ssl.create_default_context(), token=ADMIN.token) as client:
        assert not client.healthy()
        with pytest.raises(UnreachableError, match="CERTIFICATE_VERIFY_FAILED"):
            client.list("Pod")


def test_objects_can_be_changed_watched_and_deleted(kube_api: KubeApi, namespace: str) -> None:
    created = kube_api.create(pod("web", namespace, labels={"app": "web"}))
    patched = kube_api.patch("Pod", "web", {"metadata": {"labels": {"tier": "front"}}}, namespace)
    assert patched["metadata"]["labels"] == {"app": "web", "tier": "front"}
    conditions = {"status": {"conditions": [{"type": "PodScheduled", "status": "False"}]}}
    kube_api.patch("Pod", "web", conditions, namespace, how="strategic", subresource="status")
    stored = kube_api.get("Pod", "web", namespace)
    assert stored["status"]["conditions"][0]["type"] == "PodScheduled"
    stored["metadata"]["labels"] = {"app": "other"}
    kube_api.replace(stored)
    assert kube_api.list("Pod", namespace, labelSelector="app=web") == []
    kube_api.delete("Pod", "web", namespace)
    watch = kube_api.watch("Pod", namespace, resourceVersion=created["metadata"]["resourceVersion"])
    assert [next(watch)["type"] for _ in range(3)] == ["MODIFIED"] * 3
    assert wait_until(lambda: next(watch)["type"] == "DELETED")
    with pytest.raises(RefusedError, match="404 NotFound"):
        kube_api.get("Pod", "web", namespace)


def test_what_a_test_leaves_behind_is_removed(kube_api: KubeApi, namespace: str) -> None:
    def leftovers() -> list[str]:
        kinds = ("Node", "Pod", "PersistentVolume", "PersistentVolumeClaim", "scheduling.k8s.io/v1/PriorityClass")
        return [obj["metadata"]["name"] for kind in kinds for obj in kube_api.list(kind)]

    before = leftovers()
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    volume = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}}
    kube_api.create_all(
        [
            node("ant"),
            pod("bound", namespace, nodeName="ant"),
            pod("pending", namespace),
            {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv"}, "spec": volume},
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": "pvc", "namespace": namespace},
                "spec": claim,
            },
            {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9},
        ]
    )
    assert len(leftovers()) == len(before) + 6
    clear_cluster(kube_api)
    wait_until(lambda: leftovers() == before)


def test_pods_of_a_new_priority_class_are_admitted_at_once(kube_api: KubeApi, namespace: str) -> None:
    """Admission reads classes from a cache, which lags: in most of these cases it refuses the pod at first."""
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    for value in range(20):
        kube_api.create({**kind, "metadata": {"name": f"class-{value}"}, "value": value})
        created = kube_api.create(pod(f"p{value}", namespace, priorityClassName=f"class-{value}"))
        assert created["spec"]["priority"] == value
    with pytest.raises(RefusedError, match="no PriorityClass with name unknown was found"):
        kube_api.create(pod("refused", namespace, priorityClassName="unknown"))


def test_a_restart_of_the_api_server_keeps_address_and_objects(
    start_control_plane: Callable[..., ControlPlane], tmp_path: Path
) -> None:
    """And it can be made without some API groups, with users and flags of one's own."""
    robot = User.service_account("default", "robot")
    control_plane = start_control_plane(
        users=[robot],
        runtime_config={"storage.k8s.io/v1": False},
        flags=["--enable-admission-plugins=AlwaysPullImages"],
        throughput=True,
    )
    url = control_plane.url
    with control_plane.client() as client, control_plane.client(robot) as robots:
        with pytest.raises(RefusedError, match="404"):
            client.list("storage.k8s.io/v1/StorageClass")
        clear_cluster(client)
        client.create(node("ant"))
        created = client.create(pod("web", nodeName="ant"))
        assert created["spec"]["containers"][0]["imagePullPolicy"] == "Always"
        with pytest.raises(RefusedError, match=r"403 Forbidden: .*system:serviceaccount:default:robot"):
            robots.list("Pod")

        control_plane.stop_api_server(kill=True)
        assert not control_plane.api_server.alive
        with pytest.raises(UnreachableError):
            client.list("Pod")
        control_plane.start_api_server()
        assert control_plane.url == url
        assert client.bound_pods() == {"web": "ant"}

    pids = [process.pid for process in control_plane.processes]
    control_plane.stop()
    assert all(gone(pid) for pid in pids)
    assert not list(control_plane.folder.glob("etcd-*"))


def test_an_api_server_that_cannot_start_shows_its_log(start_control_plane: Callable[..., ControlPlane]) -> None:
    with pytest.raises(SurroundingsError, match=r"(?s)kube-apiserver ended with status 1\n.*no-such-flag"):
        start_control_plane(flags=["--no-such-flag"])
