import pytest
from tests.builders import pod, typed

from stowplan import api
from stowplan.cache import Cluster
from stowplan.framework import Pod
from stowplan.plugins.dynamic_resources import extended_resources
from stowplan.plugins.dynamic_resources.claims import PodClaim, PodClaims
from stowplan.plugins.dynamic_resources.reasons import NOT_OFFERED, STALE

IMPLICIT = "deviceclass.resource.kubernetes.io/gpu"
MARK = {"resource.kubernetes.io/extended-resource-claim": "true"}


def cluster_with(*classes: tuple[str, str | None]) -> Cluster:
    cluster = Cluster()
    for name, resource in classes:
        spec = api.DeviceClassSpec(extended_resource_name=resource)
        cluster.put(api.DeviceClass(metadata=api.ObjectMeta(name=name), spec=spec))
    return cluster


def requesting(cluster: Cluster, **requests: str) -> Pod:
    return cluster.pod(typed(pod("p", namespace="ns", metadata={"uid": "u"}, requests=requests)))


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        ({"cpu": "1", "hugepages-2Mi": "2Mi", "kubernetes.io/x": "1"}, {}),
        ({"example.com/gpu": "0"}, {}),
        ({"example.com/gpu": "2", "example.com/nic": "1"}, {"example.com/gpu": True, "example.com/nic": False}),
        ({IMPLICIT: "1"}, {IMPLICIT: True}),
        ({IMPLICIT + "x": "1"}, {IMPLICIT + "x": False}),
    ],
)
def test_which_resources_a_device_class_stands_behind(requests: dict[str, str], expected: dict[str, bool]) -> None:
    cluster = cluster_with(("gpu", "example.com/gpu"), ("other", None))
    assert extended_resources.backed(cluster, requesting(cluster, **requests).template) == expected


def owned(
    uid: str = "u", *, name: str = "p", controller: bool = True, mark: dict[str, str] = MARK
) -> api.ResourceClaim:
    owner = api.OwnerReference(kind="Pod", name=name, uid=uid, controller=controller)
    metadata = api.ObjectMeta(
        name="p-extended-resources-x", namespace="ns", annotations=mark, owner_references=(owner,)
    )
    return api.ResourceClaim(metadata=metadata)


@pytest.mark.parametrize(
    ("there", "taken"),
    [
        (owned(), True),
        (owned("another"), False),
        (owned(name="q"), False),
        (owned(controller=False), False),
        (owned(mark={}), False),
    ],
)
def test_the_claim_of_an_earlier_attempt_is_found(there: api.ResourceClaim, taken: bool) -> None:
    cluster = Cluster()
    cluster.put(there)
    claim = extended_resources.special_claim(cluster, requesting(cluster))
    assert (claim == there) is taken
    assert extended_resources.is_written(claim) is taken


GPU = ("example.com/gpu",)
REQUESTS = (api.DeviceRequest(name="container-0-request-0"),)


@pytest.mark.parametrize(
    ("extended", "offered", "requests", "expected"),
    [
        ({"example.com/gpu": True}, {}, (), GPU),
        ({"example.com/gpu": True}, {"example.com/gpu": "0"}, (), GPU),
        ({"example.com/gpu": True}, {"example.com/gpu": "4"}, (), ()),
        ({"example.com/gpu": True, "example.com/nic": False}, {"example.com/nic": "1"}, (), GPU),
        ({"example.com/gpu": True, "example.com/nic": False}, {"example.com/nic": "0"}, (), GPU),
        ({"example.com/gpu": True, "example.com/nic": False}, {}, (), NOT_OFFERED),
        ({"example.com/gpu": True}, {"example.com/gpu": "4"}, REQUESTS, STALE),
    ],
)
def test_what_the_node_does_not_offer_devices_must_serve(
    extended: dict[str, bool], offered: dict[str, str], requests: tuple[api.DeviceRequest, ...], expected: object
) -> None:
    allocatable: api.ResourceList = dict(offered)
    node = api.Node(metadata=api.ObjectMeta(name="n"), status=api.NodeStatus(allocatable=allocatable))
    info = Cluster().put_node(node)
    claim = api.ResourceClaim(spec=api.ResourceClaimSpec(devices=api.DeviceClaim(requests=requests)))
    assert extended_resources.needed_devices(PodClaims((), PodClaim(claim), extended), info) == expected
    assert extended_resources.needed_devices(PodClaims((), None, extended), info) == ()
