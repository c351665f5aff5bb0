import pytest
from tests.unit.plugins.dynamic_resources.allocation.supply import Json, Supply, claim, device, exactly, slice_

MIXED = slice_(
    "s",
    device("a", numa=0, model="x"),
    device("b", numa=1, model="x"),
    device("c", numa=1, model="y"),
    device("d", model="y"),
    device("e", numa=0, model="y"),
)
MATCH, DISTINCT = {"matchAttribute": "d/numa"}, {"distinctAttribute": "d/model"}


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (claim(exactly(2), constraints=[MATCH]), ["r0:a", "r0:e"]),
        (claim(exactly(3), constraints=[MATCH]), None),
        (claim(exactly(), exactly(), constraints=[MATCH]), ["r0:a", "r1:e"]),
        (claim(exactly(), exactly(), constraints=[{**MATCH, "requests": ["r1"]}]), ["r0:a", "r1:b"]),
        (claim(exactly(), exactly(), constraints=[DISTINCT]), ["r0:a", "r1:c"]),
        (claim(exactly(), exactly(), exactly(), constraints=[DISTINCT]), None),
        (claim(exactly(2), constraints=[MATCH, DISTINCT]), ["r0:a", "r0:e"]),
        (claim(exactly(), constraints=[{"matchAttribute": "d/nothing"}]), None),
        (claim(exactly(), constraints=[{"matchAttribute": "other/numa"}]), None),
        (claim([exactly(3), exactly(2)], constraints=[{**MATCH, "requests": ["r0/a0"]}]), ["r0/a1:a", "r0/a1:b"]),
    ],
)
def test_constraints(asked: Json, found: list[str] | None) -> None:
    assert Supply(MIXED).devices(asked) == found


def test_within_one_request_only_neighbours_are_compared() -> None:
    supply = Supply(slice_("s", device("a", model="x"), device("b", model="y"), device("c", model="x")))
    assert supply.devices(claim(exactly(3), constraints=[DISTINCT])) == ["r0:a", "r0:b", "r0:c"]


def test_all_devices_against_a_constraint_are_an_error() -> None:
    answer = Supply(MIXED).devices(claim(exactly("All"), constraints=[MATCH]))
    assert answer == "claim ns/c, request r0: cannot add device d/p/b because a claim constraint would not be satisfied"


def test_a_constraint_of_an_unknown_kind() -> None:
    answer = Supply(MIXED).devices(claim(exactly(), constraints=[MATCH, {}]))
    assert answer == "claim ns/c, constraint #1: empty constraint (unsupported constraint type?)"


def test_full_names_of_attributes() -> None:
    named = slice_("s", device("a", attributes={"d/x": {"int": 1}, "o/x": {"int": 2}, "v": {"version": "1.0.0"}}))
    for name, found in (("d/x", ["r0:a"]), ("o/x", ["r0:a"]), ("d/v", ["r0:a"]), ("x", None), ("v", ["r0:a"])):
        assert Supply(named).devices(claim(exactly(), constraints=[{"matchAttribute": name}])) == found


def test_constraints_do_not_hear_of_devices_that_lack_capacity() -> None:
    """Dropping a device again would make them forget the one before it."""
    memory = {"memory": "1"}
    devices = (
        device("a", memory, model="x"),
        device("b", model="y"),
        device("c", memory, model="x"),
        device("d", memory, model="y"),
    )
    asked = claim(exactly(2, capacity={"requests": memory}), constraints=[DISTINCT])
    assert Supply(slice_("s", *devices)).devices(asked) == ["r0:a", "r0:d"]
