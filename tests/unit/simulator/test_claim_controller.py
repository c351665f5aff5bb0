from typing import Any

from msgspec.structs import replace
from tests.builders import make
from tests.unit.simulator.simulated_cluster import SimulatedCluster, node, pod

from stowplan import api

SPEC: dict[str, Any] = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}
TEMPLATE = make("ResourceClaimTemplate", "gpu", spec={"metadata": {"labels": {"a": "b"}}, "spec": SPEC})
FROM_TEMPLATE = [{"name": "dev", "resourceClaimTemplateName": "gpu"}]


def made(stage: SimulatedCluster) -> api.ResourceClaim:
    (claim,) = stage.world.all(api.ResourceClaim)
    return claim


def test_claims_are_made_from_templates_and_go_with_their_pod() -> None:
    stage = SimulatedCluster(TEMPLATE, pod("a", resourceClaims=FROM_TEMPLATE))
    claim = made(stage)
    assert claim.metadata.name.startswith("a-dev-")
    assert claim.metadata.labels == {"a": "b"}
    assert claim.metadata.annotations == {"resource.kubernetes.io/pod-claim-name": "dev"}
    assert claim.metadata.owner_references[0].uid == stage.pod("a").metadata.uid
    assert claim.spec.devices.requests[0].name == "gpu"
    assert stage.pod("a").status.resource_claim_statuses == (
        api.PodResourceClaimStatus(name="dev", resource_claim_name=claim.metadata.name),
    )
    stage.delete("a")
    assert stage.names("ResourceClaim") == []


def test_pods_wait_for_the_template() -> None:
    stage = SimulatedCluster(pod("a", resourceClaims=FROM_TEMPLATE))
    assert stage.names("ResourceClaim") == []
    stage.put(TEMPLATE)
    assert made(stage).metadata.name.startswith("a-dev-")


def test_a_claim_is_given_back_by_the_last_who_uses_it() -> None:
    named = [{"name": "dev", "resourceClaimName": "shared"}]
    stage = SimulatedCluster(
        node("n1"),
        make("ResourceClaim", "shared", spec=SPEC),
        pod("a", "n1", resourceClaims=named),
        pod("b", "n1", resourceClaims=named),
    )
    users = tuple(
        api.ResourceClaimConsumerReference(resource="pods", name=name, uid=stage.pod(name).metadata.uid)
        for name in ("a", "b")
    )
    status = api.ResourceClaimStatus(allocation=api.AllocationResult(), reserved_for=users)
    stage.put(replace(made(stage), status=status))
    stage.delete("a")
    assert made(stage).status == replace(status, reserved_for=users[1:])
    stage.delete("b")
    assert made(stage).status == api.ResourceClaimStatus()


def test_members_share_the_claims_of_their_group() -> None:
    """One claim, owned by the PodGroup, which may be created after its members."""
    policy = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    group = make("PodGroup", "g", namespace="default", spec={**policy, "resourceClaims": FROM_TEMPLATE})
    members = [pod(name, resourceClaims=FROM_TEMPLATE, schedulingGroup={"podGroupName": "g"}) for name in ("a", "b")]
    stage = SimulatedCluster(TEMPLATE, *members)
    assert stage.names("ResourceClaim") == []
    stage.put(group)
    claim = made(stage)
    assert claim.metadata.name.startswith("g-dev-")
    (owner,) = claim.metadata.owner_references
    assert (owner.kind, owner.name, owner.api_version) == ("PodGroup", "g", "scheduling.k8s.io/v1alpha2")
    status = (api.PodResourceClaimStatus(name="dev", resource_claim_name=claim.metadata.name),)
    assert stage.pod("a").status.resource_claim_statuses == stage.pod("b").status.resource_claim_statuses == status
    (found,) = stage.world.all(api.PodGroup)
    assert found.status.resource_claim_statuses == status
    user = api.ResourceClaimConsumerReference(
        api_group="scheduling.k8s.io", resource="podgroups", name="g", uid=found.metadata.uid
    )
    reserved = api.ResourceClaimStatus(allocation=api.AllocationResult(), reserved_for=(user,))
    stage.put(replace(claim, status=reserved))
    stage.delete("a")
    assert made(stage).status == reserved
    stage.delete("b")
    assert made(stage).status == api.ResourceClaimStatus()
