"""Claims as they are known to be, whoever tells first: the answer to a write, or the watch."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from stowplan import api
from stowplan.cache import Cluster
from stowplan.plugins.dynamic_resources.assume_cache import SPECIAL_CLAIM, ClaimTracker, tracker_of

DEVICE = ("d", "p", "x")


def version(number: int, *, device: str = "", uid: str = "u", admin: bool = False) -> api.ResourceClaim:
    """A version of the one claim there is, with a device or without."""
    result = api.DeviceRequestAllocationResult(driver="d", pool="p", device=device, admin_access=admin or None)
    allocation = api.AllocationResult(devices=api.DeviceAllocationResult(results=(result,))) if device else None
    return api.ResourceClaim(
        metadata=api.ObjectMeta(name="c", namespace="ns", uid=uid, resource_version=str(number)),
        status=api.ResourceClaimStatus(allocation=allocation),
    )


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def tracker(cluster: Cluster) -> ClaimTracker:
    cluster.put(version(5))
    return tracker_of(cluster)


def allocation_of(claim: api.ResourceClaim) -> api.AllocationResult:
    assert claim.status.allocation is not None
    return claim.status.allocation


def test_there_is_one_for_a_cluster(cluster: Cluster, tracker: ClaimTracker) -> None:
    assert tracker_of(cluster) is tracker
    assert tracker_of(Cluster()) is not tracker


def test_what_is_stored_when_it_is_made_counts(cluster: Cluster) -> None:
    cluster.put(version(5, device="x"))
    assert tracker_of(cluster).allocated.devices == {DEVICE: 1}


def test_an_answer_holds_until_the_watch_tells_as_much(cluster: Cluster, tracker: ClaimTracker) -> None:
    written = version(7, device="x")
    assert tracker.assume(written)
    assert tracker.get("c", "ns") is written
    assert list(tracker) == [written]
    cluster.put(version(6))
    assert tracker.get("c", "ns") is written, "older news"
    seen = version(7, device="x")
    cluster.put(seen)
    assert tracker.get("c", "ns") is seen
    assert tracker.allocated.devices == {DEVICE: 1}
    cluster.put(version(8))
    assert not tracker.allocated.devices


@pytest.mark.parametrize("answer", [version(4, device="x"), version(9, device="x", uid="another")])
def test_an_answer_that_is_outdated_is_not_believed(tracker: ClaimTracker, answer: api.ResourceClaim) -> None:
    assert not tracker.assume(answer)
    assert tracker.get("c", "ns") == version(5)


def test_an_answer_about_a_claim_that_is_gone(cluster: Cluster, tracker: ClaimTracker) -> None:
    tracker.assume(version(7, device="x"))
    cluster.remove(version(8))
    assert tracker.get("c", "ns") is None
    assert not tracker.allocated.devices
    assert not tracker.assume(version(9, device="x"))


def test_what_is_in_flight_is_taken_until_it_lands(tracker: ClaimTracker) -> None:
    claim, to_be = version(5), allocation_of(version(0, device="x"))
    tracker.take_off(claim, to_be)
    assert (tracker.pending(claim), tracker.allocated.devices) == (to_be, {DEVICE: 1})
    tracker.land(claim)
    assert (tracker.pending(claim), tracker.allocated.devices) == (None, {})
    tracker.land(claim)


def test_what_lands_after_it_was_written_stays_taken(cluster: Cluster, tracker: ClaimTracker) -> None:
    claim = version(5)
    tracker.take_off(claim, allocation_of(version(0, device="x")))
    cluster.put(version(6))
    assert tracker.allocated.devices == {DEVICE: 1}, "other news of it"
    cluster.put(version(7, device="x"))
    tracker.land(claim)
    assert tracker.allocated.devices == {DEVICE: 1}


def test_a_claim_that_is_replaced_lets_go_of_all(cluster: Cluster, tracker: ClaimTracker) -> None:
    tracker.take_off(version(5), allocation_of(version(0, device="x")))
    cluster.put(version(9, uid="another"))
    assert not tracker.allocated.devices
    assert tracker.pending(version(5)) is None


def test_access_for_administrators_takes_nothing(cluster: Cluster, tracker: ClaimTracker) -> None:
    cluster.put(version(6, device="x", admin=True))
    assert not tracker.allocated.devices


def test_claims_without_uid_go_by_their_names(cluster: Cluster) -> None:
    for name in ("c", "d"):
        claim = version(1, device=name, uid="")
        cluster.put(replace(claim, metadata=replace(claim.metadata, name=name)))
    assert set(tracker_of(cluster).allocated.devices) == {("d", "p", "c"), ("d", "p", "d")}


def special(name: str, uid: str, version: int = 1) -> api.ResourceClaim:
    owner = api.OwnerReference(kind="Pod", name="p", uid=uid, controller=True)
    marked = {SPECIAL_CLAIM: "true"}
    meta = api.ObjectMeta(
        name=name,
        namespace="ns",
        uid=name,
        resource_version=str(version),
        annotations=marked,
        owner_references=(owner,),
    )
    return api.ResourceClaim(metadata=meta)


def test_claims_for_extended_resources_are_found_by_their_pod(cluster: Cluster, tracker: ClaimTracker) -> None:
    pods = {uid: cluster.pod(api.Pod(metadata=api.ObjectMeta(name="p", namespace="ns", uid=uid))) for uid in "xy"}
    assert tracker.special(pods["x"]) is None
    latest = special("a", "x", 2)
    for claim in (special("a", "x"), latest, special("b", "y")):
        cluster.put(claim)
    assert tracker.special(pods["x"]) is latest
    cluster.remove(latest)
    assert tracker.special(pods["x"]) is None
    assert tracker.special(pods["y"]) is not None
    cluster.remove(special("b", "y"))
    assert not tracker._special
