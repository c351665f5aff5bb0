"""Pod groups on a real API server with the feature gates on, beside kube-scheduler and alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest
from tests.e2e.conftest import StartStowplan
from tests.e2e.devices import CLAIM, claim, device_class, device_slice, resource
from tests.e2e.group_workloads import (
    NAMESPACE,
    POD_GROUP,
    PRIORITIES,
    VERSION,
    draw,
    end_state,
    group_condition,
    member,
    message_of,
    pod_group,
    priority_class,
    remove,
    warm_up,
)

from stowplan.testing import ControlPlane, KubeApi, KubeScheduler, node, pod, wait_until
from stowplan.testing.cleanup import clear

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.since("v1.36")]

GANG = "--feature-gates=GenericWorkload=true,GangScheduling=true"
ALL = f"{GANG},TopologyAwareWorkloadScheduling=true,WorkloadAwarePreemption=true,DRAWorkloadResourceClaims=true"
FIRST = int(os.environ.get("STOWPLAN_GROUP_FIRST", "0"))
SEEDS = range(FIRST, FIRST + int(os.environ.get("STOWPLAN_GROUP_WORKLOADS", "6")))
TWO_PROFILES = {"profiles": [{"schedulerName": "default-scheduler"}, {"schedulerName": "other"}]}
KILLS = int(os.environ.get("STOWPLAN_GROUP_KILLS", "3"))


@pytest.fixture
def place(start_control_plane: Callable[..., ControlPlane]) -> ControlPlane:
    return start_control_plane(flags=[ALL], runtime_config={VERSION: True})


@pytest.fixture
def api(place: ControlPlane) -> Iterator[KubeApi]:
    with place.client() as client:
        client.create_all([priority_class(*each) for each in PRIORITIES.items()])
        yield client


@pytest.mark.parametrize("gates", [GANG, ALL], ids=["gang", "all"])
def test_end_states_as_kube_schedulers(
    place: ControlPlane,
    api: KubeApi,
    start_kube_scheduler: Callable[..., KubeScheduler],
    start_stowplan: StartStowplan,
    gates: str,
) -> None:
    workloads = {seed: draw(seed, whole=gates == ALL) for seed in SEEDS}
    other = start_kube_scheduler(place, flags=[gates])
    warm_up(api)
    expected = {seed: end_state(api, workload) for seed, workload in workloads.items()}
    other.stop()
    start_stowplan(gates, control_plane=place)
    warm_up(api)
    found = {seed: end_state(api, workload) for seed, workload in workloads.items()}
    differences = [
        f"{seed}: {found[seed]}\n   kube-scheduler: {expected[seed]}"
        for seed in SEEDS
        if not found[seed].agrees_with(expected[seed])
    ]
    assert not differences, "\n".join(differences)


def test_a_gang_killed_in_mid_bind_is_completed(
    place: ControlPlane, api: KubeApi, start_stowplan: StartStowplan
) -> None:
    """kill -9 while the members of a gang are being bound: the next process completes it."""
    api.create_all([node(f"n{i}", cpu="8") for i in range(5)])
    size = 40
    for attempt in range(KILLS):
        process = start_stowplan(GANG, control_plane=place, name=f"stowplan-{attempt}")
        api.create_all(member(f"g-{i}", cpu="1") for i in range(size))
        api.create(pod_group("g", size))
        wait_until(lambda: api.bound_pods(NAMESPACE), every=0.001)
        process.kill()
        again = start_stowplan(GANG, control_plane=place, name=f"again-{attempt}")
        api.wait_for_pods_bound(NAMESPACE, size, timeout=30)
        again.stop()
        remove(api, ("Pod", POD_GROUP))


def test_without_the_api_plain_pods_go_on(
    start_control_plane: Callable[..., ControlPlane], start_stowplan: StartStowplan
) -> None:
    """kube-scheduler would schedule nothing: its informer of PodGroups never syncs."""
    place = start_control_plane()
    with place.client() as api:
        api.create_all([node("n"), pod("plain", NAMESPACE)])
        process = start_stowplan(GANG, control_plane=place)
        api.wait_for_pods_bound(NAMESPACE, 1)
        assert process.log.read_text().count("The API server does not serve this resource") == 1


def test_a_gang_waits_for_room(place: ControlPlane, api: KubeApi, start_stowplan: StartStowplan) -> None:
    start_stowplan(GANG, control_plane=place)
    api.create_all([node("n", cpu="3"), *(member(f"g-{i}") for i in range(4))])
    api.create(pod_group("g", 4))
    wait_until(lambda: group_condition(api, "g") == ("False", "Unschedulable", "pod group is unschedulable"))
    assert not api.bound_pods(NAMESPACE)
    api.create(node("more", cpu="1"))
    api.wait_for_pods_bound(NAMESPACE, 4)
    wait_until(lambda: group_condition(api, "g") == ("True", "Scheduled", ""))


def test_a_claim_of_a_group_is_reserved_for_it(
    place: ControlPlane, api: KubeApi, start_stowplan: StartStowplan
) -> None:
    """DRAWorkloadResourceClaims: one entry in reservedFor, and members on the node of the device; the claim of a
    template, as the controller makes it, belongs to the group."""
    start_stowplan(ALL, control_plane=place)
    api.create_all([node("n", cpu="8"), node("m", cpu="8"), device_class(), device_slice("n", 2)])
    uses = [
        {"name": "named", "resourceClaimName": "named"},
        {"name": "made", "resourceClaimTemplateName": "template"},
    ]
    template = resource("ResourceClaimTemplate", "template", {"spec": claim("x", NAMESPACE)["spec"]}, NAMESPACE)
    api.create_all([claim("named", NAMESPACE), template])
    group = api.create(pod_group("g", 3, resourceClaims=uses))
    made = claim("made", NAMESPACE)
    made["metadata"]["ownerReferences"] = [
        {
            "apiVersion": VERSION,
            "kind": "PodGroup",
            "name": "g",
            "uid": group["metadata"]["uid"],
            "controller": True,
        }
    ]
    made["metadata"]["annotations"] = {"resource.kubernetes.io/pod-claim-name": "made"}
    api.create(made)
    api.create_all([member(f"g-{i}", resourceClaims=uses) for i in range(3)])
    statuses = {"status": {"resourceClaimStatuses": [{"name": "made", "resourceClaimName": "made"}]}}
    for i in range(3):
        api.patch("Pod", f"g-{i}", statuses, NAMESPACE, subresource="status")
    bound = api.wait_for_pods_bound(NAMESPACE, 3)
    assert set(bound.values()) == {"n"}
    for name in ("named", "made"):
        [consumer] = api.get(CLAIM, name, NAMESPACE)["status"]["reservedFor"]
        assert (consumer["resource"], consumer["uid"]) == ("podgroups", group["metadata"]["uid"])


def test_bad_groups_leave_a_line_each_and_hold_up_no_pod(
    place: ControlPlane, api: KubeApi, start_stowplan: StartStowplan
) -> None:
    """minCount above the members, members of two schedulers, a PodGroup that is missing or vanishes."""
    process = start_stowplan(GANG, control_plane=place, config=TWO_PROFILES)
    api.create(node("n", cpu="4"))
    api.create_all([member(f"few-{i}", "few") for i in range(2)])
    api.create(pod_group("few", 3))
    api.create_all([member("mixed-0", "mixed"), member("mixed-1", "mixed", schedulerName="other")])
    api.create(pod_group("mixed", 2))
    api.create_all([member(f"gone-{i}", "gone", cpu="3") for i in range(2)])
    api.create(pod_group("gone", 2))
    api.create(member("orphan-0", "orphan"))
    wait_until(lambda: group_condition(api, "gone") is not None)
    text = "all pods in a single pod group should have the same .spec.schedulerName set"
    wait_until(lambda: text in message_of(api, "mixed-0"))
    clear(api, POD_GROUP)
    api.create(pod("plain", NAMESPACE))
    api.wait_for_pods_bound(NAMESPACE, 1)
    assert process.log.read_text().count("internal error") == 0
    api.create(pod_group("orphan", 1))
    api.create(pod_group("few", 2))
    api.wait_for_pods_bound(NAMESPACE, 4)


def test_many_groups_names_at_their_limit_and_members_that_flap(
    place: ControlPlane, api: KubeApi, start_stowplan: StartStowplan
) -> None:
    """2,000 groups that wait for members, and a gang whose members are deleted and created again: it is bound as a
    whole, and other pods do not wait."""
    process = start_stowplan(GANG, control_plane=place)
    longest = ("a" * 63 + ".") * 3 + "a" * 61
    names = [f"{number:04}{longest[4:]}" for number in range(2000)]
    api.create_all([node("n", cpu="8"), *(pod_group(name, 2) for name in names), pod_group("g", 4)])
    api.create_all([member(f"m-{name[:200]}", name) for name in names[:100]])  # One member each: gated.
    for turn in range(30):
        last = f"g-{turn % 4}"
        api.create_all([member(f"g-{i}") for i in range(4) if f"g-{i}" != last])
        for i in range(4):
            if f"g-{i}" != last:
                api.delete("Pod", f"g-{i}", NAMESPACE)
    api.create(pod("plain", NAMESPACE))
    api.wait_for_pods_bound(NAMESPACE, 1)
    api.create_all([member(f"g-{i}") for i in range(4)])
    wait_until(lambda: {f"g-{i}" for i in range(4)} <= set(api.bound_pods(NAMESPACE)))
    api.create(member(f"n-{names[0][:200]}", names[0]))  # Completes the first gang.
    api.wait_for_pods_bound(NAMESPACE, 7)
    assert process.alive
    assert not [line for line in process.log.read_text().splitlines() if line.startswith("E")]
