import pytest

from stowplan import api
from stowplan.cache import Cluster
from stowplan.framework import Code, Pod, Status
from stowplan.plugins.dynamic_resources.claims import check_requests, resolve

OWN = api.OwnerReference(kind="Pod", name="p", uid="u", controller=True)
FOREIGN = api.OwnerReference(kind="Pod", name="p", uid="another", controller=True)
BYSTANDER = api.OwnerReference(kind="Pod", name="p", uid="u")

DIRECT = api.PodResourceClaim(name="r", resource_claim_name="c")
TEMPLATED = api.PodResourceClaim(name="r", resource_claim_template_name="t")
MADE = api.PodResourceClaimStatus(name="r", resource_claim_name="c")


def claim(
    name: str = "c",
    *,
    owners: tuple[api.OwnerReference, ...] = (),
    deleted: str | None = None,
    requests: tuple[api.DeviceRequest, ...] = (),
) -> api.ResourceClaim:
    metadata = api.ObjectMeta(name=name, namespace="ns", owner_references=owners, deletion_timestamp=deleted)
    return api.ResourceClaim(metadata=metadata, spec=api.ResourceClaimSpec(devices=api.DeviceClaim(requests=requests)))


def claiming(
    cluster: Cluster, *entries: api.PodResourceClaim, made: tuple[api.PodResourceClaimStatus, ...] = ()
) -> Pod:
    return cluster.pod(
        api.Pod(
            metadata=api.ObjectMeta(name="p", namespace="ns", uid="u"),
            spec=api.PodSpec(resource_claims=entries),
            status=api.PodStatus(resource_claim_statuses=made),
        )
    )


@pytest.mark.parametrize(
    ("entry", "made", "there", "text"),
    [
        (DIRECT, (), None, 'could not find ResourceClaim "ns/c"'),
        (DIRECT, (), claim(deleted="2026-01-01T00:00:00Z"), 'resourceclaim "c" is being deleted'),
        (TEMPLATED, (), claim(owners=(OWN,)), 'pod "ns/p": ResourceClaim not created yet'),
        (TEMPLATED, (MADE,), None, 'could not find ResourceClaim "ns/c"'),
        (
            TEMPLATED,
            (MADE,),
            claim(owners=(FOREIGN,)),
            "ResourceClaim ns/c was not created for Pod ns/p (Pod is not owner)",
        ),
        (
            TEMPLATED,
            (MADE,),
            claim(owners=(BYSTANDER,)),
            "ResourceClaim ns/c was not created for Pod ns/p (Pod is not owner)",
        ),
        (
            TEMPLATED,
            (MADE,),
            claim(owners=(FOREIGN,), deleted="2026-01-01T00:00:00Z"),
            'resourceclaim "c" is being deleted',
        ),
        (
            api.PodResourceClaim(name="r"),
            (),
            claim(),
            'pod "ns/p", spec.resourceClaim "r": none of the supported fields are set',
        ),
    ],
)
def test_claims_that_cannot_be_used(
    entry: api.PodResourceClaim,
    made: tuple[api.PodResourceClaimStatus, ...],
    there: api.ResourceClaim | None,
    text: str,
) -> None:
    cluster = Cluster()
    if there is not None:
        cluster.put(there)
    found = resolve(claiming(cluster, entry, made=made), cluster.stores.of(api.ResourceClaim))
    assert found == Status(Code.UnschedulableAndUnresolvable, text, plugin="DynamicResources")


def test_claims_come_in_the_order_of_the_spec_without_those_that_were_not_needed() -> None:
    cluster = Cluster()
    generated, named = claim("c", owners=(BYSTANDER, OWN)), claim("d", owners=(FOREIGN,))
    cluster.put(named)
    cluster.put(generated)
    not_needed = api.PodResourceClaim(name="none", resource_claim_template_name="t")
    direct = api.PodResourceClaim(name="x", resource_claim_name="d")
    asking = claiming(cluster, TEMPLATED, not_needed, direct, made=(MADE, api.PodResourceClaimStatus(name="none")))
    assert resolve(asking, cluster.stores.of(api.ResourceClaim)) == [generated, named]


def exactly(device_class: str) -> api.DeviceRequest:
    return api.DeviceRequest(name="req", exactly=api.ExactDeviceRequest(device_class_name=device_class))


def either(*device_classes: str) -> api.DeviceRequest:
    subs = [api.DeviceSubRequest(name=f"s{i}", device_class_name=name) for i, name in enumerate(device_classes)]
    return api.DeviceRequest(name="req", first_available=tuple(subs))


REJECTED, BROKEN = Code.UnschedulableAndUnresolvable, Code.Error


@pytest.mark.parametrize(
    ("requests", "code", "text"),
    [
        ((exactly("gpu"),), None, ""),
        ((either("gpu", "gpu"),), None, ""),
        ((), None, ""),
        ((exactly("gpu"), exactly("absent")), REJECTED, "request req: device class absent does not exist"),
        ((either("gpu", "absent"),), REJECTED, "request req/s1: device class absent does not exist"),
        ((exactly(""), exactly("absent")), BROKEN, "request req: unsupported request type"),
        ((api.DeviceRequest(name="req"),), REJECTED, "resource claim ns/c, request req: unknown request type"),
    ],
)
def test_device_classes_must_exist(requests: tuple[api.DeviceRequest, ...], code: Code | None, text: str) -> None:
    cluster = Cluster()
    cluster.put(api.DeviceClass(metadata=api.ObjectMeta(name="gpu")))
    status = check_requests(claim(requests=requests), cluster.stores.of(api.DeviceClass))
    assert status == (None if code is None else Status(code, text, plugin="DynamicResources"))
