"""Unreserve and PostFilter: what is taken back from claims, and what becomes of the pods."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from tests.builders import node, pod
from tests.unit.plugins.dynamic_resources.devices import CLASS, Devices, allocated, claim, devices, using

from stowplan import api
from stowplan.framework import Bind, Failure, Write

REFUSED = Failure("no", "Forbidden")
EXTENDED = "resource.kubernetes.io/extended-resource-claim"
RESERVED = {"reservedFor": [{"resource": "pods", "name": "p", "uid": "default/p"}]}


def host(*items: Any) -> Devices:
    return Devices(CLASS, node("a"), devices("a"), *items)


def test_a_claim_does_not_stay_reserved_for_a_pod_that_could_not_be_bound() -> None:
    stage = host(claim("c"), using("p", "c"), using("q", "c", schedulingGates=[{"name": "later"}]))
    stage.schedule(Bind)
    found = stage.claim("c")
    others = (*found.status.reserved_for, api.ResourceClaimConsumerReference(resource="pods", name="q", uid="q"))
    stage.world.put(replace(found, status=replace(found.status, reserved_for=others)))
    stage.answer(Bind, REFUSED)
    stage.settle()
    stage.pass_time(stage.clock.now + 0.01)
    stage.settle()
    assert (stage.given("c"), stage.users("c")) == (["a/gpu-0"], ["q"])
    assert stage.taken() == {"a/gpu-0"}, "it is allocated, whoever uses it"
    stage.advance(2)
    assert (stage.node_of("p"), stage.users("c")) == ("a", ["q", "p"])


def test_devices_that_were_not_written_are_free_again() -> None:
    stage = host(claim("c"), using("p", "c"))
    stage.schedule(Write)
    stage.do(stage.next_open(Write), REFUSED)
    assert stage.taken() == set()
    stage.settle(Write)
    assert stage.failure("p") == "add finalizer to claim default/c: no"
    stage.advance(2)
    assert stage.node_of("p") == "a"


def test_a_claim_that_keeps_the_pod_from_its_node_loses_its_devices() -> None:
    stage = host(claim("c", status=allocated("gpu-0")), using("p", "c", nodeSelector={"kubernetes.io/hostname": "b"}))
    stage.put(node("b"), devices("b"))
    stage.schedule()
    assert "deallocation of ResourceClaim completed" in stage.events("p")[0]
    stage.advance(10)
    assert (stage.node_of("p"), stage.given("c"), stage.taken()) == ("b", ["b/gpu-0"], {"b/gpu-0"})


def test_a_claim_that_others_use_keeps_its_devices() -> None:
    used = {**allocated("gpu-0"), "reservedFor": [{"resource": "pods", "name": "other", "uid": "other"}]}
    stage = host(claim("c", status=used), using("p", "c", nodeSelector={"kubernetes.io/hostname": "b"}))
    stage.put(node("b"), devices("b"))
    stage.schedule()
    assert (stage.writes(), stage.given("c")) == ([], ["a/gpu-0"])
    assert "still not schedulable" in stage.condition("p")[2]


def test_a_pod_whose_claim_could_not_be_freed_is_tried_again() -> None:
    stage = host(claim("c", status=allocated("gpu-0")), using("p", "c", nodeSelector={"kubernetes.io/hostname": "b"}))
    stage.put(node("b"), devices("b"))
    stage.schedule(Write)
    stage.do(stage.next_write("patch", "status"), REFUSED)
    assert stage.place("p") == "unschedulable"
    stage.advance(20)
    assert stage.node_of("p") == "b"


def test_the_claim_of_an_earlier_attempt_at_extended_resources_goes() -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "default/p", "controller": True}
    metadata = {"annotations": {EXTENDED: "true"}, "ownerReferences": [owner], "finalizers": ["keep", *finalizers()]}
    stage = host(claim("left", metadata=metadata, status={**allocated("gpu-0"), **RESERVED}))
    stage.put(pod("p", containers=[{"name": "x", "resources": {"requests": {"example.com/gpu": "1"}}}]))
    stage.schedule()
    assert "deletion of ResourceClaim completed" in stage.condition("p")[2]
    assert stage.world.get(api.ResourceClaim, "left", "default") is None
    stage.advance(20)
    assert (stage.node_of("p"), stage.taken()) == ("a", {"a/gpu-0"})


def test_the_claim_for_extended_resources_goes_with_the_attempt() -> None:
    stage = host(pod("p", containers=[{"name": "x", "resources": {"requests": {"example.com/gpu": "1"}}}]))
    stage.schedule(Bind)
    stage.advance(1, Bind)
    assert len(list(stage.world.all(api.ResourceClaim))) == 1
    stage.answer(Bind, REFUSED)
    stage.settle()
    assert list(stage.world.all(api.ResourceClaim)) == []
    assert stage.taken() == set()
    stage.advance(5)
    assert (stage.node_of("p"), stage.taken()) == ("a", {"a/gpu-0"})


def test_a_pod_that_goes_away_frees_what_it_was_to_get() -> None:
    stage = host(claim("c"), using("p", "c"))
    stage.schedule(Write)
    stage.delete(stage.pod("p"))
    stage.settle()
    stage.advance(2)
    assert (stage.given("c"), stage.users("c")) == (["a/gpu-0"], []), "the claim keeps what was written"


def finalizers() -> list[str]:
    return ["resource.kubernetes.io/delete-protection"]


def test_a_pod_that_is_stopped_while_its_devices_are_written() -> None:
    """Whether the write is carried out shows later; until then its devices are nobody else's."""
    stage = host(claim("c"), claim("d"), using("p", "c", requests={"cpu": "3"}))
    stage.schedule(Write)
    stage.do(stage.next_write("patch"))
    writing = stage.next_write("patch", "status")
    stage.put(pod("urgent", priority=10, requests={"cpu": "3"}))
    stage.schedule(Write)
    assert "preempted by DefaultPreemption" in " ".join(stage.events("p"))
    assert stage.taken() == {"a/gpu-0"}
    stage.do(writing)
    stage.advance(5)
    assert (stage.given("c"), stage.users("c")) == (["a/gpu-0"], ["p"])
    assert stage.tracker.pending(stage.claim("c")) is None
    assert (stage.node_of("urgent"), stage.node_of("p")) == ("a", "")
    stage.delete(stage.pod("urgent"))
    stage.advance(15)
    assert (stage.node_of("p"), stage.users("c")) == ("a", ["p"])
