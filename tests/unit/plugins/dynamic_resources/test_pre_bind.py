"""PreBind: what is written into claims in which order, what is waited for, and every way in which it fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from tests.builders import make, node, pod
from tests.unit.plugins.dynamic_resources.devices import CLASS, FINALIZER, Devices, allocated, claim, devices, using

from stowplan import api
from stowplan.engine import Observer
from stowplan.framework import Bind, Failure, Write

CONFLICT = Failure("the object has been modified", "Conflict")
LOST = Failure("no answer", "Timeout")


def host(*items: Any, observer: Observer | None = None, **options: Any) -> Devices:
    invariants = {"observer": observer, "check_invariants": False} if observer else {}
    return Devices(CLASS, node("a"), devices("a", **options), *items, **invariants)


def test_devices_are_written_before_the_pod_is_bound() -> None:
    stage = host(claim("c"), using("p", "c"))
    stage.schedule(Bind)
    assert stage.writes() == ["patch ResourceClaim", "patch ResourceClaim/status"]
    found = stage.claim("c")
    assert found.metadata.finalizers == (FINALIZER,)
    assert stage.given("c") == ["a/gpu-0"]
    assert found.status.reserved_for == (
        api.ResourceClaimConsumerReference(resource="pods", name="p", uid="default/p"),
    )
    assert found.status.allocation is not None
    assert found.status.allocation.allocation_timestamp == "1970-01-12T13:46:40Z"
    stage.settle()
    assert stage.node_of("p") == "a"


def test_a_claim_that_has_devices_is_reserved_only() -> None:
    stage = host(claim("c", status=allocated("gpu-1")), using("p", "c"), using("q", "c"))
    stage.schedule()
    assert stage.writes() == ["patch ResourceClaim/status"] * 2
    assert (stage.given("c"), stage.users("c")) == (["a/gpu-1"], ["p", "q"])
    assert (stage.node_of("p"), stage.node_of("q")) == ("a", "a")


def test_a_claim_that_is_reserved_already_is_left_alone() -> None:
    reserved = {**allocated("gpu-1"), "reservedFor": [{"resource": "pods", "name": "p", "uid": "default/p"}]}
    stage = host(claim("c", status=reserved), using("p", "c"))
    stage.schedule()
    assert (stage.writes(), stage.node_of("p")) == ([], "a")


def test_others_do_not_get_devices_that_are_in_flight() -> None:
    stage = host(claim("c"), claim("d"), claim("e"), using("p", "c"), using("q", "d"), using("r", "e"))
    stage.schedule(Write)
    assert stage.taken() == {"a/gpu-0", "a/gpu-1"}
    assert "cannot allocate all claims" in stage.condition("r")[2]
    stage.settle()
    assert (stage.given("c"), stage.given("d"), stage.given("e")) == (["a/gpu-0"], ["a/gpu-1"], [])


def test_a_claim_in_flight_keeps_other_pods_waiting() -> None:
    stage = host(claim("c"), using("p", "c"), using("q", "c"))
    stage.schedule(Write)
    assert "resource claim default/c is in the process of being allocated" in stage.condition("q")[2]
    stage.settle()
    stage.advance(10)
    assert (stage.users("c"), stage.node_of("q")) == (["p", "q"], "a")


def test_what_was_written_counts_before_the_watch_tells() -> None:
    stage = host(claim("c"), claim("d"), using("p", "c"))
    stage.schedule(Write)
    for _ in range(2):
        stage.do(stage.next_open(Write))
    assert stage.undelivered
    assert stage.tracker.pending(stage.claim("c")) is None
    assert stage.taken() == {"a/gpu-0"}
    known = stage.tracker.get("c", "default")
    assert known is not None
    assert known.status.allocation is not None


@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("refusal", [CONFLICT, LOST])
def test_a_write_that_is_refused_or_lost_is_repeated(position: int, refusal: Failure) -> None:
    stage = host(claim("c"), using("p", "c"))
    stage.schedule(Write)
    for _ in range(position):
        stage.do(stage.next_open(Write))
    stage.do(stage.next_open(Write), refusal)
    stage.advance(0.01)
    assert stage.writes()[position + 1] == "get ResourceClaim"
    assert (stage.given("c"), stage.users("c"), stage.node_of("p")) == (["a/gpu-0"], ["p"], "a")


def test_a_write_whose_answer_got_lost_is_not_made_twice() -> None:
    stage = host(claim("c"), using("p", "c"))
    stage.schedule(Write)
    stage.do(stage.next_open(Write))
    lost = stage.next_write("patch", "status")
    stage.world.execute(lost)
    stage.do(lost, LOST)
    stage.advance(0.01)
    assert stage.writes() == ["patch ResourceClaim", "patch ResourceClaim/status", "get ResourceClaim"]
    assert (stage.users("c"), stage.node_of("p")) == (["p"], "a")


def refuse_all(stage: Devices, refusal: Failure) -> None:
    """Refuse every change of a claim; reads are answered."""
    while any(isinstance(each, Write) for each in (stage.take(), stage.open)[1]):
        write: Write = stage.next_open(Write)
        stage.do(write, refusal if write.verb == "patch" else ...)
        stage.pass_time(stage.clock.now + 0.01)


def test_conflicts_without_end_fail_the_attempt() -> None:
    stage = host(claim("c"), using("p", "c"))
    stage.schedule(Write)
    refuse_all(stage, CONFLICT)
    stage.settle(Write)
    assert stage.writes().count("patch ResourceClaim") == 5
    assert stage.failure("p") == "add finalizer to claim default/c: the object has been modified"
    assert (stage.taken(), stage.place("p")) == (set(), "error_backoff")


def test_nobody_gets_a_device_while_it_is_unknown_whether_it_was_written() -> None:
    stage = host(claim("c"), claim("d"), using("p", "c"), count=1)
    stage.schedule(Write)
    stage.do(stage.next_open(Write))
    while not stage.pod("p").status.conditions:
        write: Write = stage.next_open(Write)
        stage.do(write, LOST)
        stage.pass_time(stage.clock.now + 0.01)
        stage.settle(Write)
    assert stage.taken() == {"a/gpu-0"}
    stage.advance(10)
    assert (stage.given("c"), stage.node_of("p")) == (["a/gpu-0"], "a")


def forgetting(found: api.ResourceClaim) -> api.ResourceClaim:
    return replace(found, status=api.ResourceClaimStatus())


def deleting(found: api.ResourceClaim) -> api.ResourceClaim:
    return replace(found, metadata=replace(found.metadata, deletion_timestamp="2026-01-01T00:00:00Z"))


def allocating(found: api.ResourceClaim) -> api.ResourceClaim:
    return replace(found, status=api.ResourceClaimStatus(allocation=api.AllocationResult()))


@pytest.mark.parametrize(
    ("status", "change", "told"),
    [
        ({}, deleting, "claim default/c got deleted in the meantime"),
        ({}, allocating, "claim default/c got allocated elsewhere in the meantime"),
        (allocated("gpu-1"), forgetting, "claim default/c got deallocated elsewhere in the meantime"),
    ],
)
def test_what_others_did_meanwhile(
    status: Any, change: Callable[[api.ResourceClaim], api.ResourceClaim], told: str
) -> None:
    stage = host(claim("c", status=status), using("p", "c"))
    stage.schedule(Write)
    stage.world.put(change(stage.claim("c")))
    stage.do(stage.next_open(Write))  # a conflict, which the next look explains
    stage.advance(0.01)
    assert stage.failure("p") == told


def test_a_claim_that_is_gone_when_it_is_looked_at_again() -> None:
    stage = host(claim("c"), using("p", "c"))
    stage.schedule(Write)
    stage.world.delete(stage.claim("c"))
    stage.do(stage.next_open(Write), CONFLICT)
    stage.advance(0.01)
    told = 'get updated claim default/c after conflict: resourceclaims.resource.k8s.io "c" not found'
    assert stage.failure("p") == told
    assert stage.taken() == set()


@pytest.fixture
def slow() -> Devices:
    """A pod that waits for its device."""
    stage = host(
        claim("c"), using("p", "c"), bindingConditions=["Attached"], bindingFailureConditions=["Broken", "Lost"]
    )
    stage.schedule()
    return stage


def report(stage: Devices, condition: str) -> None:
    """What a driver says of the device."""
    found = stage.claim("c")
    conditions = (api.Condition(type=condition, status="True", reason="Because", message="it is"),)
    status = api.AllocatedDeviceStatus(driver="gpu.example.com", pool="a", device="gpu-0", conditions=conditions)
    stage.put(replace(found, status=replace(found.status, devices=(status,))))


def test_the_pod_is_bound_once_its_device_is_ready(slow: Devices) -> None:
    assert slow.events("p") == ["BindingConditionsPending: waiting for binding conditions for device on node a"]
    slow.advance(12)
    assert slow.node_of("p") == ""
    report(slow, "Attached")
    slow.advance(5)
    assert slow.node_of("p") == "a"


def test_a_device_that_fails_is_given_up_for_another(slow: Devices) -> None:
    report(slow, "Broken")
    slow.advance(5)
    assert slow.failure("p") == 'device binding failed: claim=c, reason=Because, message="it is"'
    assert slow.users("c") == []
    slow.advance(15)
    assert "deallocation of ResourceClaim completed" in " ".join(slow.events("p"))


def test_a_device_that_takes_too_long(slow: Devices) -> None:
    slow.advance(595)
    assert slow.node_of("p") == ""
    slow.advance(6)
    assert "device binding timeout: context deadline exceeded" in " ".join(slow.events("p"))


def test_a_claim_that_goes_while_its_device_gets_ready(slow: Devices) -> None:
    slow.delete(slow.claim("c"))
    slow.advance(5)
    assert 'could not find ResourceClaim "default/c"' in " ".join(slow.events("p"))


def test_a_claim_is_made_for_extended_resources() -> None:
    stage = host(pod("p", containers=[{"name": "x", "resources": {"requests": {"example.com/gpu": "2"}}}]))
    stage.schedule()
    stage.advance(1)
    (made,) = stage.world.all(api.ResourceClaim)
    assert made.metadata.name.startswith("p-extended-resources-")
    assert made.metadata.annotations == {"resource.kubernetes.io/extended-resource-claim": "true"}
    (owner,) = made.metadata.owner_references
    assert (owner.kind, owner.name, owner.uid, owner.controller) == ("Pod", "p", "default/p", True)
    assert stage.given(made.metadata.name) == ["a/gpu-0", "a/gpu-1"]
    status = stage.pod("p").status.extended_resource_claim_status
    mapping = api.ContainerExtendedResourceRequest(
        container_name="x", resource_name="example.com/gpu", request_name="container-0-request-0"
    )
    assert status is not None
    assert (status.resource_claim_name, status.request_mappings) == (made.metadata.name, (mapping,))
    assert (stage.node_of("p"), stage.taken()) == ("a", {"a/gpu-0", "a/gpu-1"})


def test_what_a_node_offers_as_such_needs_no_claim() -> None:
    stage = Devices(CLASS, node("a", extra={"example.com/gpu": "2"}), pod("p", requests={"example.com/gpu": "1"}))
    stage.schedule()
    assert (stage.writes(), stage.node_of("p")) == ([], "a")


def test_what_a_node_offers_as_such_beside_a_claim() -> None:
    offering = node("a", extra={"example.com/gpu": "2"})
    stage = Devices(CLASS, offering, devices("a"), claim("c"), using("p", "c", requests={"example.com/gpu": "1"}))
    stage.schedule()
    assert (stage.node_of("p"), stage.given("c")) == ("a", ["a/gpu-0"])
    assert len(list(stage.world.all(api.ResourceClaim))) == 1


def test_a_claim_for_extended_resources_that_cannot_be_made() -> None:
    stage = host(pod("p", requests={"example.com/gpu": "1"}))
    stage.schedule(Write)
    stage.do(stage.next_write("create"), Failure("forbidden", "Forbidden"))
    stage.settle(Write)
    assert stage.failure("p") == "create claim for extended resources default/: forbidden"
    assert stage.taken() == set()


def test_profiles_share_what_is_in_flight() -> None:
    profiles = [{"schedulerName": name} for name in ("default-scheduler", "other")]
    config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    stage = Devices(
        CLASS,
        node("a"),
        devices("a", 1),
        claim("c"),
        claim("d"),
        using("p", "c"),
        using("q", "d", schedulerName="other"),
        config={**config, "profiles": profiles},
    )
    stage.schedule(Write)
    assert "cannot allocate all claims" in stage.condition("q")[2]


def test_slices_may_come_later() -> None:
    stage = Devices(CLASS, node("a"), claim("c"), using("p", "c"))
    stage.schedule()
    assert stage.place("p") == "unschedulable"
    stage.put(devices("a"))
    stage.advance(10)
    assert stage.node_of("p") == "a"


def test_a_class_that_nobody_has() -> None:
    stage = Devices(node("a"), devices("a"), claim("c"), using("p", "c"))
    stage.schedule()
    assert "request gpu: device class gpu does not exist" in stage.condition("p")[2]
    stage.put(make("DeviceClass", "gpu"))
    stage.advance(10)
    assert stage.node_of("p") == "a"


def test_what_is_measured() -> None:
    told: list[tuple[str, tuple[str, ...], float]] = []

    class Ear(Observer):
        def measured(self, metric: str, labels: tuple[str, ...], value: float) -> None:
            told.append((metric, labels, value))

    stage = host(
        claim("c"),
        using("p", "c", requests={"example.com/gpu": "1"}),
        observer=Ear(),
        bindingConditions=["Attached"],
    )
    stage.schedule()
    stage.advance(601)
    creation, *rest = told[:5]
    assert creation == ("resourceclaim_creates_total", ("success",), 1.0)
    labels = ("default-scheduler", "gpu.example.com", "timeout")
    assert {(metric, value) for metric, _, value in rest} == {
        ("dra_bindingconditions_wait_duration_seconds", 600.0),
        ("dra_bindingconditions_allocations_total", 1.0),
    }
    assert {each for _, each, _ in rest} == {labels}
