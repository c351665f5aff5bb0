"""ResourceClaims and volumes of the members of a pod group in the engine."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.builders import make, member, node, pod
from tests.unit.engine.grouped import CPU, bound, group, host, members, message
from tests.unit.plugins.dynamic_resources.devices import CLASS, allocated, claim, devices

from stowplan import api
from stowplan.config.feature_gates import GANG_SCHEDULING, SHARED_VOLUMES, WORKLOAD_CLAIMS, group_difference
from stowplan.framework import EmitEvent, Write


@pytest.mark.parametrize("as_upstream", [False, True])
def test_two_members_do_not_share_a_claim_for_one_pod(as_upstream: bool) -> None:
    """A PersistentVolumeClaim with ReadWriteOncePod; kube-scheduler v1.36 lets both have it."""
    volume = {"accessModes": ["ReadWriteOncePod"], "capacity": {"storage": "1Gi"}}
    marks = {"pv.kubernetes.io/bind-completed": "yes"}
    spec = {"accessModes": ["ReadWriteOncePod"], "volumeName": "pv"}
    bound_claim = make("PersistentVolumeClaim", "data", "default", spec=spec, annotations=marks)
    uses = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
    gates = (GANG_SCHEDULING, group_difference(SHARED_VOLUMES)) if as_upstream else (GANG_SCHEDULING,)
    made = host(make("PersistentVolume", "pv", spec=volume), bound_claim, node("n"), node("m"), gates=gates)
    made.put(group(min_count=2), *members(2, **uses))
    made.schedule()
    if as_upstream:
        assert len(bound(made)) == 2
        return
    assert bound(made) == {}
    assert "ReadWriteOncePod" in message(made, "g-1")


def test_members_share_devices() -> None:
    """Members with one ResourceClaim go to the node of its device, and are bound in their first attempt."""
    made = host(CLASS, devices("n", 1), devices("m", 1), claim("shared"), node("n", cpu=8), node("m", cpu=8))
    uses = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "shared"}]}
    made.put(group(min_count=4), *members(4, **uses))
    made.schedule()
    made.advance(2)
    assert len(set(bound(made).values())) == 1
    assert len(bound(made)) == 4
    found = made.world.get(api.ResourceClaim, "shared", "default")
    assert found is not None
    assert len(found.status.reserved_for) == 4
    assert not [each for each in made.done if isinstance(each, EmitEvent) and each.reason == "FailedScheduling"]


def test_members_get_the_devices_that_the_cycle_found_for_them() -> None:
    """Each member has a claim of its own, and together they need all devices."""
    made = host(CLASS, devices("a", 1), devices("b", 3), devices("c", 4), *(claim(f"g-{i}") for i in range(8)))
    made.put(*(node(name, cpu=8) for name in "abc"), group(min_count=8))
    for each in members(8):
        each["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": each["metadata"]["name"]}]
        made.put(each)
    made.schedule()
    assert len(bound(made)) == 8


def test_other_pods_do_not_share_a_claim_that_is_being_allocated() -> None:
    made = host(CLASS, devices("n", 1), claim("shared"), node("n", cpu=8))
    uses = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "shared"}]}
    made.put(group("g", 1), group("h", 1), member("g-0", "g", **uses), member("h-0", "h", **uses))
    made.settle()
    made.engine.schedule_one()
    made.engine.schedule_one()
    made.settle(Write)
    assert "resource claim default/shared is in the process of being allocated" in message(made, "h-0")
    made.settle()
    made.advance(5)
    assert len(bound(made)) == 2


def test_a_claim_of_the_group_is_reserved_for_the_group() -> None:
    gates = (GANG_SCHEDULING, WORKLOAD_CLAIMS)
    made = host(
        CLASS, devices("n", 1), devices("m", 1), claim("shared"), node("n", cpu=8), node("m", cpu=8), gates=gates
    )
    uses = [{"name": "gpu", "resourceClaimName": "shared"}]
    made.put(group(min_count=3, resourceClaims=uses), *members(3, resourceClaims=uses))
    made.schedule()
    made.advance(2)
    assert len(bound(made)) == 3
    found = made.world.get(api.ResourceClaim, "shared", "default")
    assert found is not None
    (consumer,) = found.status.reserved_for
    assert (consumer.api_group, consumer.resource, consumer.name) == ("scheduling.k8s.io", "podgroups", "g")
    assert consumer.uid == "group g"


def test_a_claim_with_another_name_is_reserved_for_the_pods() -> None:
    made = host(CLASS, devices("n", 1), claim("shared"), node("n", cpu=8), gates=(GANG_SCHEDULING, WORKLOAD_CLAIMS))
    own = [{"name": "other", "resourceClaimName": "shared"}]
    of_group = [{"name": "gpu", "resourceClaimName": "shared"}]
    made.put(group(min_count=2, resourceClaims=of_group), *members(2, resourceClaims=own))
    made.schedule()
    made.advance(2)
    found = made.world.get(api.ResourceClaim, "shared", "default")
    assert found is not None
    assert [each.resource for each in found.status.reserved_for] == ["pods", "pods"]


def test_a_claim_of_the_group_is_given_up_where_no_member_can_use_it() -> None:
    """It is allocated on a node without room, and reserved for the group, of which no member runs."""
    gates = (GANG_SCHEDULING, WORKLOAD_CLAIMS)
    consumer = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "group g"}
    status = {**allocated("gpu-0", node="n"), "reservedFor": [consumer]}
    made = host(CLASS, devices("n", 1), devices("m", 1), node("n", cpu=1), node("m", cpu=8), gates=gates)
    made.put(claim("shared", status=status), pod("busy", "n", **CPU))
    uses = [{"name": "gpu", "resourceClaimName": "shared"}]
    made.put(group(min_count=2, resourceClaims=uses), *members(2, resourceClaims=uses))
    made.schedule()
    made.advance(60)
    notes = [each.note for each in made.done if isinstance(each, EmitEvent)]
    assert any("ResourceClaim unreserved for PodGroup" in each for each in notes)
    assert {name: node for name, node in bound(made).items() if name != "busy"} == {"g-0": "m", "g-1": "m"}


def test_claims_from_templates_belong_to_the_pod_or_to_the_group() -> None:
    gates = (GANG_SCHEDULING, WORKLOAD_CLAIMS)
    uses = [{"name": "gpu", "resourceClaimTemplateName": "t"}]
    version = "scheduling.k8s.io/v1alpha2"
    made_for = {"status": {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "made"}]}}
    for name, text in (("g", ""), ("h", "(neither Pod nor PodGroup g is the owner)")):
        owner = api.OwnerReference(api_version=version, kind="PodGroup", name=name, uid="x", controller=True)
        owned = claim("made")
        owned = replace(owned, metadata=replace(owned.metadata, owner_references=(owner,)))
        made = host(CLASS, devices("n", 1), owned, node("n", cpu=8), gates=gates)
        made.put(group(min_count=1, resourceClaims=uses))
        made.put({**member("g-0", resourceClaims=uses, **CPU), **made_for})
        made.schedule()
        made.advance(2)
        assert bool(bound(made)) == (not text)
        if text:
            gated = next(made.engine.queued_pods("gated"))
            status = made.engine.profiles["default-scheduler"].pre_enqueue(gated.pod)
            assert status is not None
            assert text in status.message
