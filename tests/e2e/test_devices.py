"""Devices on a real API server: allocated once, whatever happens between the decision and the binding."""

import random
import time
from collections.abc import Callable

import pytest
from tests.builders import HOSTNAME
from tests.e2e import devices
from tests.e2e.conftest import StartStowplan
from tests.e2e.devices import CLAIM, SLICE, allocations, claim, device_class, device_slice, results, user, users

from stowplan.testing import Drop, FaultProxy, Hold, KubeApi, Reply, Rule, node, pod, wait_until
from stowplan.testing.faults import Fault

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.since("v1.36")]

FINALIZER = "resource.kubernetes.io/delete-protection"
STATUS_PATH = r"/resourceclaims/[^/]+/status"


@pytest.fixture
def gpus(kube_api: KubeApi) -> KubeApi:
    """Two nodes with two devices each."""
    kube_api.create_all([device_class(), *(node(name) for name in "ab"), *(device_slice(name, 2) for name in "ab")])
    return kube_api


def condition(api: KubeApi, name: str, namespace: str) -> str:
    found = api.get("Pod", name, namespace)["status"].get("conditions", ())
    return next((each["message"] for each in found if each["type"] == "PodScheduled" and "message" in each), "")


def everything_fits(api: KubeApi, namespace: str, count: int) -> None:
    """Pods `p-0` and so on are bound, each with a device of its node that nobody else has."""
    nodes = api.wait_for_pods_bound(namespace, count)
    given = allocations(api, namespace)
    assert set(given) == set(nodes)
    assert len({device for each in given.values() for device in each}) == count, given
    assert {name: each[0].split("/")[0] for name, each in given.items()} == nodes
    assert {each["metadata"]["name"]: users(each) for each in api.list(CLAIM, namespace)} == {
        name: [name] for name in nodes
    }


def create_users(api: KubeApi, namespace: str, numbers: range) -> None:
    api.create_all(claim(f"p-{number}", namespace) for number in numbers)
    api.create_all(user(f"p-{number}", namespace) for number in numbers)


def test_devices_are_allocated(gpus: KubeApi, namespace: str, start_stowplan: StartStowplan) -> None:
    """Directly, by an extended resource, and what is too much is told."""
    start_stowplan()
    create_users(gpus, namespace, range(3))
    everything_fits(gpus, namespace, 3)
    found = gpus.get(CLAIM, "p-0", namespace)
    assert found["metadata"]["finalizers"] == [FINALIZER]
    assert found["status"]["allocation"]["allocationTimestamp"]
    gpus.create(device_class("fpga", extendedResourceName="example.com/fpga"))
    limits = {"requests": {"example.com/fpga": "1"}, "limits": {"example.com/fpga": "1"}}
    container = {"name": "app", "image": "example.com/app:1", "resources": limits}
    gpus.create(pod("extended", namespace, containers=[container]))
    gpus.wait_for_pods_bound(namespace, 4)
    status = gpus.get("Pod", "extended", namespace)["status"]["extendedResourceClaimStatus"]
    mapping = {"containerName": "app", "resourceName": "example.com/fpga", "requestName": "container-0-request-0"}
    assert status["requestMappings"] == [mapping]
    made = gpus.get(CLAIM, status["resourceClaimName"], namespace)
    assert (len(results(made)), users(made)) == (1, ["extended"])
    assert made["metadata"]["ownerReferences"][0]["name"] == "extended"
    gpus.create_all([claim("late", namespace), user("late", namespace)])
    wait_until(lambda: "cannot allocate all claims" in condition(gpus, "late", namespace))
    gpus.create(node("c"))
    gpus.create(device_slice("c", 1))
    assert gpus.wait_for_pods_bound(namespace, 5)["late"] == "c"


def test_a_claim_that_keeps_its_pod_from_where_it_could_run(
    gpus: KubeApi, namespace: str, start_stowplan: StartStowplan
) -> None:
    """While somebody uses the claim it keeps its device; then it gets another one, on the node where the pod may go."""
    start_stowplan()
    gpus.create_all([claim("c", namespace), user("first", namespace, "c", nodeSelector={HOSTNAME: "a"})])
    assert gpus.wait_for_pods_bound(namespace, 1) == {"first": "a"}
    gpus.create(user("second", namespace, "c", nodeSelector={HOSTNAME: "b"}))
    wait_until(lambda: "still not schedulable" in condition(gpus, "second", namespace))
    gpus.delete("Pod", "first", namespace)
    gpus.patch(CLAIM, "c", {"status": {"reservedFor": None}}, namespace, subresource="status")
    assert gpus.wait_for_pods_bound(namespace, 1) == {"second": "b"}
    found = gpus.get(CLAIM, "c", namespace)
    assert (results(found), users(found)) == (["b/gpu-0"], ["second"])


@pytest.mark.parametrize(
    "fault", [Reply(409, "Conflict"), Drop(forward=True), Drop(forward=False)], ids=["conflict", "lost", "dropped"]
)
def test_writes_that_fail(
    gpus: KubeApi,
    namespace: str,
    fault: Fault,
    start_stowplan: StartStowplan,
    start_fault_proxy: Callable[..., FaultProxy],
) -> None:
    proxy = start_fault_proxy()
    rules = [
        proxy.add(Rule(fault, method="PATCH", path=path, times=2)) for path in (STATUS_PATH, r"/resourceclaims/[^/]+$")
    ]
    start_stowplan(server=proxy.url)
    create_users(gpus, namespace, range(4))
    everything_fits(gpus, namespace, 4)
    assert all(rule.hits == 2 for rule in rules)


def test_a_claim_that_is_deleted_in_flight(
    gpus: KubeApi, namespace: str, start_stowplan: StartStowplan, start_fault_proxy: Callable[..., FaultProxy]
) -> None:
    proxy = start_fault_proxy()
    hold = Hold()
    held = proxy.add(Rule(hold, method="PATCH", path=r"/resourceclaims/p-0$", times=1))
    start_stowplan(server=proxy.url)
    create_users(gpus, namespace, range(1))
    wait_until(lambda: held.hits)
    gpus.delete(CLAIM, "p-0", namespace)
    create_users(gpus, namespace, range(1, 5))
    hold.release()
    wait_until(
        lambda: (
            "could not find" in condition(gpus, "p-0", namespace) or "not found" in condition(gpus, "p-0", namespace)
        )
    )
    gpus.wait_for_pods_bound(namespace, 4)
    gpus.delete("Pod", "p-4", namespace)
    gpus.patch(CLAIM, "p-4", {"metadata": {"finalizers": None}}, namespace)
    gpus.delete(CLAIM, "p-4", namespace)
    gpus.create(claim("p-0", namespace))
    everything_fits(gpus, namespace, 4)


def test_a_slice_that_is_replaced_in_flight(
    kube_api: KubeApi, namespace: str, start_stowplan: StartStowplan, start_fault_proxy: Callable[..., FaultProxy]
) -> None:
    """What was decided stands, as with kube-scheduler; what is decided afterwards heeds the change."""
    proxy = start_fault_proxy()
    kube_api.create_all([device_class(), node("a"), device_slice("a", 1)])
    hold = Hold()
    held = proxy.add(Rule(hold, method="PATCH", path="/p-0/status", times=1))
    start_stowplan(server=proxy.url)
    create_users(kube_api, namespace, range(1))
    wait_until(lambda: held.hits)
    replaced = kube_api.get(SLICE, f"a-{devices.DRIVER}", "")
    replaced["spec"] = device_slice("a", 1, generation=2, first=7)["spec"]
    kube_api.replace(replaced)
    create_users(kube_api, namespace, range(1, 2))
    kube_api.wait_for_pods_bound(namespace, 1)
    hold.release()
    kube_api.wait_for_pods_bound(namespace, 2)
    assert allocations(kube_api, namespace) == {"p-0": ["a/gpu-0"], "p-1": ["a/gpu-7"]}


def test_sigkill_between_allocation_and_binding(
    kube_api: KubeApi, namespace: str, start_stowplan: StartStowplan, start_fault_proxy: Callable[..., FaultProxy]
) -> None:
    """There are as many devices as pods: whoever gives one away twice, or loses one, leaves a pod without."""
    rng, lives, batch = random.Random(7), 4, 12
    kube_api.create_all([device_class(), *(node(f"n-{i}") for i in range(lives))])
    kube_api.create_all(device_slice(f"n-{i}", batch) for i in range(lives))
    proxy = start_fault_proxy()
    scheduler = start_stowplan(server=proxy.url)
    for life in range(lives):
        held = proxy.add(Rule(Hold(), method="POST", path="/binding$"))
        create_users(kube_api, namespace, range(life * batch, (life + 1) * batch))
        _wait_for_hits(held, rng.randint(1, batch // 2))
        time.sleep(rng.uniform(0.0, 0.2))
        scheduler.kill()
        proxy.remove(held)
        unbound = allocations(kube_api, namespace).keys() - kube_api.bound_pods(namespace).keys()
        assert unbound, "some are allocated and not bound"
        scheduler.start()
    everything_fits(kube_api, namespace, lives * batch)


def _wait_for_hits(rule: Rule, count: int) -> None:
    wait_until(lambda: rule.hits >= count, every=0.01)
