"""Feeds against a real API server: what they tell is what there is, whatever happens to the connection."""

from collections.abc import Callable
from contextlib import closing

import pytest
from tests.e2e.devices import CLAIMS_ARE_SERVED, NO_CLAIMS
from tests.e2e.reflectors import RunningReflectors, State

from stowplan.api.kinds import KINDS
from stowplan.api.resource_versions import RESOURCE_GROUP
from stowplan.testing import (
    NOBODY,
    SCHEDULER,
    ControlPlane,
    FaultProxy,
    Garble,
    KubeApi,
    Reply,
    Rule,
    node,
    pod,
    wait_until,
)

pytestmark = pytest.mark.e2e

READ_BY_THE_SCHEDULER = sorted(
    name
    for name, kind in KINDS.items()
    if kind.case_list and not kind.custom and name not in ("PriorityClass", "ResourceClaimTemplate")
    if CLAIMS_ARE_SERVED or not kind.api_version.startswith(RESOURCE_GROUP)
)


def _wait_synced(state: State, *kinds: str, times: int = 1) -> None:
    wait_until(lambda: all(state.synced_kinds[kind] >= times for kind in kinds), what=f"{kinds} listed {times}x")


def _wait_pods(state: State, *names: str) -> None:
    wait_until(lambda: state.names("Pod") == set(names), what=f"exactly the pods {names}, not {state.names('Pod')}")


def test_lists_and_changes_of_every_kind_the_scheduler_may_read(control_plane: ControlPlane, kube_api: KubeApi) -> None:
    kube_api.create_all([node(f"n{number}") for number in range(25)])
    with RunningReflectors(control_plane.kubeconfig(SCHEDULER), *READ_BY_THE_SCHEDULER, page=10) as reflectors:
        _wait_synced(reflectors.state, *READ_BY_THE_SCHEDULER)
        assert reflectors.state.names("Node") == {f"n{number}" for number in range(25)}
        assert "default" in reflectors.state.names("Namespace")
        kube_api.patch("Node", "n3", {"metadata": {"labels": {"zone": "z"}}})
        kube_api.delete("Node", "n4")
        wait_until(lambda: "n4" not in reflectors.state.names("Node"), what="n4 gone")
        labels = {item.metadata.name: item.metadata.labels for item in reflectors.state.objects["Node"].values()}
        assert labels["n3"]["zone"] == "z"
        assert not reflectors.state.missing_kinds
        assert not reflectors.state.forbidden_kinds


def test_a_pod_that_finishes_is_gone(control_plane: ControlPlane, kube_api: KubeApi, namespace: str) -> None:
    kube_api.create(pod("done", namespace))
    kube_api.patch("Pod", "done", {"status": {"phase": "Failed"}}, namespace, subresource="status")
    kube_api.create(pod("a", namespace))
    with RunningReflectors(control_plane.kubeconfig(SCHEDULER), "Pod") as reflectors:
        _wait_pods(reflectors.state, "a")
        kube_api.create(pod("b", namespace))
        _wait_pods(reflectors.state, "a", "b")
        kube_api.patch("Pod", "a", {"status": {"phase": "Succeeded"}}, namespace, subresource="status")
        _wait_pods(reflectors.state, "b")
        assert reflectors.state.unknown_removals == 0


@pytest.mark.parametrize("in_watch", [False, True], ids=["status", "frame"])
def test_a_resume_that_comes_too_late_lists_again(
    control_plane: ControlPlane,
    kube_api: KubeApi,
    namespace: str,
    start_fault_proxy: Callable[..., FaultProxy],
    in_watch: bool,
) -> None:
    proxy = start_fault_proxy()
    kube_api.create_all([pod(name, namespace) for name in ("a", "b", "c")])
    with RunningReflectors(control_plane.kubeconfig(SCHEDULER, server=proxy.url), "Pod", page=2) as reflectors:
        _wait_pods(reflectors.state, "a", "b", "c")
        kube_api.create(pod("d", namespace))
        _wait_pods(reflectors.state, "a", "b", "c", "d")
        with proxy.rule(Rule(Reply(503), watch=True)):
            proxy.cut_watches()
            for name in ("a", "b"):
                kube_api.delete("Pod", name, namespace)
            kube_api.create(pod("b", namespace))
            gone = proxy.add(Rule(Reply(410, "Expired", in_watch=in_watch), watch=True, times=1))
        _wait_synced(reflectors.state, "Pod", times=2)
        _wait_pods(reflectors.state, "b", "c", "d")
        assert gone.hits == 1
        assert reflectors.state.unknown_removals == 0


def test_a_page_that_comes_too_late_lists_anew(
    control_plane: ControlPlane, kube_api: KubeApi, namespace: str, start_fault_proxy: Callable[..., FaultProxy]
) -> None:
    kube_api.create_all([pod(f"p{number}", namespace) for number in range(7)])
    proxy = start_fault_proxy(rules=[Rule(Reply(410, "Expired"), path="continue=", watch=False, times=1)])
    with RunningReflectors(control_plane.kubeconfig(SCHEDULER, server=proxy.url), "Pod", page=3) as reflectors:
        _wait_synced(reflectors.state, "Pod")
        assert len(reflectors.state.names("Pod")) == 7


def test_watches_that_are_cut_lose_nothing(
    control_plane: ControlPlane, kube_api: KubeApi, namespace: str, start_fault_proxy: Callable[..., FaultProxy]
) -> None:
    proxy = start_fault_proxy()
    with RunningReflectors(control_plane.kubeconfig(SCHEDULER, server=proxy.url), "Pod") as reflectors:
        _wait_synced(reflectors.state, "Pod")
        with proxy.cutting_watches(every=0.1):
            for number in range(60):
                kube_api.create(pod(f"p{number}", namespace))
                if number >= 10:
                    kube_api.delete("Pod", f"p{number - 10}", namespace)
        _wait_pods(reflectors.state, *(f"p{number}" for number in range(50, 60)))
        assert reflectors.state.synced_kinds["Pod"] == 1, "resuming suffices"
        assert reflectors.state.unknown_removals == 0


def test_malformed_frames_lose_nothing(
    control_plane: ControlPlane, kube_api: KubeApi, namespace: str, start_fault_proxy: Callable[..., FaultProxy]
) -> None:
    proxy = start_fault_proxy(rules=[Rule(Garble(after=1), watch=True, times=2)])
    with RunningReflectors(control_plane.kubeconfig(SCHEDULER, server=proxy.url), "Pod") as reflectors:
        _wait_synced(reflectors.state, "Pod")
        for name in ("a", "b", "c", "d"):
            kube_api.create(pod(name, namespace))
            wait_until(lambda name=name: name in reflectors.state.names("Pod"), what=name)  # type: ignore[misc]


def test_kinds_that_the_server_lacks_are_skipped(
    start_control_plane: Callable[..., ControlPlane], caplog: pytest.LogCaptureFixture
) -> None:
    lacking = start_control_plane(runtime_config=NO_CLAIMS | {"policy/v1": False})
    kinds = ("Node", "Pod", "PodDisruptionBudget", "ResourceClaim", "DeviceClass", "ResourceSlice")
    with RunningReflectors(lacking.kubeconfig(SCHEDULER), *kinds) as reflectors:
        _wait_synced(reflectors.state, "Node", "Pod")
        wait_until(lambda: len(reflectors.state.missing_kinds) == 4)
    assert sorted(reflectors.state.missing_kinds) == sorted(kinds[2:])
    fields = [text.removeprefix("The API server does not serve this resource, continuing") for text in caplog.messages]
    assert sorted(fields) == [
        " without it (resource=deviceclasses, apiVersion=resource.k8s.io/v1)",
        " without it (resource=poddisruptionbudgets, apiVersion=policy/v1)",
        " without it (resource=resourceclaims, apiVersion=resource.k8s.io/v1)",
        " without it (resource=resourceslices, apiVersion=resource.k8s.io/v1)",
    ]


def test_what_is_forbidden_is_told_by_name_until_it_is_allowed(
    control_plane: ControlPlane, kube_api: KubeApi, caplog: pytest.LogCaptureFixture
) -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "reflectors-nodes"},
        "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch"]}],
    }
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "reflectors-nodes"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reflectors-nodes"},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": NOBODY.name}],
    }
    with RunningReflectors(control_plane.kubeconfig(NOBODY), "Node", "PersistentVolume") as reflectors:
        wait_until(lambda: len(reflectors.state.forbidden_kinds) == 2)
        assert sorted(reflectors.state.forbidden_kinds) == [("Node", "list"), ("PersistentVolume", "list")]
        kube_api.create(role)
        kube_api.create(binding)
        try:
            _wait_synced(reflectors.state, "Node")
        finally:
            kube_api.delete("rbac.authorization.k8s.io/v1/ClusterRoleBinding", "reflectors-nodes")
            kube_api.delete("rbac.authorization.k8s.io/v1/ClusterRole", "reflectors-nodes")
    refused = 'User "nobody" cannot list resource "persistentvolumes" in API group "" at the cluster scope'
    expected = (
        f"Failed to list: Forbidden (403): persistentvolumes is forbidden: {refused} (resource=persistentvolumes)"
    )
    assert caplog.messages.count(expected) == 1


def test_an_api_server_that_goes_away_and_comes_back(start_control_plane: Callable[..., ControlPlane]) -> None:
    own = start_control_plane()
    with closing(own.client()) as api, RunningReflectors(own.kubeconfig(SCHEDULER), "Node") as reflectors:
        _wait_synced(reflectors.state, "Node")
        api.create(node("before"))
        own.stop_api_server(kill=True)
        own.start_api_server()
        api.create(node("after"))
        wait_until(lambda: reflectors.state.names("Node") == {"before", "after"})


def test_login_by_client_certificate(control_plane: ControlPlane, kube_api: KubeApi) -> None:
    kube_api.create(node("n1"))
    with RunningReflectors(control_plane.kubeconfig(SCHEDULER, certificate=True), "Node") as reflectors:
        wait_until(lambda: reflectors.state.names("Node") == {"n1"})
