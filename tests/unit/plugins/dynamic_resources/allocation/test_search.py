from functools import partial
from itertools import count

import pytest
from tests.unit.plugins.dynamic_resources.allocation.supply import Json, Supply, claim, device, exactly, slice_

from stowplan.plugins.dynamic_resources.allocation import AllocationFailure

FOUR = slice_("s", *(device(name, size=size) for name, size in zip("abcd", (1, 2, 1, 2), strict=True)))
SMALL, LARGE = 'device.attributes["d"].size == 1', 'device.attributes["d"].size == 2'
EIGHT = 'device.attributes["d"].size == 8'


@pytest.mark.parametrize(
    ("claims", "found"),
    [
        ([claim(exactly())], ["r0:a"]),
        ([claim(exactly(1, LARGE))], ["r0:b"]),
        ([claim(exactly(2, LARGE), exactly(2))], ["r0:b", "r0:d", "r1:a", "r1:c"]),
        # The first choice is given up where the rest would not work out.
        ([claim(exactly(), exactly(2, SMALL))], ["r0:b", "r1:a", "r1:c"]),
        ([claim(exactly(), name="x"), claim(exactly(2, SMALL), name="y")], ["r0:b", "r0:a", "r0:c"]),
        ([claim(exactly(5))], None),
        ([claim(exactly(0))], []),
        ([claim(exactly("All", SMALL))], ["r0:a", "r0:c"]),
        ([claim(exactly("All", EIGHT))], None),
        ([claim(exactly(1, SMALL), exactly("All", SMALL))], None),
        ([claim([exactly(3, LARGE), exactly(2, LARGE), exactly()])], ["r0/a1:b", "r0/a1:d"]),
        ([claim([exactly(3, SMALL), exactly(1, SMALL)], exactly(2, LARGE))], ["r0/a1:a", "r1:b", "r1:d"]),
        ([claim([exactly(5), exactly(6)])], None),
        ([claim([exactly(40), exactly(1)])], ["r0/a1:a"]),
        ([claim([exactly(30), exactly(2)], exactly(3))], None),
    ],
)
def test_what_is_found(claims: list[Json], found: list[str] | None) -> None:
    assert Supply(FOUR).devices(*claims) == found


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (exactly(33), "claim ns/c: number of requested devices 33 exceeds the claim limit of 32"),
        (exactly(1_000_000), "claim ns/c: number of requested devices 1000000 exceeds the claim limit of 32"),
        (
            exactly(of="nobody"),
            "claim ns/c, request r0: could not retrieve device class nobody: "
            'deviceclass.resource.k8s.io "nobody" not found',
        ),
        (exactly(of=""), "claim ns/c, request r0: missing device class name (unsupported request type?)"),
        (exactly(allocationMode="Some"), "claim ns/c, request r0: unsupported count mode Some"),
        (
            exactly(selectors=[{}]),
            "claim ns/c, request r0, selector #0: CEL expression empty (unsupported selector type?)",
        ),
        (
            exactly(1, "true", "device.attributes['d'].nothing == 1"),
            "claim ns/c: selector #1: CEL runtime error: no such key: nothing",
        ),
        (
            exactly(1, "1"),
            "claim ns/c: selector #0: CEL compile error: must evaluate to bool or the unknown type, not int",
        ),
        (exactly(of="bad"), "class bad: selector #0: CEL runtime error: no such key: nothing"),
    ],
)
def test_claims_that_are_in_error(asked: Json, text: str) -> None:
    bad = {"selectors": [{"cel": {"expression": "device.attributes['d'].nothing == 1"}}]}
    assert Supply(FOUR, bad=bad).allocate(claim(asked)) == AllocationFailure(text)


def test_an_error_is_told_only_if_the_search_comes_to_it() -> None:
    odd = slice_("s", device("a", size=1), device("b"))
    told = "claim ns/c: selector #0: CEL runtime error: no such key: size"
    assert Supply(odd).devices(claim(exactly(1, SMALL))) == ["r0:a"]
    assert Supply(odd).devices(claim(exactly(2, SMALL))) == told


def test_devices_that_are_taken_are_left_out() -> None:
    supply = Supply(FOUR)
    supply.hold("a")
    assert supply.devices(claim(exactly(1, SMALL))) == ["r0:c"]
    assert supply.devices(claim(exactly("All", SMALL))) is None
    assert supply.devices(claim(exactly(1, SMALL, adminAccess=True))) == ["r0:a"]
    assert supply.devices(claim(exactly(adminAccess=True), exactly(adminAccess=True))) == ["r0:a", "r1:b"]


def test_taints_keep_devices_for_those_who_tolerate_them() -> None:
    def tainted(name: str, effect: str) -> Json:
        return device(name, taints=[{"key": "k", "value": "v", "effect": effect}])

    supply = Supply(slice_("s", tainted("a", "NoExecute"), tainted("b", "NoSchedule"), tainted("c", "None")))
    assert supply.devices(claim(exactly())) == ["r0:c"]
    for toleration, found in (
        ({"operator": "Exists"}, "a"),
        ({"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}, "b"),
        ({"key": "k", "value": "w"}, "c"),
        ({"key": "other", "operator": "Exists"}, "c"),
        ({"key": "k", "operator": "Like"}, "c"),
    ):
        assert supply.devices(claim(exactly(tolerations=[toleration]))) == [f"r0:{found}"]


def test_a_search_that_takes_too_long_is_broken_off() -> None:
    clock = partial(next, count())
    answer = Supply(FOUR, clock=clock).allocate(claim(exactly(4), exactly(1)))
    assert answer is None or isinstance(answer, AllocationFailure)
    many = slice_("s", *(device(f"d{i}", size=i % 3) for i in range(20)))
    hard = claim(*(exactly(3) for _ in range(6)), exactly(4, "device.attributes['d'].size == 0"), name="x")
    assert Supply(many, clock=clock).allocate(hard) == AllocationFailure(
        "node n: timed out trying to allocate devices", timed_out=True
    )


def test_many_claims_do_not_exhaust_the_stack() -> None:
    supply = Supply(slice_("s", *(device(f"d{i}") for i in range(640))))
    claims = [claim(exactly(32), name=f"c{i}") for i in range(20)]
    found = supply.devices(*claims)
    assert isinstance(found, list)
    assert len(found) == 640


def test_selectors_that_take_their_time_are_broken_off_as_well() -> None:
    clock = partial(next, count())
    many = slice_("s", *(device(f"d{i}", size=2) for i in range(20)))
    timed_out = AllocationFailure("node n: timed out trying to allocate devices", timed_out=True)
    assert Supply(many, clock=clock).allocate(claim(exactly(1, SMALL))) == timed_out
    assert Supply(many, clock=clock).allocate(claim(exactly("All", SMALL))) == timed_out


def test_time_is_checked_between_the_selectors_of_one_device() -> None:
    clock = partial(next, count())
    one = slice_("s", device("d0", size=2))
    timed_out = AllocationFailure("node n: timed out trying to allocate devices", timed_out=True)
    selectors = [f"device.attributes['d'].size > -{number}" for number in range(1, 20)]
    assert Supply(one, clock=clock).allocate(claim(exactly(1, *selectors))) == timed_out
