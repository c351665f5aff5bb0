"""Objects of earlier versions of resource.k8s.io."""

from __future__ import annotations

import msgspec
import pytest

from stowplan import api
from stowplan.api.codec import DecodeError
from stowplan.api.resource_versions import RESOURCE_VERSIONS, kind_at

CLAIM, SLICE, TEMPLATE = (api.KINDS[name] for name in ("ResourceClaim", "ResourceSlice", "ResourceClaimTemplate"))
REQUEST = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2, "adminAccess": True}
STATUS = {"allocation": {"devices": {"results": [{"request": "r", "driver": "d", "pool": "p", "device": "x"}]}}}
ALTERNATIVES = [{"name": "a", "deviceClassName": "gpu"}, {"name": "b", "deviceClassName": "old-gpu"}]


def test_every_version_has_its_path() -> None:
    paths = [kind_at(CLAIM, version).api_version for version in RESOURCE_VERSIONS]
    assert paths == ["resource.k8s.io/v1", "resource.k8s.io/v1beta2", "resource.k8s.io/v1beta1"]
    assert kind_at(api.KINDS["Pod"], "v1beta1") is api.KINDS["Pod"]
    assert kind_at(api.KINDS["DeviceClass"], "v1beta1").upgrade is None


def test_requests_of_v1beta1_have_their_fields_in_exactly() -> None:
    requests = [{"name": "r", **REQUEST}, {"name": "s", "firstAvailable": ALTERNATIVES}]
    spec = {"devices": {"requests": requests, "constraints": [{"matchAttribute": "d/a"}]}}
    old = msgspec.json.encode({"metadata": {"name": "c"}, "spec": spec, "status": STATUS})
    new = msgspec.json.encode(
        {
            "metadata": {"name": "c"},
            "spec": {
                "devices": {
                    "requests": [{"name": "r", "exactly": REQUEST}, {"name": "s", "firstAvailable": ALTERNATIVES}],
                    "constraints": [{"matchAttribute": "d/a"}],
                }
            },
            "status": STATUS,
        }
    )
    assert kind_at(CLAIM, "v1beta1").decode(old) == CLAIM.decode(new) == kind_at(CLAIM, "v1beta2").decode(new)


def test_templates_of_v1beta1_have_such_claims() -> None:
    spec = {"spec": {"devices": {"requests": [{"name": "r", **REQUEST}]}}}
    found = kind_at(TEMPLATE, "v1beta1").decode(msgspec.json.encode({"metadata": {"name": "t"}, "spec": spec}))
    assert isinstance(found, api.ResourceClaimTemplate)
    (request,) = found.spec.spec.devices.requests
    assert request.exactly is not None
    assert (request.exactly.device_class_name, request.exactly.count) == ("gpu", 2)


def test_devices_of_v1beta1_have_their_fields_in_basic() -> None:
    basic = {"attributes": {"model": {"string": "a"}}, "capacity": {"memory": {"value": "8Gi"}}}
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    fields = {"driver": "d", "nodeName": "n", "pool": pool}
    old = {"metadata": {"name": "s"}, "spec": {**fields, "devices": [{"name": "x", "basic": basic}, {"name": "y"}]}}
    new = {"metadata": {"name": "s"}, "spec": {**fields, "devices": [{"name": "x", **basic}, {"name": "y"}]}}
    assert kind_at(SLICE, "v1beta1").decode(msgspec.json.encode(old)) == SLICE.decode(msgspec.json.encode(new))


@pytest.mark.parametrize("data", [b'{"spec": 1}', b"[]", b'{"spec": {"devices": {"requests": [7]}}}'])
def test_malformed_objects(data: bytes) -> None:
    with pytest.raises(DecodeError):
        kind_at(CLAIM, "v1beta1").decode(data)
