from tests.unit.plugins.dynamic_resources.allocation.supply import Json, Supply, claim, device, exactly, slice_


def part(name: str, slots: int) -> Json:
    return device(name, consumesCounters=[{"counterSet": "set", "counters": {"slots": {"value": str(slots)}}}])


def partitions(*parts: Json) -> Supply:
    counters = [{"name": "set", "counters": {"slots": {"value": "4"}}}]
    return Supply(slice_("c", count=2, nodeName="n", sharedCounters=counters), slice_("s", *parts, count=2))


def test_devices_draw_on_common_counters() -> None:
    supply = partitions(part("whole", 4), part("left", 2), part("right", 2))
    assert supply.devices(claim(exactly())) == ["r0:whole"]
    assert supply.devices(claim(exactly(2))) == ["r0:left", "r0:right"]
    assert supply.devices(claim(exactly(3))) is None
    supply.hold("left")
    assert supply.devices(claim(exactly())) == ["r0:right"]
    supply.hold("whole")
    assert supply.devices(claim(exactly())) is None


def test_counters_that_nobody_has_make_a_pool_invalid() -> None:
    wrong = device("x", consumesCounters=[{"counterSet": "other", "counters": {"slots": {"value": "1"}}}])
    assert partitions(part("left", 2), wrong).devices(claim(exactly())) == "invalid resource pools were encountered"


def test_counters_are_drawn_on_once_for_a_device_that_is_shared() -> None:
    shared = part("a", 4) | {"allowMultipleAllocations": True, "capacity": {"memory": {"value": "4"}}}
    ask = claim(*(exactly(capacity={"requests": {"memory": "1"}}) for _ in range(3)))
    assert partitions(shared).devices(ask) == ["r0:a", "r1:a", "r2:a"]


def test_what_was_tried_is_given_back() -> None:
    supply = partitions(part("a", 3), part("b", 2), part("c", 2))
    assert supply.devices(claim(exactly(), exactly())) == ["r0:b", "r1:c"]
