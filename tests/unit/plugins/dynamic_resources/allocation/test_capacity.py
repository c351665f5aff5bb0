import pytest
from tests.unit.plugins.dynamic_resources.allocation.supply import Json, Supply, claim, device, exactly, slice_

from stowplan.plugins.dynamic_resources.allocation import AllocationFailure

STEPS = {"default": "10Gi", "validRange": {"min": "5Gi", "max": "20Gi", "step": "5Gi"}}
VALUES = {"default": "8Gi", "validValues": ["8Gi", "16Gi"]}
FROM = {"default": "1Gi", "validRange": {"min": "1Gi"}}


def shared(value: str = "40Gi", policy: Json | None = None) -> Supply:
    memory = {"value": value, **({"requestPolicy": policy} if policy else {})}
    return Supply(slice_("s", device("a", {"memory": memory}, **{"allowMultipleAllocations": None}) | _MULTIPLE))


_MULTIPLE = {"allowMultipleAllocations": True}


def wanting(*amounts: str | None) -> Json:
    return claim(*(exactly(capacity={"requests": {"memory": a}}) if a else exactly() for a in amounts))


def taken(supply: Supply, *amounts: str | None) -> list[object] | None:
    found = supply.allocate(wanting(*amounts))
    assert not isinstance(found, AllocationFailure)
    return None if found is None else [item.consumed_capacity["memory"] for item in found[0].devices.results]


@pytest.mark.parametrize(
    ("policy", "asked", "found"),
    [
        (None, ["10Gi", "30Gi"], ["10Gi", "30Gi"]),
        (None, ["10Gi", "31Gi"], None),
        (None, [None], ["40Gi"]),
        (STEPS, [None, "1Gi", "11Gi"], ["10Gi", "5Gi", "15Gi"]),
        (STEPS, ["5Gi"], ["5Gi"]),
        (STEPS, ["21Gi"], None),
        (VALUES, ["9Gi", None], ["16Gi", "8Gi"]),
        (VALUES, ["17Gi"], None),
        (FROM, ["500Mi", "1500Mi"], ["1Gi", "1500Mi"]),
    ],
)
def test_what_a_share_takes(policy: Json | None, asked: list[str | None], found: list[str] | None) -> None:
    assert taken(shared(policy=policy), *asked) == found


def test_shares_of_others_count() -> None:
    supply = shared()
    supply.hold("a", shareID="1", consumedCapacity={"memory": "35Gi"})
    assert taken(supply, "6Gi") is None
    assert taken(supply, "5Gi") == ["5Gi"]


def test_each_share_has_an_id_of_its_own() -> None:
    found = shared().allocate(wanting("1Gi", "1Gi"))
    assert isinstance(found, tuple)
    first, second = found[0].devices.results
    assert first.share_id
    assert second.share_id
    assert first.share_id != second.share_id


@pytest.mark.parametrize(("asked", "found"), [("40Gi", ["r0:a"]), ("41Gi", None)])
def test_devices_that_are_not_shared_must_be_large_enough(asked: str, found: list[str] | None) -> None:
    assert Supply(slice_("s", device("a", {"memory": "40Gi"}))).devices(wanting(asked)) == found


def test_capacity_that_the_device_does_not_have() -> None:
    ask = claim(exactly(capacity={"requests": {"lanes": "1"}}))
    assert Supply(slice_("s", device("a", {"memory": "1"}), device("b", {"lanes": "2"}))).devices(ask) == ["r0:b"]
