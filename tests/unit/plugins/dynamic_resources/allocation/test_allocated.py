from stowplan import api
from stowplan.api.quantity import parse
from stowplan.plugins.dynamic_resources.allocation.allocated import AllocatedState


def held(*devices: str, **more: object) -> api.AllocationResult:
    results = tuple(
        api.DeviceRequestAllocationResult(driver="d", pool="p", device=name, **more)  # type: ignore[arg-type]
        for name in devices
    )
    return api.AllocationResult(devices=api.DeviceAllocationResult(results=results))


def test_devices_are_taken_while_a_claim_holds_them() -> None:
    state = AllocatedState()
    state.hold("u", held("a", "b"))
    assert state.is_taken(("d", "p", "a"))
    state.hold("u", held("b"))
    assert set(state.devices) == {("d", "p", "b")}
    state.release("u")
    state.release("u")
    assert not state.devices


def test_a_device_that_two_claims_hold_stays_taken_until_both_let_go() -> None:
    state = AllocatedState()
    state.hold("u", held("a"))
    state.hold("v", held("a"))
    state.release("u")
    assert state.is_taken(("d", "p", "a"))
    state.release("v")
    assert not state.is_taken(("d", "p", "a"))


def test_administrators_take_nothing() -> None:
    state = AllocatedState()
    state.hold("u", held("a", admin_access=True))
    assert not state.is_taken(("d", "p", "a"))


def test_shares_take_capacity() -> None:
    state = AllocatedState()
    state.hold("u", held("a", share_id="1", consumed_capacity={"memory": "1Gi"}))
    state.hold("v", held("a", share_id="2", consumed_capacity={"memory": "2Gi", "lanes": 1}))
    state.hold("w", held("a", share_id="3"))
    device = ("d", "p", "a")
    assert not state.devices
    assert state.is_taken(device)
    assert state.capacity[device] == {"memory": parse("3Gi"), "lanes": parse(1)}
    state.release("u")
    state.release("v")
    assert device not in state.capacity
    assert state.is_taken(device)


def test_changes_are_noted_by_pool() -> None:
    state = AllocatedState()
    start = state.position
    state.hold("u", held("a"))
    assert state.pools_since(start) == [("d", "p")]
    unchanged = state.position
    state.hold("u", held("a"))
    assert state.position == unchanged
    for _ in range(5000):
        state.hold("v", held("b"))
        state.release("v")
    assert state.pools_since(start) is None
    assert state.pools_since(state.position) == []
