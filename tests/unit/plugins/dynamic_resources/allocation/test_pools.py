import pytest
from tests.unit.plugins.dynamic_resources.allocation.supply import (
    Json,
    Supply,
    claim,
    device,
    exactly,
    node_info,
    slice_,
)

ONE = claim(exactly())
A, B = device("a"), device("b")
ZONAL = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z"]}]}]}


@pytest.mark.parametrize(
    ("slices", "found"),
    [
        ([], None),
        ([slice_("s", A)], ["r0:a"]),
        ([slice_("s", A, nodeName="other")], None),
        ([slice_("s", A, allNodes=True)], ["r0:a"]),
        ([slice_("s", A, nodeSelector=ZONAL)], ["r0:a"]),
        ([slice_("s", {**A, "nodeName": "other"}, {**B, "nodeName": "n"}, perDeviceNodeSelection=True)], ["r0:b"]),
        # By driver and name of pool, then by name of slice, then as published.
        ([slice_("s", A, pool="q"), slice_("t", B, pool="p")], ["r0:b"]),
        ([slice_("t", A, count=2), slice_("s", B, count=2)], ["r0:b"]),
        ([slice_("s", B, A)], ["r0:b"]),
        # What needs time to get ready comes last.
        ([slice_("s", {**A, "bindingConditions": ["ready"]}, pool="p"), slice_("t", B, pool="q")], ["r0:b"]),
        # Only the newest generation, and only if it is whole.
        ([slice_("s", A), slice_("t", B, generation=2)], ["r0:b"]),
        ([slice_("s", A, count=2)], None),
        ([slice_("s", A, count=2), slice_("t", B, count=2, nodeName="other")], ["r0:a"]),
        ([slice_("s", A, count=2), slice_("t", B, count=2, generation=2, nodeName="other")], None),
        ([slice_("s", A, A)], "invalid resource pools were encountered"),
        ([slice_("s", A, count=2), slice_("t", A, count=2)], "invalid resource pools were encountered"),
        ([slice_("s", A, A), slice_("t", B, pool="q")], ["r0:b"]),
    ],
)
def test_which_device_comes_first(slices: list[Json], found: list[str] | str | None) -> None:
    assert Supply(*slices).devices(ONE, on=node_info(zone="z")) == found


@pytest.mark.parametrize(
    ("slices", "error"),
    [
        ([slice_("s", A, count=2)], "asks for all devices, but resource pool d/p is currently being updated"),
        ([slice_("s", A, A)], "asks for all devices, but resource pool d/p is currently invalid"),
    ],
)
def test_all_devices_of_a_pool_that_is_not_whole(slices: list[Json], error: str) -> None:
    assert Supply(*slices).devices(claim(exactly("All"))) == f"claim ns/c, request r0: {error}"


def test_a_selector_that_cannot_be_understood() -> None:
    wrong = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Near", "values": []}]}]}
    answer = Supply(slice_("s", A, nodeSelector=wrong)).devices(ONE)
    assert isinstance(answer, str)
    assert answer.startswith("gather pool information: failed to perform node selection for slice s: ")
