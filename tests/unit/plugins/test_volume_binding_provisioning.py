from typing import Any

import pytest
from tests.unit.plugins.volume_fakes import claim, storage_class

from stowplan import api
from stowplan.api import codec
from stowplan.plugins.volume_binding.provisioning import Provisioning, size_limit

HERE = {"zone": "x", "disk": "ssd"}
COUNTING = api.CSIDriver(metadata=api.ObjectMeta(name="d"), spec=api.CSIDriverSpec(storage_capacity=True))
ANYWHERE: dict[str, Any] = {}


def capacity(size: str | None = "1Gi", topology: Any = ANYWHERE, largest: str | None = None, of: str = "wait") -> Any:
    raw = {"nodeTopology": topology, "storageClassName": of, "capacity": size, "maximumVolumeSize": largest}
    return codec.convert(api.CSIStorageCapacity, raw)


def term(**values: list[str]) -> dict[str, Any]:
    return {"matchLabelExpressions": [{"key": key, "values": listed} for key, listed in values.items()]}


@pytest.mark.parametrize(
    ("fields", "allowed"),
    [
        ({}, True),
        ({"provisioner": ""}, False),
        ({"provisioner": "kubernetes.io/no-provisioner"}, False),
        ({"allowedTopologies": []}, True),
        ({"allowedTopologies": [term(zone=["x"])]}, True),
        ({"allowedTopologies": [term(zone=["y"])]}, False),
        ({"allowedTopologies": [term(zone=["y"]), term(disk=["ssd"])]}, True),
        ({"allowedTopologies": [term(zone=["x"], disk=["hdd"])]}, False),
        ({"allowedTopologies": [term(absent=["x"])]}, False),
        ({"allowedTopologies": [term()]}, False),
        ({"allowedTopologies": [term(zone=[])]}, False),
    ],
)
def test_what_the_class_allows(fields: dict[str, Any], allowed: bool) -> None:
    assert Provisioning(claim("c"), storage_class(**fields), None, ()).allowed(HERE) is allowed


@pytest.mark.parametrize(
    ("capacities", "room"),
    [
        ([], False),
        ([capacity()], True),
        ([capacity("1023Mi")], False),
        ([capacity(None)], False),
        ([capacity("1Ki", largest="1Gi")], True),
        ([capacity("9Gi", largest="1Ki")], False),
        ([capacity(topology=None)], False),
        ([capacity(topology={"matchLabels": {"zone": "x"}})], True),
        ([capacity(topology={"matchLabels": {"zone": "y"}})], False),
        ([capacity(topology={"matchExpressions": [{"key": "zone", "operator": "In"}]})], False),
        ([capacity(of="other")], False),
        ([capacity("1Ki"), capacity("5Gi")], True),
    ],
)
def test_where_there_is_room(capacities: list[api.CSIStorageCapacity], room: bool) -> None:
    assert Provisioning(claim("c"), storage_class(), COUNTING, capacities).has_room(HERE) is room


def test_nobody_keeps_count() -> None:
    silent = api.CSIDriver(metadata=api.ObjectMeta(name="d"))
    sizeless = claim("c", spec={"resources": {}})
    for wanted, driver in ((claim("c"), None), (claim("c"), silent), (sizeless, COUNTING)):
        assert Provisioning(wanted, storage_class(), driver, ()).has_room(HERE)


def test_keys_are_the_labels_that_decide() -> None:
    topologies = [term(zone=["x"], disk=["ssd"])]
    segments = [capacity(topology={"matchLabels": {"rack": "r"}}), capacity("1Ki", {"matchLabels": {"no room": "n"}})]
    provisioning = Provisioning(claim("c"), storage_class(allowedTopologies=topologies), COUNTING, segments)
    assert provisioning.keys == {"zone", "disk", "rack"}


def test_size_limits() -> None:
    assert size_limit(capacity("2Ki")) == 2048
    assert size_limit(capacity("2Ki", largest="1Ki")) == 1024
    assert size_limit(capacity(None)) is None
