import pytest

from stowplan import api
from stowplan.cel.device import DeviceValue
from stowplan.cel.values import Quantity, Semver


def test_names_without_a_domain_are_in_that_of_the_driver() -> None:
    device = api.Device(
        attributes={"a": api.DeviceAttribute(int_value=1), "other/a": api.DeviceAttribute(version_value="2.0.0")},
        capacity={"a": api.DeviceCapacity(value="2"), "other/b": api.DeviceCapacity(value=3)},
    )
    seen = DeviceValue("own", device).variables["device"]
    assert seen["attributes"] == {"own": {"a": 1}, "other": {"a": Semver((2, 0, 0))}}
    assert seen["capacity"] == {"own": {"a": Quantity(2 * 10**9)}, "other": {"b": Quantity(3 * 10**9)}}


@pytest.mark.parametrize(
    ("attribute", "error"),
    [
        (api.DeviceAttribute(), "attribute a: unsupported attribute value"),
        (
            api.DeviceAttribute(version_value="1"),
            "attribute a: parse semantic version: No Major.Minor.Patch elements found",
        ),
        (api.DeviceAttribute(int_value=0), None),
        (api.DeviceAttribute(bool_value=False), None),
        (api.DeviceAttribute(string_value=""), None),
    ],
)
def test_attributes_that_cannot_be_read(attribute: api.DeviceAttribute, error: str | None) -> None:
    assert DeviceValue("own", api.Device(attributes={"a": attribute})).error == error
